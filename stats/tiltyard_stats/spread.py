"""Run-to-run spread of cost, as a coefficient of variation within cells."""

from collections.abc import Sequence
from math import nan, sqrt

from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._moments import by_cell
from tiltyard_stats._result import Spread
from tiltyard_stats._special import chi2_quantile


def cv(cells: Sequence[ArrayLike], *, claim: str = "these questions") -> Spread:
    """Coefficient of variation within cells, pooled over them.

    Parameters
    ----------
    cells : sequence of arrays of float, each of shape (n_cell,)
        Costs by cell (by question and arm). Cells of one run, or of mean 0, say nothing and are left out.
    claim : str
        What the runs stand for; carried into the result.

    Returns
    -------
    Spread
        NaN with a warning when no cell is left: `n<2`, or `zero-mean`.

    Raises
    ------
    ValueError
        When there is no cell, a cell is empty, or a value is not finite.

    Notes
    -----
    sd(n-1)/mean in each cell, then the root of the mean square weighted by degrees of freedom. Pooling runs
    of different questions instead would count the difference between questions as noise of the runs.

    Examples
    --------
    >>> round(cv([[33, 33, 50, 73]]).cv, 3)
    0.401
    >>> round(cv([[9, 11], [900, 1100]]).cv, 3)
    0.141
    """
    moments = by_cell(check.cells("cells", cells))
    several = moments.n > 1
    use = several & (moments.mean != 0)
    n = int(moments.n.sum())
    if not use.any():
        return Spread(nan, 0, n, "within-cells", claim, ("zero-mean",) if several.any() else ("n<2",))
    df = moments.n[use] - 1
    square = float((df * moments.variance[use] / moments.mean[use] ** 2).sum() / df.sum())
    codes = ("zero-mean",) if (several & ~use).any() else () if square > 0 else ("zero-variance",)
    return Spread(sqrt(square), int(df.sum()), n, "within-cells", claim, codes)


def pilot_factor(df: int, *, assurance: float = 0.8) -> float:
    """How much to raise a pilot's cv so that it is not too small, with the given assurance.

    Parameters
    ----------
    df : int
        Degrees of freedom of the pilot's cv, pooled over cells and arms.
    assurance : float
        Chance that the raised cv is at least the true one.

    Returns
    -------
    float
        sqrt(df / chi2 quantile of 1 - assurance) [1]_.

    Raises
    ------
    ValueError
        When `df` is below 1.

    References
    ----------
    .. [1] Browne, R. H. (1995). On the use of a pilot sample for sample size determination. Stat. Med. 14.

    Examples
    --------
    >>> [round(pilot_factor(df), 2) for df in (3, 6, 14)]
    [1.73, 1.4, 1.22]
    """
    check.at_least("df", df, 1)
    return sqrt(df / chi2_quantile(1 - check.proportion("assurance", assurance), df))
