"""Each verdict under the three ways in which crashed runs are treated, and whether it flips.

Exclude: they do not count, which is the report's own. Failures: each is a failed run, its spend counted.
Worst case: against each arm in turn, its crashed runs fail and those of the other side pass; on tokens they
take the dearest of the arm's runs on the question, those of the other side the cheapest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tiltyard_report._run import Run
from tiltyard_report._sample import Sample
from tiltyard_specs.outcomes import Outcome

CRASHED = frozenset({Outcome.INFRA, Outcome.UNMETERED, Outcome.SETUP_FAILED, Outcome.UNDELIVERED})
"""What is a crash; a run that somebody stopped is none."""


def crashes(runs: Sequence[Run]) -> bool:
    """Whether a run crashed."""
    return any(run.outcome in CRASHED for run in runs)


def failed(runs: Sequence[Run]) -> Sample:
    """A crash is a failed run."""
    return Sample(_counted_as(runs, Outcome.FAILED))


def worst(runs: Sequence[Run]) -> Sample:
    """Its crashes went against it."""
    return Sample(_spending(_counted_as(runs, Outcome.FAILED), runs, dear=True))


def best(runs: Sequence[Run]) -> Sample:
    """Its crashes would have gone well."""
    return Sample(_spending(_counted_as(runs, Outcome.PASSED), runs, dear=False))


def _counted_as(runs: Sequence[Run], outcome: Outcome) -> list[Run]:
    ends: dict[str, Any] = {
        "outcome": outcome,
        "counted": True,
        "passed": outcome.passed,
        "score": float(outcome.passed),
    }
    return [run if run.counted or run.outcome not in CRASHED else run._replace(**ends) for run in runs]


def _spending(changed: Sequence[Run], runs: Sequence[Run], *, dear: bool) -> list[Run]:
    """The crashed runs with the extreme spend of their question; unchanged where none is known."""
    extremes = _extremes(runs, dear=dear)
    return [
        new if old.counted or old.outcome not in CRASHED else _at(new, extremes.get(old.question))
        for new, old in zip(changed, runs, strict=True)
    ]


def _at(run: Run, tokens: int | None) -> Run:
    return run if tokens is None else run._replace(tokens=tokens)


def _extremes(runs: Sequence[Run], *, dear: bool) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for run in runs:
        if run.counted and run.tokens is not None:
            pick = max if dear else min
            found[run.question] = pick(run.tokens, found.get(run.question, run.tokens))
    return found
