"""Agent adapters: how each agent is started, and what its output says."""

from tiltyard_runner.agents.login import Login, find_login
from tiltyard_runner.agents.model import (
    HOME,
    SCRATCH,
    WORKSPACE,
    AgentAdapter,
    AgentError,
    AgentOutput,
    AgentResult,
    AgentTask,
    ErrorKind,
    Launch,
    LaunchFile,
    Provider,
    Skill,
    ToolCall,
)
from tiltyard_runner.agents.registry import KINDS, adapter_for
from tiltyard_runner.agents.saved import SAVED_KINDS, read_saved

__all__ = [
    "HOME",
    "KINDS",
    "SAVED_KINDS",
    "SCRATCH",
    "WORKSPACE",
    "AgentAdapter",
    "AgentError",
    "AgentOutput",
    "AgentResult",
    "AgentTask",
    "ErrorKind",
    "Launch",
    "LaunchFile",
    "Login",
    "Provider",
    "Skill",
    "ToolCall",
    "adapter_for",
    "find_login",
    "read_saved",
]
