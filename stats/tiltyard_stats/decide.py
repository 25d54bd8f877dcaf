"""Decision rules: results in, decision out. They never see raw data, so that every command decides alike."""

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Decision, Interval

NO_VERDICT = "no verdict"
NO_DIFFERENCE = "no clear difference"
CHEAPER = "cheaper"
DEARER = "dearer"

MINIMUM_RUNS = 4
"""Runs a side under which a cost comparison gets no verdict."""
SETTLED_RUNS = 8
"""Runs a side under which a verdict is provisional."""


def token_verdict(
    ratio: Interval, *, n_arm: int, n_baseline: int, tolerance: float = 0.0, pvalue: float | None = None
) -> Decision:
    """Whether an arm is cheaper or dearer than the baseline.

    Parameters
    ----------
    ratio : Interval
        Relative cost, arm over baseline.
    n_arm, n_baseline : int
        Runs with a known cost on each side.
    tolerance : float
        Differences of up to this much do not count, as a share of the baseline.
    pvalue : float, optional
        P value of ratio 1, adjusted for all comparisons of the report. A clear difference then also needs it
        to be at most 1 - `ratio.confidence`.

    Returns
    -------
    Decision
        `cheaper`, `dearer`, `no clear difference`, or `no verdict`. Codes: `few-runs` (under 4 a side),
        `unknown-bound` (the interval is not known), `multiplicity` (clear alone, but not among all
        comparisons), `provisional` (under 8 runs a side).

    Raises
    ------
    ValueError
        When `tolerance` or a number of runs is negative.

    Examples
    --------
    >>> from tiltyard_stats import cost_ratio
    >>> ratio = cost_ratio([62, 61, 57, 67], [120, 118, 125, 90])
    >>> token_verdict(ratio, n_arm=4, n_baseline=4)
    Decision(verdict='cheaper', warnings=('provisional',))
    """
    check.at_least("tolerance", tolerance, 0)
    fewest = min(check.whole("n_arm", n_arm, 0), check.whole("n_baseline", n_baseline, 0))
    if fewest < MINIMUM_RUNS:
        return Decision(NO_VERDICT, ("few-runs",))
    if not ratio.known:
        return Decision(NO_VERDICT, ("unknown-bound",))
    codes = ("provisional",) if fewest < SETTLED_RUNS else ()
    if not ratio.excludes(1.0, tolerance):
        return Decision(NO_DIFFERENCE, codes)
    if pvalue is not None and not pvalue <= 1 - ratio.confidence + 1e-12:
        return Decision(NO_DIFFERENCE, ("multiplicity", *codes))
    return Decision(CHEAPER if ratio.high < 1.0 else DEARER, codes)
