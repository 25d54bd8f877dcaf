"""Each verdict under the three ways in which crashed runs are treated, and whether it flips.

Exclude: they do not count, which is the report's own. Failures: each is a failed run, its spend counted.
Worst case: against each arm in turn, its crashed runs fail and those of the other side pass; on tokens they
take the dearest of the arm's runs on the question, those of the other side the cheapest.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tiltyard_report._measures import tokens
from tiltyard_report._run import Run
from tiltyard_report._sample import Extended, Sample
from tiltyard_specs.outcomes import Outcome

CRASHED = frozenset({Outcome.INFRA, Outcome.UNMETERED, Outcome.SETUP_FAILED, Outcome.UNDELIVERED})
"""What is a crash; a run that somebody stopped is none."""


def crashes(runs: Sequence[Run]) -> bool:
    """Whether a run crashed."""
    return any(run.outcome in CRASHED for run in runs)


def failed(runs: Sample) -> Sample:
    """A crash is a failed run."""
    return Extended(runs, _as(runs, Outcome.FAILED))


def worst(runs: Sample) -> Sample:
    """Its crashes went against it."""
    return Extended(runs, _spending(_as(runs, Outcome.FAILED), runs, max))


def best(runs: Sample) -> Sample:
    """Its crashes would have gone well."""
    return Extended(runs, _spending(_as(runs, Outcome.PASSED), runs, min))


def _as(runs: Sample, outcome: Outcome) -> list[Run]:
    """The crashed ones, as if they had ended so."""
    passed = outcome.passed
    ends: dict[str, Any] = {"outcome": outcome, "counted": True, "passed": passed, "score": float(passed)}
    return [run._replace(**ends) for run in runs if not run.counted and run.outcome in CRASHED]


def _spending(crashed: Sequence[Run], runs: Sample, extreme: Callable[[Iterable[float]], float]) -> list[Run]:
    """With the extreme spend of their question; unchanged where none is known."""
    known = runs.by_question(tokens)
    return [
        run._replace(tokens=int(extreme(known[run.question]))) if run.question in known else run
        for run in crashed
    ]
