"""Each verdict under the three ways in which crashed runs are treated, and whether it flips.

Exclude: they do not count, which is the report's own. Failures: each is a failed run, its spend counted.
Worst case: against each arm in turn, its crashed runs fail and those of the other side pass; on tokens they
take the dearest of the arm's runs on the question, those of the other side the cheapest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tiltyard_report._run import Run
from tiltyard_specs.outcomes import Outcome

CRASHED = frozenset({Outcome.INFRA, Outcome.UNMETERED, Outcome.SETUP_FAILED, Outcome.UNDELIVERED})
"""What is a crash; a run that somebody stopped is none."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way to count crashed runs, of both sides."""

    arm: tuple[Run, ...]
    baseline: tuple[Run, ...]


def crashes(runs: Sequence[Run]) -> bool:
    """Whether a run crashed."""
    return any(run.outcome in CRASHED for run in runs)


def failures(arm: Sequence[Run], baseline: Sequence[Run]) -> Scenario:
    """A crash is a failed run."""
    return Scenario(_counted_as(arm, Outcome.FAILED), _counted_as(baseline, Outcome.FAILED))


def worst_cases(arm: Sequence[Run], baseline: Sequence[Run]) -> tuple[Scenario, Scenario]:
    """The worst for the arm, and the worst for the baseline."""
    for_arm = Scenario(_bad(arm), _good(baseline))
    for_baseline = Scenario(_good(arm), _bad(baseline))
    return for_arm, for_baseline


def _bad(runs: Sequence[Run]) -> tuple[Run, ...]:
    return _spending(_counted_as(runs, Outcome.FAILED), runs, dear=True)


def _good(runs: Sequence[Run]) -> tuple[Run, ...]:
    return _spending(_counted_as(runs, Outcome.PASSED), runs, dear=False)


def _counted_as(runs: Sequence[Run], outcome: Outcome) -> tuple[Run, ...]:
    score = float(outcome.passed)
    return tuple(
        replace(run, outcome=outcome, score=score) if run.outcome in CRASHED else run for run in runs
    )


def _spending(changed: Sequence[Run], runs: Sequence[Run], *, dear: bool) -> tuple[Run, ...]:
    """The crashed runs with the extreme spend of their question; unchanged where none is known."""
    extremes = _extremes(runs, dear=dear)
    return tuple(
        replace(new, tokens=extremes.get(old.question, new.tokens)) if old.outcome in CRASHED else new
        for new, old in zip(changed, runs, strict=True)
    )


def _extremes(runs: Sequence[Run], *, dear: bool) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for run in runs:
        if run.outcome.counted and run.tokens is not None:
            pick = max if dear else min
            found[run.question] = pick(run.tokens, found.get(run.question, run.tokens))
    return found
