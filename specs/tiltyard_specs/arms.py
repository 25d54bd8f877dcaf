"""What differs between the conditions of a trial."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from tiltyard_specs.kinds import Kind
from tiltyard_specs.scalars import (
    Bool,
    EnvName,
    KeyName,
    Name,
    Regex,
    Scalar,
    SpecPath,
    Text,
    Url,
    shown,
    wrong,
)
from tiltyard_specs.spec_base import Auth, Provider, SpecModel


def _plain_word(value: str) -> str:
    # The word becomes a folder (.claude/skills/NAME) and part of a tool's name (mcp__NAME__TOOL).
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", value):
        what = "a name of at most 64 letters, digits, - and _ that begins with a letter or digit"
        raise wrong(f"expected {what}, got {shown(value)}")
    return value


Word = Annotated[str, AfterValidator(_plain_word)]


class McpServer(SpecModel):
    """An MCP server that is started in the agent's container and spoken to over its standard streams."""

    command: Text
    """The program; it must be in the image, for instance through `setup`."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[EnvName, str] = Field(default_factory=dict)
    """Environment of the server."""
    tools: tuple[Text, ...] = Field(default=("*",), min_length=1)
    """Names of the tools that the agent may call; "*" for all."""


class Skill(SpecModel):
    """An agent skill: a SKILL.md that the agent CLI loads when its description fits."""

    name: Word
    """Name of the skill's folder."""
    description: Text
    """What the skill is for: the agent decides by this line whether to read it."""
    content: Text
    """The body of SKILL.md."""


class Arm(SpecModel):
    """One condition. An arm with nothing but a name adds nothing: the control."""

    name: Name
    """Unique name of the arm."""
    overlay: SpecPath | None = None
    """Folder, relative to the spec, that is copied over the workspace."""
    setup: tuple[Text, ...] = ()
    """Shell commands, in order, run in the workspace before the agent."""
    prepare: tuple[Text, ...] = ()
    """Shell commands that run once, in a build container, before any run."""
    parallel_setup: Bool = False
    """Whether `setup` of several runs may go on at the same time."""
    uses: Regex | None = None
    """A run "used it" when one of its tool calls matches this regular expression."""
    mcp_servers: dict[Word, McpServer] = Field(default_factory=dict)
    """MCP servers that the agent gets, by name."""
    skills: tuple[Skill, ...] = ()
    """Skills that the agent gets."""
    repos: dict[Name, Name] = Field(default_factory=dict)
    """Repos to swap in this arm: the question's repo, then the one that takes its place."""
    prompt_prefix: str = ""
    """Text before the question's prompt."""
    prompt_suffix: str = ""
    """Text after the question's prompt."""
    env: dict[EnvName, str] = Field(default_factory=dict)
    """Environment of setup, agent and verify."""
    instructions: Text | None = None
    """Text for the file that the agent CLI reads by itself: AGENTS.md or CLAUDE.md."""
    factors: dict[Name, Scalar] = Field(default_factory=dict)
    """Levels of this arm, for reports by factor: model, prompt, retrieval, memory, ..."""
    command: Text | None = None
    """Overrides the agent's command; `{prompt}` is replaced by the quoted prompt."""
    kind: Kind | None = None
    """Overrides how the agent's output is read."""
    model: Name | None = None
    """Overrides the agent's model."""
    args: tuple[str, ...] | None = None
    """Overrides the agent's extra arguments."""
    auth: Auth | None = None
    """Overrides how the agent logs in."""
    rewrite: dict[Name, Name] | None = None
    """Overrides the agent's model rewriting."""
    upstreams: dict[Provider, Url] | None = None
    """Overrides the agent's upstreams."""
    keys_from: dict[Provider, KeyName] | None = None
    """Overrides which environment variables hold the keys."""
