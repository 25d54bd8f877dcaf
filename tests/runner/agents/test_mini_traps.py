"""mini's trajectory when it is cut, forged, huge or misshapen, and when it is not there."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, adapter_for, mini_trajectory

SAMPLES = Path(__file__).parents[1] / "samples" / "mini"
TOOL = (SAMPLES / "tool" / "traj.json").read_bytes()
Parse = Callable[..., AgentResult]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Parse bytes as a trajectory."""

    def read(trajectory: bytes, stdout: bytes = b"Building agent config\n", **how: Any) -> AgentResult:
        for name, content in (("out", stdout), ("err", how.pop("stderr", b"")), ("agent.json", trajectory)):
            (tmp_path / name).write_bytes(content)
        end: dict[str, Any] = {"exit_code": 0, "usage_file": tmp_path / "agent.json"} | how
        return adapter_for("mini").parse(AgentOutput(tmp_path / "out", tmp_path / "err", **end))

    return read


def test_a_trajectory_cut_at_any_byte_is_read_up_to_the_break(parse: Parse) -> None:
    """mini writes the whole file anew after each step, so a kill may meet it half written."""
    usages = set()
    for cut in [*range(0, len(TOOL.rstrip()) - 1, 211), len(TOOL.rstrip()) - 1]:
        result = parse(TOOL[:cut], exit_code=137)
        assert not result.complete or result.answer == "FINAL-ANSWER: 42"
        assert result.error is None or result.error.kind == "killed"
        usages.add(result.usage.output if result.usage else None)
    assert usages == {None, 50, 80}


@pytest.mark.slow
def test_misshapen_values_anywhere_are_read_without_an_error(parse: Parse) -> None:
    rng = random.Random(7)  # noqa: S311 - a fixed sequence for a test
    wrong: list[object] = [None, True, -1, 1e999, 10**400, "x", [], [[]], {}, {"a": None}, "\ud800"]
    whole = json.loads(TOOL)
    for _ in range(300):
        trajectory = json.loads(json.dumps(whole))
        for _ in range(3):
            _replace_somewhere(rng, trajectory, copy.deepcopy(rng.choice(wrong)))
        result = parse(json.dumps(trajectory).encode())
        json.dumps([result.answer, [call.input for call in result.tool_calls]], allow_nan=False).encode()
        assert result.usage is None or all(value is None or value >= 0 for _, value in result.usage)


def _replace_somewhere(rng: random.Random, value: Any, replacement: object) -> None:
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = rng.choice(keys)
    if isinstance(value[key], (dict, list)) and value[key] and rng.random() < 0.8:
        _replace_somewhere(rng, value[key], replacement)
    else:
        value[key] = replacement


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"{}", b"\x00\xff", b'{"messages": []}', b"[" * 9999]
)
def test_a_file_that_is_no_trajectory_is_none(content: bytes, parse: Parse) -> None:
    result = parse(content)
    assert (result.turns, result.usage, result.complete) == (None, None, False)
    assert result.error is not None
    assert result.error.kind == "format"


def test_a_huge_trajectory_is_left_alone(parse: Parse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mini_trajectory, "MAX_BYTES", len(TOOL) - 1)
    assert parse(TOOL).turns is None
    monkeypatch.setattr(mini_trajectory, "MAX_BYTES", len(TOOL))
    assert parse(TOOL).turns == 2


def test_output_without_its_trajectory_says_so(parse: Parse) -> None:
    stdout = (SAMPLES / "tool" / "stdout").read_bytes()
    error = parse(b"", stdout, usage_file=None).error
    assert error is not None
    assert (error.kind, error.message) == (
        "format",
        "mini ended, but the trajectory that holds its result is not there.",
    )


def test_an_old_retry_is_not_why_a_long_command_was_killed(parse: Parse) -> None:
    """Once the first step has begun, a call went well after the retries."""
    retry = b"Retrying <unknown> in 4 seconds as it raised RateLimitError: litellm.RateLimitError: x\n"
    during = parse(b"", stderr=retry, exit_code=137).error
    after = parse(b"", b"mini-swe-agent (step 1, $0.00):\n", stderr=retry, exit_code=137).error
    assert during is not None
    assert after is not None
    assert (during.kind, during.status, after.kind) == ("api_error", 429, "killed")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("TimeExceeded", "limit"),
        ("ContextWindowExceededError", "limit"),
        ("Timeout", "api_error"),
        ("JSONDecodeError", "crash"),
        ("UserInterruption", "killed"),
    ],
)
def test_exit_statuses_are_classed(status: str, kind: str, parse: Parse) -> None:
    error = parse(TOOL.replace(b'"Submitted"', json.dumps(status).encode())).error
    assert error is not None
    assert error.kind == kind


def test_a_reply_that_mini_could_not_write_down_counts_as_a_call(parse: Parse) -> None:
    trajectory = json.loads(TOOL)
    trajectory["messages"][2]["extra"]["response"] = "ModelResponse(...)"
    result = parse(json.dumps(trajectory).encode())
    assert result.turns == 2
    assert result.usage is not None
    assert result.usage.output == 30
