"""The kinds of agents: how their output is read, which of them run today, which provider each calls."""

from typing import Annotated

from pydantic import AfterValidator, Field

from tiltyard_specs.nearest import did_you_mean
from tiltyard_specs.scalars import wrong
from tiltyard_specs.spec_base import Provider

RUNNABLE_KINDS = ("claude", "codex", "mini", "text", "oracle", "nop")
KNOWN_KINDS = (*RUNNABLE_KINDS, "copilot", "gemini", "cursor", "opencode")
UNMETERED_KINDS = frozenset({"text", "oracle", "nop"})
"""Kinds that need no budget, no price and no key."""
CLAUDE_EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""What the CLI takes; codex passes any word on to the provider."""
PROVIDER_OF_KIND: dict[str, Provider] = {
    "claude": "anthropic",
    "codex": "openai",
    "mini": "openai",
}


def kind_problem(value: str) -> tuple[str, str] | None:
    """Why this kind cannot be run, and a hint; None when it can."""
    if value not in KNOWN_KINDS:
        return f'unknown kind "{value}"', did_you_mean(value, RUNNABLE_KINDS, "Kinds that run today")
    if value not in RUNNABLE_KINDS:
        return f'kind "{value}" does not run yet', f"kinds that run today: {', '.join(RUNNABLE_KINDS)}"
    return None


def _check_kind(value: str) -> str:
    if (problem := kind_problem(value)) is not None:
        raise wrong(*problem)
    return value


Kind = Annotated[str, AfterValidator(_check_kind), Field(json_schema_extra={"enum": list(RUNNABLE_KINDS)})]
