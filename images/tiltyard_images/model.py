"""The values that image building takes and gives, and the labels that mark our images."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

History = Literal["none", "full"]

LABEL_LAYER = "tiltyard.layer"
LABEL_KEY = "tiltyard.key"
LABEL_ORIGIN = "tiltyard.origin"
LABEL_VERSION = "tiltyard.version"
LABEL_PARENT = "tiltyard.parent"
LABEL_ROLE = "tiltyard.role"
LABEL_STAGE_OF = "tiltyard.stage-of"
LABEL_CREATED_BY = "tiltyard.created-by"
CREATED_BY = "tiltyard"

REPOSITORY = "tiltyard"
AGENT_UID = 1000
WORKSPACE = "/workspace"
HOME = "/home/agent"


@dataclass(frozen=True, slots=True)
class Image:
    """One layer as the engine holds it."""

    layer: str
    """`base`, `forwarder`, `agent-claude`, `workspace`, `arm` and so on."""
    tag: str
    id: str
    """The engine's image id: a fact to record, never part of a key."""
    key: str
    """SHA-256 over all that goes into the layer, its parent's key included."""
    origin: str | None
    """Where the operating system came from."""
    version: str | None
    """Version of the agent CLI, for an agent layer."""
    built: bool
    """Whether this call built it; False for a hit."""


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file that an arm puts into its image."""

    path: str
    """Absolute path in the container."""
    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class ArmContent:
    """All that makes an arm's image differ from its workspace."""

    overlay: Path | None = None
    """A directory that is copied over the clone."""
    files: tuple[TreeFile, ...] = ()
    prepare: tuple[str, ...] = ()
    """Shell commands that run before `setup`."""
    setup: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of `prepare` and `setup`; none of it stays in the image."""
    writable: bool = True
    """Whether the agent's user may change the working tree."""
    history: History = "none"
