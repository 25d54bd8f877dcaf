"""When a trial is unhealthy, and what is told although it is healthy."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tiltyard_cluster import PlannedRun
from tiltyard_cluster.health import alarms, unhealthy_because
from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.record import VerifyResult

Runs = Callable[..., list[RunRecord]]


@pytest.fixture
def runs(planned: PlannedRun, record: Callable[..., RunRecord]) -> Runs:
    """Some records alike."""

    def _runs(
        count: int, outcome: Outcome = Outcome.PASSED, agent: str = "g", **facts: Any
    ) -> list[RunRecord]:
        made = record(replace(planned, agent=agent), outcome=outcome)
        return [made.model_copy(update={"rep": rep, **facts}) for rep in range(1, count + 1)]

    return _runs


@pytest.mark.parametrize("outcome", [Outcome.INFRA, Outcome.UNMETERED])
@pytest.mark.parametrize(("good", "lost", "unhealthy"), [(19, 1, False), (18, 1, True), (0, 2, True)])
def test_too_many_lost_runs(runs: Runs, outcome: Outcome, *, good: int, lost: int, unhealthy: bool) -> None:
    """Up to 5% is the weather; beyond it nothing is known."""
    assert bool(unhealthy_because(runs(good) + runs(lost, outcome))) is unhealthy


def test_lost_runs_are_told_with_their_reason(runs: Runs) -> None:
    """The most frequent one, and what to do."""
    lost = runs(2, Outcome.INFRA, reason="the provider\nanswered 529") + runs(
        1, Outcome.INFRA, reason="other"
    )

    (told,) = unhealthy_because([*runs(1), *lost, *runs(1, Outcome.UNMETERED)])

    assert told == (
        "4 of 5 runs lost (3 infra, 1 unmetered), most often because: the provider answered 529; "
        "do them again with --retry-failed"
    )


@pytest.mark.parametrize("outcome", [o for o in Outcome if o.counted])
def test_what_counts_is_healthy(runs: Runs, outcome: Outcome) -> None:
    """A trial in which every run failed is a result."""
    assert unhealthy_because(runs(3, outcome)) == ()


def test_no_runs_are_not_unhealthy() -> None:
    assert (unhealthy_because([]), alarms([])) == ((), ())


def test_a_broken_treatment_is_told_once_for_each_reason(runs: Runs) -> None:
    path = "/var/cache/" + "x" * 150 + "/arm.log"
    records = runs(19) + runs(2, Outcome.SETUP_FAILED, reason=f"it failed. Its log is {path}")
    records += [r for n in range(4) for r in runs(1, Outcome.UNDELIVERED, reason=f"server {n}")]
    told = unhealthy_because(records)

    assert told[0] == f"2 runs of arm a setup_failed: it failed. Its log is {path}"
    assert told[1] == "1 run of arm a undelivered: server 0"
    assert told[3:] == ("and for 2 further reasons, which the records name",)


def test_an_agent_that_never_answers(runs: Runs) -> None:
    """Healthy by its outcomes; most likely its command is broken. The agent nop never answers by design."""
    silent = runs(2, Outcome.NO_ANSWER, agent="mute", reason="exit code 127", kind="text")
    others = runs(2, agent="good") + runs(1, Outcome.NO_ANSWER, agent="good")
    records = silent + others + runs(2, Outcome.NO_ANSWER, agent="nop", kind="nop")

    (told,) = alarms(records + runs(1, Outcome.INFRA, agent="mute"))

    assert told == (
        "every run of agent mute ended as no_answer (2 runs, most often: exit code 127); "
        "its command is likely broken: see raw.err of a run"
    )


@pytest.mark.parametrize(
    ("codes", "alarmed"), [((127, 127), True), ((126, 127), True), ((127, 1), False), ((0,), False)]
)
def test_a_verify_command_that_cannot_run(runs: Runs, codes: tuple[int, ...], *, alarmed: bool) -> None:
    records = [
        run
        for code in codes
        for run in runs(
            1,
            Outcome.FAILED,
            verify=VerifyResult(command="make test", exit_code=code, passed=code == 0, seconds=1.0),
        )
    ]
    told = alarms(records)

    assert len(told) == alarmed
    if alarmed:
        assert told[0].startswith("verify of question q exited with 12")
        assert told[0].endswith(
            "in every run (2 runs); its command is likely broken: see verify.log of a run"
        )
