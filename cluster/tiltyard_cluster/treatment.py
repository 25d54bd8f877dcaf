"""What an arm gives to the agent itself, in the words of an agent task."""

from dataclasses import replace

from tiltyard_runner.agents import AgentTask, Skill
from tiltyard_specs import Arm


def with_treatment(task: AgentTask, arm: Arm) -> AgentTask:
    """The task with the arm's MCP servers, skills and instructions."""
    return replace(
        task,
        mcp_servers={name: server.model_dump() for name, server in arm.mcp_servers.items()},
        skills=tuple(Skill(skill.name, skill.description, skill.content) for skill in arm.skills),
        instructions=arm.instructions,
    )
