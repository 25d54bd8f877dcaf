"""What became of a cell since a snapshot: regressed, dearer, improved or the same."""

from dataclasses import dataclass

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Decision, Interval, TestResult
from tiltyard_stats.decide import CHEAPER, DEARER, token_verdict

REGRESSED = "regressed"
IMPROVED = "improved"
SAME = "same"


@dataclass(frozen=True, slots=True)
class Regression:
    """The verdict on a cell, with all that was found."""

    verdict: str
    """The gravest finding: `regressed`, `dearer`, `improved`, else `same`."""
    findings: tuple[str, ...]
    """All findings, gravest first; a caller chooses which of them fail."""
    cost: Decision
    """The verdict on the cost alone."""
    warnings: tuple[str, ...] = ()
    """`within-noise`: the pass rate is lower, but not provably so; and the codes of the cost verdict."""


def regression_verdict(
    drop: TestResult,
    ratio: Interval,
    *,
    n_old: int,
    n_new: int,
    tolerance: float = 0.1,
    alpha: float = 0.1,
    cost_pvalue: float | None = None,
) -> Regression:
    """Whether a cell got worse, dearer or cheaper.

    Parameters
    ----------
    drop : TestResult
        One-sided test of a drop in the pass rate, such as `fisher_drop`; its statistic is new minus old.
    ratio : Interval
        Relative cost, new over old.
    n_old, n_new : int
        Runs with a known cost on each side.
    tolerance : float
        Cost differences of up to this much do not count, as a share of the old cost.
    alpha : float
        Level of the test of the drop.
    cost_pvalue : float, optional
        P value of ratio 1, adjusted for all cells of the report; see `token_verdict`.

    Returns
    -------
    Regression
        `regressed` when the pass rate is lower and p < alpha; `dearer` or `improved` (cheaper) when the cost
        interval lies wholly beyond the tolerance, with at least 4 runs a side. NaN proves nothing.

    Raises
    ------
    ValueError
        When the test is not one-sided, or a number is out of its range.

    Notes
    -----
    Fisher's test at 10% has a true size of 4 to 6% at 4 to 20 runs a side; 4 of 4 to 0 of 4 gives p = 0.014.

    Examples
    --------
    >>> from tiltyard_stats import Interval, fisher_drop
    >>> ratio = Interval(2.99, 2.2, 4.31, 0.95, "log-t", 8, "these questions")
    >>> regression_verdict(fisher_drop(4, 4, 0, 4), ratio, n_old=4, n_new=4).findings
    ('regressed', 'dearer')
    """
    check.proportion("alpha", alpha)
    check.choice("drop.alternative", drop.alternative, ("less",))
    cost = token_verdict(ratio, n_arm=n_new, n_baseline=n_old, tolerance=tolerance, pvalue=cost_pvalue)
    lower = drop.statistic < 0
    proven = lower and drop.pvalue < alpha
    found = (
        (REGRESSED, proven),
        (DEARER, cost.verdict == DEARER),
        (IMPROVED, cost.verdict == CHEAPER),
    )
    findings = tuple(name for name, holds in found if holds)
    noise = ("within-noise",) if lower and not proven else ()
    return Regression(findings[0] if findings else SAME, findings, cost, noise + cost.warnings)
