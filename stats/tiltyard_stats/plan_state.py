"""Whether a comparison needs more runs: clear, continue, futile or parity, and what going on would cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats.decide import MINIMUM_RUNS

CLEAR, CONTINUE, FUTILE, PARITY = "clear", "continue", "futile", "parity"


@dataclass(frozen=True, slots=True)
class PlanState:
    """Where a cell (an agent on a question) stands, with the numbers that its sentence needs."""

    state: str
    """`clear`, `continue`, `futile` or `parity`."""
    runs: int
    """Runs per arm so far: those of the arm with the fewest."""
    needed: int | None
    """Runs per arm that the spread asks for; None while the spread is not known."""
    more: int
    """Runs per arm still to make; 0 unless the state is `continue`."""
    open: tuple[int, ...]
    """Positions of the arms that are neither clear nor at parity."""
    warnings: tuple[str, ...] = ()
    """Why: `few-runs` (under the minimum), `unknown-spread`, `over-cap` (the spread needs more runs than the
    cap allows), `cap-reached`."""


@dataclass(frozen=True, slots=True)
class ProjectedSpend:
    """What the open cells would still cost."""

    amount: float
    """In the unit of the mean costs given, usually tokens."""
    usd: float
    """At the given price per million; NaN without one."""
    runs: int
    """Repetitions still to make, over all open cells."""


def plan_state(
    ratios: Sequence[Interval],
    *,
    runs: int,
    needed: int | None,
    minimum_runs: int = MINIMUM_RUNS,
    max_runs: int | None = None,
    tolerance: float | None = None,
) -> PlanState:
    """Whether a cell is decided, worth going on with, or hopeless within its cap.

    Parameters
    ----------
    ratios : sequence of Interval
        Relative cost of each arm against the baseline. For looks while a trial runs pass repeated intervals:
        a fixed-size interval that is looked at over and over finds differences that are not there.
    runs : int
        Runs per arm so far: those of the arm with the fewest.
    needed : int, optional
        Runs per arm that the spread asks for (`runs_per_arm`); None while it is not known.
    minimum_runs : int
        Runs per arm under which nothing is decided.
    max_runs : int, optional
        Cap on the runs per arm.
    tolerance : float, optional
        Differences of up to this share do not matter. An arm whose interval lies within them is at parity;
        without a tolerance there is no parity.

    Returns
    -------
    PlanState
        `clear`: each interval excludes 1, with at least the minimum of runs. `parity`: no arm is open and at
        least one is within the tolerance. `futile`: an arm is open, and the spread needs more runs than the
        cap (`over-cap`), or the cap is reached. `continue`: else. A clear arm is never futile. Under the
        minimum the spread is no reason to give up: it is hardly known.

    Raises
    ------
    ValueError
        When there is no ratio, or a number is out of range.

    Examples
    --------
    >>> from tiltyard_stats import cost_ratio, cv, runs_per_arm
    >>> arm, base = [62, 61, 57, 67], [70, 118, 125, 60]
    >>> needed = runs_per_arm(cv([arm, base]).cv, 0.4).runs
    >>> state = plan_state([cost_ratio(arm, base)], runs=4, needed=needed, max_runs=12)
    >>> state.state, state.more
    ('continue', 5)
    """
    _check(ratios, runs, needed, minimum_runs, max_runs, tolerance)
    even = [tolerance is not None and 1 - tolerance < r.low and r.high < 1 + tolerance for r in ratios]
    unsettled = tuple(place for place, ratio in enumerate(ratios) if not (even[place] or ratio.excludes(1.0)))
    few = runs < minimum_runs
    if not unsettled and not few:
        return PlanState(PARITY if any(even) else CLEAR, runs, needed, 0, ())
    if max_runs is not None and runs >= max_runs:
        return PlanState(FUTILE, runs, needed, 0, unsettled, ("cap-reached",))
    if few:
        goal = max(minimum_runs, needed or 0) if unsettled else minimum_runs
        more = (goal if max_runs is None else min(goal, max_runs)) - runs
        return PlanState(CONTINUE, runs, needed, more, tuple(range(len(ratios))), ("few-runs",))
    if needed is None:
        return PlanState(CONTINUE, runs, None, 1, unsettled, ("unknown-spread",))
    if max_runs is not None and needed > max_runs:
        return PlanState(FUTILE, runs, needed, 0, unsettled, ("over-cap",))
    return PlanState(CONTINUE, runs, needed, max(1, needed - runs), unsettled)


def _check(
    ratios: Sequence[Interval],
    runs: int,
    needed: int | None,
    minimum_runs: int,
    max_runs: int | None,
    tolerance: float | None,
) -> None:
    if not ratios:
        raise ValueError("ratios (none) must hold at least one arm against the baseline.")
    check.whole("runs", runs, 0)
    check.whole("minimum_runs", minimum_runs, 1)
    for name, value in (("needed", needed), ("max_runs", max_runs)):
        if value is not None:
            check.whole(name, value, 1)
    if tolerance is not None:
        check.proportion("tolerance", tolerance)


def projected_spend(
    states: Sequence[PlanState], repetition_costs: ArrayLike, *, price_per_million: float | None = None
) -> ProjectedSpend:
    """What it would cost to finish the open cells.

    Parameters
    ----------
    states : sequence of PlanState
        One per cell; only those that continue cost anything.
    repetition_costs : array of float, shape (cells,)
        Mean cost of one repetition of a cell, over all its arms together, usually in tokens.
    price_per_million : float, optional
        USD for a million of that unit.

    Returns
    -------
    ProjectedSpend
        The sum of the runs still to make times the mean cost of a repetition.

    Raises
    ------
    ValueError
        When the two differ in length, or a cost or the price is negative or missing.

    Examples
    --------
    >>> states = [PlanState("continue", 4, 12, 8, (0,)), PlanState("clear", 4, 12, 0, ())]
    >>> projected_spend(states, [250_000, 90_000], price_per_million=3)
    ProjectedSpend(amount=2000000.0, usd=6.0, runs=8)
    """
    costs = check.costs("repetition_costs", check.sample("repetition_costs", repetition_costs))
    if len(states) != len(costs):
        raise ValueError(f"states ({len(states)} cells) and repetition_costs ({len(costs)}) must be as long.")
    more = np.array([state.more for state in states], dtype=np.int64)
    amount = float(more @ costs)
    usd = nan
    if price_per_million is not None:
        usd = amount * check.at_least("price_per_million", price_per_million, 0) / 1e6
    return ProjectedSpend(amount, usd, int(more.sum()))
