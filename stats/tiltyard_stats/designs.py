"""From complete runs to the interval that the design allows: one run, several, or runs that share a shock."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import IntArray, Interval
from tiltyard_stats.fixed_cases import fixed_cases
from tiltyard_stats.fixed_diff import fixed_cases_diff
from tiltyard_stats.runs import runs_t, welch
from tiltyard_stats.shock import ShockTest, shock_test

Rule = Literal["one-run", "fixed-cases", "over-runs", "rerun"]
SHOCK_LEVEL = 0.05
"""P value of the shock check below which the runs count as shocked."""
ENOUGH_RUNS = 3
"""Runs from which an interval over runs says anything."""
CLAIMS = {
    "these cases": "on this set of cases",
    "cases like these": "in the population that the cases came from",
    "groups like these": "in the population that the groups came from",
}
"""What each design's claim is about, to end a sentence with."""


@dataclass(frozen=True, slots=True)
class Curated:
    """The result of a curated set of cases and the rule that it came by."""

    interval: Interval
    rule: Rule
    """`one-run`: Wilson or a paired difference. `fixed-cases`: the noise of the runs. `over-runs`: a shock,
    so whole runs are the unit. `rerun`: a shock and too few runs to stand on; the interval is for
    information and no gate may pass or fail on it."""
    shocks: tuple[ShockTest, ...] = ()
    """The check of each arm with two runs or more, candidate first."""


def curated(run_passes: ArrayLike, *, confidence: float = 0.95) -> Curated:
    """Pass rate of a curated set, by the interval that its runs allow.

    Parameters
    ----------
    run_passes : array of 0 and 1, shape (runs, cases)
        One row per complete run.
    confidence : float
        Nominal coverage.

    Returns
    -------
    Curated
        The interval warns `shock` after a shock and `rerun` when there are too few runs to fall back on.

    Raises
    ------
    ValueError
        When there is no run or no case, or an outcome is not 0 or 1.

    Notes
    -----
    One run: Wilson. Otherwise `shock_test`; without a shock (p of at least 5%) `fixed_cases`. With one,
    `runs_t` from three runs up, and below that the interval for fixed cases, marked.

    Examples
    --------
    >>> curated([[1, 0, 1], [1, 1, 1]]).rule
    'fixed-cases'
    """
    table = check.outcomes("run_passes", run_passes)
    rule, shocks = curated_rule(table)
    if rule == "over-runs":
        interval = runs_t(table.mean(axis=1), confidence=confidence)
    else:
        interval = fixed_cases(table.sum(axis=0), len(table), confidence=confidence)
    return Curated(_marked(interval, rule), rule, shocks)


def curated_diff(candidate: ArrayLike, baseline: ArrayLike, *, confidence: float = 0.95) -> Curated:
    """Difference of two arms on a curated set, by the interval that their runs allow.

    Parameters
    ----------
    candidate, baseline : array of 0 and 1, shapes (runs, cases) and (other runs, cases)
        One row per complete run, cases in the same order.
    confidence : float
        Nominal coverage.

    Returns
    -------
    Curated
        As for `curated`, with the check of both arms.

    Raises
    ------
    ValueError
        As for `curated`, and when the arms differ in their number of cases.

    Notes
    -----
    `fixed_cases_diff` unless an arm shows a shock; then `welch` over the means of the runs when both arms
    have three or more.

    Examples
    --------
    >>> curated_diff([[1, 0, 1], [1, 1, 1]], [[1, 0, 0], [0, 0, 1]]).interval.method
    'mover-wilson'
    """
    arms = check.outcomes("candidate", candidate), check.outcomes("baseline", baseline)
    if arms[0].shape[1] != arms[1].shape[1]:
        raise ValueError(
            f"candidate ({arms[0].shape[1]} cases) and baseline ({arms[1].shape[1]} cases) must hold the same"
            " cases."
        )
    rule, shocks = curated_rule(*arms)
    if rule == "over-runs":
        means = arms[0].mean(axis=1), arms[1].mean(axis=1)
        interval: Interval = welch(*means, confidence=confidence, bounds=(-1.0, 1.0))
    else:
        counts = [(arm.sum(axis=0), np.full(arm.shape[1], len(arm))) for arm in arms]
        interval = fixed_cases_diff(*counts[0], *counts[1], confidence=confidence)
    return Curated(_marked(interval, rule), rule, shocks)


def curated_rule(*arms: IntArray) -> tuple[Rule, tuple[ShockTest, ...]]:
    """The rule by which `curated` and `curated_diff` come by an interval, and the shock checks behind it."""
    shocks = tuple(shock_test(arm) for arm in arms if len(arm) > 1)
    fewest = min(len(arm) for arm in arms)
    if any(test.pvalue < SHOCK_LEVEL for test in shocks):
        return ("over-runs" if fewest >= ENOUGH_RUNS else "rerun"), shocks
    return ("one-run" if max(len(arm) for arm in arms) == 1 else "fixed-cases"), shocks


def _marked(interval: Interval, rule: Rule) -> Interval:
    added = {"over-runs": ("shock",), "rerun": ("shock", "rerun")}.get(rule, ())
    return interval.with_warnings(*added)
