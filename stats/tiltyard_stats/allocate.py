"""Where runs are worth most: over cells (Neyman), and in repetitions or in cases."""

from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import ceil, inf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray

_TWO = 2
_NO_SPREAD = 1e-12  # of the largest one


@dataclass(frozen=True, slots=True)
class Allocation:
    """Runs by cell."""

    exact: tuple[float, ...]
    """The optimum, in fractions of a run, that spends the budget."""
    runs: tuple[int, ...]
    """Whole runs within the budget, no cell under the minimum."""
    cost: float
    """What the whole runs cost."""
    warnings: tuple[str, ...] = ()
    """`zero-variance` (no cell varies, all get the same), `over-budget` (the minimum alone costs more)."""


@dataclass(frozen=True, slots=True)
class BestReps:
    """Repetitions of a case that make the most of a budget."""

    reps: int | None
    """Whole repetitions, at least 2; None when cases do not differ, so that repetitions are all it takes."""
    exact: float
    """Before rounding up; infinite when cases do not differ."""
    warnings: tuple[str, ...] = ()


def neyman(sd: ArrayLike, cost: ArrayLike, budget: float, *, minimum: int = _TWO) -> Allocation:
    """Spread a budget of runs over cells so that the mean over cells is as sharp as it can be.

    Parameters
    ----------
    sd : array of float, shape (cells,)
        Standard deviation of a run in each cell, from a pilot; for relative costs the cv.
    cost : array of float, shape (cells,)
        Cost of a run in each cell, above 0.
    budget : float
        What all runs together may cost.
    minimum : int
        Runs that each cell keeps; two, since one run shows no spread.

    Returns
    -------
    Allocation
        Allocate by the spread alone, never by the difference seen so far: that would bias the comparison.

    Raises
    ------
    ValueError
        When a standard deviation is negative, a cost or the budget is not above 0, or the lengths differ.

    Notes
    -----
    n_i is proportional to sd_i / sqrt(cost_i) with sum(n_i cost_i) equal to the budget [1]_ [2]_.

    References
    ----------
    .. [1] Neyman, J. (1934). On the two different aspects of the representative method. JRSS 97.
    .. [2] Cochran, W. G. (1977). Sampling techniques, 3rd ed., chapter 5.

    Examples
    --------
    >>> plan = neyman([1, 2, 4], [1, 1, 4], 100)
    >>> [round(n, 2) for n in plan.exact], plan.runs, plan.cost
    ([9.09, 18.18, 18.18], (9, 19, 18), 100.0)
    """
    spread, price = check.sample("sd", sd), check.sample("cost", cost)
    check.at_least("sd", float(spread.min()), 0)
    check.same_length("sd", spread, "cost", price)
    check.above("cost", float(price.min()), 0)
    check.above("budget", budget, 0)
    check.whole("minimum", minimum, 1)
    codes: tuple[str, ...] = ()
    if not spread.any():
        spread, codes = np.sqrt(price), ("zero-variance",)
    spread = spread / spread.max()
    spread[spread < _NO_SPREAD] = 0.0
    exact = _share(spread, price, budget)
    runs = _whole(spread, price, budget, minimum)
    total = float(runs @ price)
    if total > budget * (1 + 1e-12):
        codes = (*codes, "over-budget")
    return Allocation(tuple(exact.tolist()), tuple(int(n) for n in runs), total, codes)


def _share(spread: FloatArray, price: FloatArray, budget: float) -> FloatArray:
    weights = spread / np.sqrt(price)
    return np.asarray(budget * weights / (weights @ price))


def _whole(spread: FloatArray, price: FloatArray, budget: float, minimum: int) -> FloatArray:
    """Cells that fall short are raised to the minimum; the rest share what is left, rounded down, then up."""
    runs = np.full(len(spread), float(minimum))
    rich = spread > 0
    while rich.any():
        left = budget - float(runs[~rich] @ price[~rich])
        share = _share(spread[rich], price[rich], left) if left > 0 else np.zeros(int(rich.sum()))
        if (share >= minimum).all():
            runs[rich] = np.floor(share + 1e-9)
            break
        rich[np.flatnonzero(rich)[share < minimum]] = False
    return _spend_rest(runs, spread, price, budget)


def _spend_rest(runs: FloatArray, spread: FloatArray, price: FloatArray, budget: float) -> FloatArray:
    """One run after another to where it lowers the variance most for its price."""
    left = budget * (1 + 1e-12) - float(runs @ price)

    def gain(cell: int) -> float:
        return -float(spread[cell] ** 2 / (runs[cell] * (runs[cell] + 1) * price[cell]))

    queue = [(gain(cell), cell) for cell in range(len(runs)) if spread[cell] > 0]
    heapify(queue)
    while queue and left > 0:
        cell = queue[0][1]
        if price[cell] > left:
            heapreplace(queue, (inf, cell))
            if queue[0][0] == inf:
                break
            continue
        runs[cell] += 1
        left -= float(price[cell])
        heapreplace(queue, (gain(cell), cell))
    return runs


def best_reps(within: float, between: float, *, case_cost: float, run_cost: float) -> BestReps:
    """Repetitions of a case, for a claim about cases like these, that make the most of a budget.

    Parameters
    ----------
    within, between : float
        Variances between the runs of a case and between cases, from `variance_components`.
    case_cost : float
        Cost of adding a case, whatever its runs cost; 0 when cases are at hand.
    run_cost : float
        Cost of one run, in the same unit.

    Returns
    -------
    BestReps
        Never below 2, since one run shows no spread.

    Raises
    ------
    ValueError
        When a variance or `case_cost` is negative or `run_cost` is not above 0.

    Notes
    -----
    sqrt(case_cost / run_cost * within / between) [1]_. For a claim about these cases only the number of
    attempts counts: `design_variance`.

    References
    ----------
    .. [1] Cochran, W. G. (1977). Sampling techniques, 3rd ed., chapter 10.

    Examples
    --------
    >>> best_reps(0.2, 0.05, case_cost=9, run_cost=1).reps
    6
    """
    check.at_least("within", within, 0)
    check.at_least("between", between, 0)
    check.at_least("case_cost", case_cost, 0)
    check.above("run_cost", run_cost, 0)
    if between == 0:
        return BestReps(None, inf, ("zero-variance",))
    exact = sqrt(case_cost / run_cost * within / between)
    return BestReps(max(_TWO, ceil(exact - 1e-9)), exact)


def design_variance(
    within: float, between: float, *, cases: int, reps: int, claim: str = "cases like these"
) -> float:
    """Variance of a mean over cases, to weigh more repetitions against more cases.

    Parameters
    ----------
    within, between : float
        Variances between the runs of a case and between cases, from `variance_components`.
    cases, reps : int
        The design: runs are cases times reps.
    claim : {"cases like these", "these cases"}
        What the mean is to speak about. For "these cases" differences between cases are no noise.

    Returns
    -------
    float
        between / cases + within / (cases reps), without the first term for "these cases".

    Raises
    ------
    ValueError
        When a variance is negative or the design has no run.

    Examples
    --------
    With as much variance between cases as within, five repetitions are worth less than two cases.

    >>> five_reps = design_variance(1, 1, cases=10, reps=5)
    >>> two_cases = design_variance(1, 1, cases=20, reps=1)
    >>> round(five_reps, 2), round(two_cases, 2)
    (0.12, 0.1)
    """
    check.at_least("within", within, 0)
    check.at_least("between", between, 0)
    check.whole("cases", cases, 1)
    check.whole("reps", reps, 1)
    check.choice("claim", claim, ("cases like these", "these cases"))
    runs_noise = within / (cases * reps)
    return runs_noise if claim == "these cases" else between / cases + runs_noise
