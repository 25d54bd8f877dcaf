"""A model server that answers from a script: real agents, real tools, no provider, no cost.

It ships in the product because a trial that can be rehearsed for nothing gets debugged before it costs.
"""

from tiltyard_gateway.scripted.client import ScriptedServer
from tiltyard_gateway.scripted.loader import load_script, parse_script
from tiltyard_gateway.scripted.main import run_script
from tiltyard_gateway.scripted.script import Conversation, ErrorAnswer, Script, ToolUse, Turn, When

__all__ = [
    "Conversation",
    "ErrorAnswer",
    "Script",
    "ScriptedServer",
    "ToolUse",
    "Turn",
    "When",
    "load_script",
    "parse_script",
    "run_script",
]
