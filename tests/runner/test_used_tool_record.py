"""What a record says of an arm's `uses`."""

from types import SimpleNamespace
from typing import Any

import pytest

from tiltyard_runner.agents import AgentResult, ToolCall
from tiltyard_runner.recording import _used
from tiltyard_specs import answer_key


def _job(uses: str | None) -> Any:
    return SimpleNamespace(uses=uses)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uses", "expected"), [(None, None), (r"bin/kg", True), (r"^nothing$", False), (r"(a+)+$", None)]
)
def test_a_pattern_that_takes_too_long_leaves_it_unknown(
    uses: str | None, expected: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_key, "SEARCH_SECONDS", 0.5)
    result = AgentResult(tool_calls=(ToolCall("Bash", {"command": "bin/kg " + "a" * 60 + "!"}),))

    assert _used(_job(uses), result) is expected
