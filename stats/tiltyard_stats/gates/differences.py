"""Rules on the difference of a rate, candidate minus baseline."""

from math import isnan

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats.gates.outcome import FAIL, INCONCLUSIVE, PASS, Outcome
from tiltyard_stats.noninferiority import non_inferiority, runs_to_settle

_SLACK = 1e-12
_SHOCK_RUNS = 3
"""Complete runs under which a run-wide shock cannot be told from a difference."""


def no_significant_drop(
    difference: Interval, *, pvalue: float | None = None, runs: int | None = None, shocked: bool = False
) -> Outcome:
    """Fails on a proven drop only: the rule for pull requests.

    Parameters
    ----------
    difference : Interval
        Candidate minus baseline; at confidence 0.9 a gate of 5%.
    pvalue : float, optional
        P value of a drop: `midp_drop` of `stratified_test` on fixed cases, `fisher_drop` with mid-p for
        single attempts. A failure then also needs it to be at most (1 - confidence) / 2.
    runs : int, optional
        Complete runs of the arm that has fewer; needed when `shocked`.
    shocked : bool
        Whether whole runs differ by more than chance. The interval must then rest on runs.

    Returns
    -------
    Outcome
        FAIL when the upper bound is below 0, else PASS. INCONCLUSIVE when a bound or the p value is NaN
        (`unknown-bound`) or shocked in fewer than 3 runs (`rerun`).

    Raises
    ------
    ValueError
        When `shocked` and `runs` is not given, or `pvalue` is outside [0, 1].

    Notes
    -----
    By the interval alone an unchanged candidate fails in at most 6% of reports, but up to 8% where all cases
    pass alike and the attempts are few or uneven: 12 a side at a rate of one half, 40 against 80 at 96%. With
    the p value it is at most 5.5%.

    Examples
    --------
    >>> no_significant_drop(Interval(-0.05, -0.09, -0.01, 0.9, "mover", 200, "these cases")).verdict
    'FAIL'
    """
    chance = 0.0 if pvalue is None else check.number("pvalue", pvalue)
    if _rerun(runs, shocked=shocked):
        verdict, reason = INCONCLUSIVE, "rerun"
    elif isnan(chance) or not difference.known:
        verdict, reason = INCONCLUSIVE, "unknown-bound"
    else:
        level = (1 - difference.confidence) / 2 + _SLACK
        dropped = difference.high < 0 and check.share("pvalue", chance) <= level
        verdict, reason = (FAIL if dropped else PASS), ""
    return Outcome.judged("no_significant_drop", verdict, difference, 0.0, reason)


def no_regression(
    difference: Interval, margin: float, *, runs: int | None = None, shocked: bool = False
) -> Outcome:
    """Passes only on proof that the candidate is no worse than a margin.

    Parameters
    ----------
    difference : Interval
        Candidate minus baseline.
    margin : float
        How much worse is still accepted, at least 0.
    runs : int, optional
        Complete runs per arm, for the number that would settle it; needed when `shocked`.
    shocked : bool
        As for `no_significant_drop`.

    Returns
    -------
    Outcome
        PASS when the lower bound is at least -margin, FAIL when the upper one is below it, else INCONCLUSIVE:
        `spans-limit` with the runs that would settle it, `unknown-bound` or `rerun`.

    Raises
    ------
    ValueError
        When `margin` is negative, or `shocked` and `runs` is not given.

    Examples
    --------
    >>> outcome = no_regression(Interval(0.01, -0.062, 0.082, 0.95, "t", 200, "these cases"), 0.02, runs=1)
    >>> outcome.verdict, outcome.runs
    ('INCONCLUSIVE', 6)
    """
    found = non_inferiority(difference, margin).decision
    if _rerun(runs, shocked=shocked):
        return Outcome.judged("no_regression", INCONCLUSIVE, difference, -margin, "rerun")
    if found != "inconclusive":
        return Outcome.judged("no_regression", PASS if found == "pass" else FAIL, difference, -margin, "")
    reason = "spans-limit" if difference.known else "unknown-bound"
    more = None
    if runs is not None and difference.known:
        more = runs_to_settle(difference.estimate, difference.estimate - difference.low, margin, runs).runs
    return Outcome.judged("no_regression", INCONCLUSIVE, difference, -margin, reason, more)


def _rerun(runs: int | None, *, shocked: bool) -> bool:
    if not shocked:
        return False
    if runs is None:
        raise ValueError("runs (None) must be given when shocked.")
    return check.whole("runs", runs, 1) < _SHOCK_RUNS
