"""Which agents there are."""

from tiltyard_runner.agents.claude import ClaudeAdapter
from tiltyard_runner.agents.codex import CodexAdapter
from tiltyard_runner.agents.mini import MiniAdapter
from tiltyard_runner.agents.model import AgentAdapter
from tiltyard_runner.agents.reference import NopAdapter, OracleAdapter
from tiltyard_runner.agents.text import TextAdapter
from tiltyard_specs.errors import DataError

_ADAPTERS: dict[str, AgentAdapter] = {
    adapter.kind: adapter
    for adapter in (
        ClaudeAdapter(),
        CodexAdapter(),
        MiniAdapter(),
        TextAdapter(),
        OracleAdapter(),
        NopAdapter(),
    )
}
KINDS: tuple[str, ...] = tuple(_ADAPTERS)
"""The kinds that a spec may name."""


def adapter_for(kind: str) -> AgentAdapter:
    """The adapter of a kind."""
    try:
        return _ADAPTERS[kind]
    except KeyError:
        raise DataError(f"There is no agent kind {kind!r}; the kinds are {', '.join(KINDS)}.") from None
