"""Relative cost over several questions: geometric mean of the ratios, ratio of totals, and the test."""

from collections.abc import Sequence
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._columns import spread_codes
from tiltyard_stats._cost_questions import source_report, within_cells
from tiltyard_stats._logratio import LogRatios, log, log_intervals, stratified, totals, unknown
from tiltyard_stats._moments import Moments, by_cell
from tiltyard_stats._result import Interval, TestResult
from tiltyard_stats._special import t_two_sided
from tiltyard_stats.resample import RESAMPLES, Rng

QuestionsMethod = Literal["log-t", "over-questions", "percentile", "source-report"]
_METHODS = ("log-t", "over-questions", "percentile", "source-report")
_THESE, _LIKE_THESE = "these questions", "questions like these"


def cost_ratio_stratified(
    arm: Sequence[ArrayLike],
    baseline: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    method: QuestionsMethod = "log-t",
    claim: str | None = None,
    resamples: int = RESAMPLES,
    rng: Rng = None,
    exact: bool | None = None,
) -> Interval:
    """Relative cost over several cells, each arm cell beside its baseline cell.

    Parameters
    ----------
    arm, baseline : sequence of arrays of float, one array of shape (n_cell,) per cell
        Costs by cell (by question), in the same order on both sides.
    confidence : float
        Nominal coverage.
    method : {"log-t", "over-questions", "percentile", "source-report"}
        The formula, see Notes.
    claim : str, optional
        What the cells stand for: by default "questions like these" for "over-questions", and "these
        questions" for the others, which know the noise of the runs only.
    resamples, rng, exact
        For the bootstraps: number and source of the draws (seed 0 by default), and whether all resamples are
        listed instead (by default when there are at most 2,000,000).

    Returns
    -------
    Interval
        The geometric mean of the cells' ratios (for "source-report" the arithmetic mean of the runs'). With
        "log-t" a cell of one run borrows the relative variance of the arm's other cells (`pooled-variance`);
        bounds are NaN when an arm has no cell of two (`n<2`). "percentile" needs two runs in each cell,
        "over-questions" two cells.

    Raises
    ------
    ValueError
        As for `cost_ratio`, and when the two sides differ in their number of cells.

    Notes
    -----
    "log-t": L = mean ln R_q over Q cells and V = sum(V_arm,q + V_baseline,q) / Q², with Satterthwaite degrees
    of freedom over all cells. A mean of logs is symmetric in the choice of baseline, which a mean of ratios
    is not: there A/B and B/A can both exceed 1. With one cell it is `cost_ratio`.

    "over-questions": Student's t over the Q values ln R_q, with Q - 1 degrees of freedom; the only one that
    counts how questions differ. "percentile" resamples each cell with n - 1 draws [1]_: n draws leave the
    variance short by (n - 1)/n. "source-report" pools each run's cost over the mean of its baseline cell and
    resamples them: it covers 74 to 86%, and is here to reproduce printed figures.

    References
    ----------
    .. [1] Rao, J. N. K., and Wu, C. F. J. (1988). Resampling inference with complex survey data. JASA 83.

    Examples
    --------
    >>> ratio = cost_ratio_stratified([[10, 12], [40, 44]], [[20, 24], [80, 88]])
    >>> print(f"{ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    0.50 (0.40 to 0.63)
    """
    check.choice("method", method, _METHODS)
    check.proportion("confidence", confidence)
    arms, bases = check.cost_cells(arm, baseline)
    says = claim or (_LIKE_THESE if method == "over-questions" else _THESE)
    if method in {"source-report", "percentile"}:
        resampled = source_report if method == "source-report" else within_cells
        return resampled(arms, bases, says, confidence, resamples=resamples, rng=rng, exact=exact)
    sides = by_cell(arms), by_cell(bases)
    if method == "over-questions":
        return _one(_over_questions(*sides), sides, method, says, confidence)
    name = "log-t" if len(arms) == 1 else "log-t-stratified"
    return _one(stratified(*sides), sides, name, says, confidence)


def cost_ratio_totals(
    arm: Sequence[ArrayLike], baseline: Sequence[ArrayLike], *, confidence: float = 0.95, claim: str = _THESE
) -> Interval:
    """Ratio of totals: what one run of every cell costs, arm over baseline, as a bill adds up.

    Parameters
    ----------
    arm, baseline, confidence, claim
        As for `cost_ratio_stratified`.

    Returns
    -------
    Interval
        The sum of the arm's cell means over that of the baseline. Dear questions weigh most. Borrowing and
        unknown bounds are as for the "log-t" method of `cost_ratio_stratified`.

    Raises
    ------
    ValueError
        As for `cost_ratio_stratified`.

    Notes
    -----
    The variance of a log total is sum(s_q²/n_q) / (sum of means)² by the delta method; Satterthwaite degrees
    of freedom over all cells.

    Examples
    --------
    >>> ratio = cost_ratio_totals([[10, 12], [80, 88]], [[20, 24], [80, 88]])
    >>> print(f"{ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    0.90 (0.72 to 1.11)
    """
    arms, bases = check.cost_cells(arm, baseline)
    sides = by_cell(arms), by_cell(bases)
    return _one(totals(*sides), sides, "log-t-totals", claim, confidence)


def cost_ratio_test(
    arm: Sequence[ArrayLike], baseline: Sequence[ArrayLike], *, claim: str = _THESE
) -> TestResult:
    """Test of equal mean cost, the counterpart of `cost_ratio_stratified`.

    Parameters
    ----------
    arm, baseline : sequence of arrays of float
        As for `cost_ratio_stratified`.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    TestResult
        Two-sided; below alpha exactly when the "log-t" interval of confidence 1 - alpha excludes 1. NaN where
        that is NaN.

    Examples
    --------
    >>> round(cost_ratio_test([[62, 61, 57, 67]], [[120, 118, 125, 90]]).pvalue, 4)
    0.001
    """
    arms, bases = (by_cell(side) for side in check.cost_cells(arm, baseline))
    ratio = stratified(arms, bases)
    statistic = ratio.log / ratio.error
    return TestResult(
        statistic=float(statistic[0]),
        pvalue=float(t_two_sided(statistic, ratio.df)[0]),
        method="log-t",
        n=int(arms.n.sum() + bases.n.sum()),
        claim=claim,
        warnings=ratio.warnings[0],
        df=float(ratio.df[0]),
    )


def _over_questions(arms: Moments, bases: Moments) -> LogRatios:
    logs = log(arms, bases)
    count, zero = len(logs), bool((arms.mean == 0).any())
    if count < 2 or zero:  # noqa: PLR2004 - one question has no spread
        codes = spread_codes(count < 2, spread=True, zero=zero)  # noqa: PLR2004
        return unknown(float(logs.mean()), codes)
    spread = float(logs.std(ddof=1))
    # Equal ratios leave a rounding error that must not pass for spread.
    varies = spread > 1e-14 * (1 + float(np.abs(logs).max()))
    error = spread / sqrt(count) if varies else np.nan
    codes = spread_codes(single=False, spread=varies)
    return LogRatios(np.array([logs.mean()]), np.array([error]), np.array([count - 1.0]), codes)


def _one(
    ratio: LogRatios, sides: tuple[Moments, Moments], method: str, claim: str, confidence: float
) -> Interval:
    total = np.array([sides[0].n.sum() + sides[1].n.sum()])
    return log_intervals(ratio, total, method, claim, confidence)[0]
