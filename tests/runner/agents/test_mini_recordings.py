"""Each recording of the real mini-swe-agent, read and compared with what was worked out from it by hand.

The scripted API behind them answered with 1000 in (400 of them cached), 50 out (10 of them reasoning) for the
first call and 1100 (900), 30 (5) for the second; `limit` got the first answer twice.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentOutput, AgentResult, adapter_for
from tiltyard_specs.usage import Usage

SAMPLES = Path(__file__).parents[1] / "samples" / "mini"
ONE_CALL = Usage(input=600, cache_read=400, output=50, reasoning=10)
TWO_CALLS = Usage(input=800, cache_read=1300, output=80, reasoning=15)


@dataclass(frozen=True)
class Expected:
    answer: str | None = None
    turns: int | None = None
    commands: tuple[str, ...] = ()
    usage: Usage | None = None
    model: str | None = "fake-model"
    error: tuple[str, int | None] | None = None
    complete: bool = True


ONE_STEP: dict[str, Any] = {
    "turns": 1,
    "commands": ("echo 1",),
    "usage": ONE_CALL.model_copy(update={"cache_write": 0}),
}
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
EXPECTED = {
    "tool": Expected(
        answer="FINAL-ANSWER: 42",
        turns=2,
        commands=("echo spike-tool-ok > made-by-agent.txt; ls", f"{SUBMIT} && echo 'FINAL-ANSWER: 42'"),
        usage=TWO_CALLS,
    ),
    # Handed in bare, as mini's own instructions say: the reply's text is the answer.
    "bare-submission": Expected(
        answer="The answer is 42.",
        turns=2,
        commands=("ls", SUBMIT),
        usage=TWO_CALLS.model_copy(update={"cache_write": 0}),
        model="gpt-5.1",
    ),
    # Exit code 0 all the same; three replies that called no tool were paid for.
    "empty": Expected(turns=3, usage=ONE_CALL + ONE_CALL + ONE_CALL, error=("no_answer", None)),
    "limit": Expected(
        turns=2,
        commands=("echo 1", "echo 2"),
        usage=Usage(input=1200, cache_read=800, cache_write=0, output=100, reasoning=20),
        error=("limit", None),
    ),
    "err401": Expected(turns=0, error=("api_error", 401)),
    "err403": Expected(turns=0, error=("api_error", None)),  # litellm has no name for it
    "err429": Expected(turns=0, error=("api_error", 429)),
    "err500": Expected(model=None, error=("api_error", 500), complete=False),  # killed while it was retrying
    "err500-second": Expected(**ONE_STEP, error=("api_error", 500)),
    "hang": Expected(model=None, error=("killed", None), complete=False),
    "int-first": Expected(turns=0, error=("killed", None), complete=False),
    "int-second": Expected(**ONE_STEP, error=("killed", None), complete=False),
    "kill-second": Expected(**ONE_STEP, error=("killed", None), complete=False),
}


def read(case: str, *, timed_out: bool = False) -> AgentResult:
    folder = SAMPLES / case
    meta = json.loads((folder / "meta.json").read_text())
    trajectory = folder / "traj.json"
    output = AgentOutput(
        folder / "stdout",
        folder / "stderr",
        meta["rc"],
        timed_out=timed_out,
        usage_file=trajectory if trajectory.exists() else None,
    )
    return adapter_for("mini").parse(output)


def test_every_recording_has_an_expectation() -> None:
    assert {folder.name for folder in SAMPLES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_recording_is_read_as_worked_out_by_hand(case: str) -> None:
    expected, result = EXPECTED[case], read(case)
    assert result.answer == expected.answer
    assert result.turns == expected.turns
    assert [(call.name, call.input) for call in result.tool_calls] == [
        ("bash", {"command": command}) for command in expected.commands
    ]
    assert result.usage == expected.usage
    assert result.model == expected.model
    assert (result.error and (result.error.kind, result.error.status)) == expected.error
    assert result.complete is expected.complete


def test_a_cost_is_told_only_where_litellm_has_a_price() -> None:
    """Without one mini writes 0."""
    assert read("bare-submission").cost_usd == pytest.approx(0.0019625)
    assert [read(case).cost_usd for case in ("tool", "empty", "err401", "hang")] == [None] * 4


@pytest.mark.parametrize("case", ["int-first", "int-second", "kill-second", "hang"])
def test_a_run_that_was_ended_is_a_timeout_when_its_time_was_up(case: str) -> None:
    """After SIGINT mini asks a terminal that is not there, and calls it an EOFError."""
    error = read(case, timed_out=True).error
    assert error is not None
    assert error.kind == "timeout"


def test_error_messages_name_the_cause() -> None:
    errors = {case: read(case).error for case in ("err401", "err403", "err500", "limit", "empty")}
    assert {case: error.message for case, error in errors.items() if error} == {
        "err401": "AuthenticationError: litellm.AuthenticationError: AuthenticationError: OpenAIException - "
        "spike error 401",
        "err403": "APIError: litellm.APIError: APIError: OpenAIException - the run has reached its limit",
        "err500": "Still retrying after an API error when it was ended: litellm.InternalServerError: "
        "InternalServerError: OpenAIException - spike error 500.",
        "limit": "LimitsExceeded",
        "empty": "RepeatedFormatError: the model's replies called no tool in the right form.",
    }


def test_the_version_is_told() -> None:
    assert read("tool").version == "2.4.6"
