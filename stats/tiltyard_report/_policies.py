"""Each verdict under the three ways in which crashed runs are treated, and whether it flips.

Exclude: they do not count, which is the report's own. Failures: each is a failed run, its spend counted.
Worst case: against each arm in turn, its crashed runs fail and those of the other side pass; on tokens they
take the dearest of the arm's runs on the question, those of the other side the cheapest.
"""

from collections.abc import Sequence

import numpy as np

from tiltyard_report._measures import tokens
from tiltyard_report._run import Run
from tiltyard_report._sample import Sample, sample
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats._result import BoolArray, FloatArray

CRASHED = frozenset({Outcome.INFRA, Outcome.UNMETERED, Outcome.SETUP_FAILED, Outcome.UNDELIVERED})
"""What is a crash; a run that somebody stopped is none."""


def crashes(runs: Sequence[Run]) -> int:
    """How many runs crashed."""
    return int(_crashed(sample(runs)).sum())


def failed(runs: Sample) -> Sample:
    """A crash is a failed run."""
    return _as(runs, passed=False)


def worst(runs: Sample) -> Sample:
    """Its crashes went against it."""
    return _as(runs, passed=False, spent=np.maximum)


def best(runs: Sample) -> Sample:
    """Its crashes would have gone well."""
    return _as(runs, passed=True, spent=np.minimum)


def _crashed(runs: Sample) -> BoolArray:
    return runs.having("outcome", lambda outcome: outcome in CRASHED)


def _as(runs: Sample, *, passed: bool, spent: np.ufunc | None = None) -> Sample:
    """The counted ones, then the crashed ones as if they had ended so.

    They spent the extreme of their question where that is asked for and known, else what they did.
    """
    crashed = runs.where(_crashed(runs) & ~runs.column("counted"))
    tokens = crashed.column("tokens") if spent is None else _extreme(crashed, runs, spent)
    both = runs.counted.followed_by(crashed)
    ends = {"counted": True, "passed": passed, "score": float(passed)}
    columns = {
        name: np.concatenate([runs.counted.column(name), np.full(len(crashed), end)])
        for name, end in ends.items()
    }
    columns["tokens"] = np.concatenate([runs.counted.column("tokens"), tokens])
    changed = both.changed(columns)
    # What was asked stays as it was, whoever was stopped.
    changed.attempted = runs.attempted
    return changed


def _extreme(crashed: Sample, runs: Sample, spent: np.ufunc) -> FloatArray:
    known = runs.by_question(tokens)
    own: FloatArray = crashed.column("tokens")
    if not len(known):
        return own
    extremes = spent.reduceat(known.cells.flat, known.cells.starts)
    places = crashed.ranks("question")
    at = np.minimum(np.searchsorted(known.places, places), len(known) - 1)
    return np.where(known.places[at] == places, extremes[at], own)
