"""What a gate would say about drops that are put in on purpose, simulated from the baseline's own cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, IntArray
from tiltyard_stats._special import normal_quantile

Rule = Literal["no_significant_drop", "no_regression"]

AIM = 0.90
"""A gate should pass no change, and fail a drop of `AIM_DROP`, at least this often."""
AIM_DROP = 0.08
_BLOCK = 1_000_000


@dataclass(frozen=True, slots=True)
class GateRule:
    """The rule that is simulated."""

    name: Rule = "no_significant_drop"
    margin: float = 0.0
    """How much worse is still accepted by `no_regression`, at least 0."""
    alpha: float = 0.05
    """One-sided level."""
    correction: bool = True
    """Whether the variance of a drop has its small-sample factor N/(N-1); without it, 7% of unchanged
    candidates fail at a nominal 5%."""


DROP_GATE = GateRule()


@dataclass(frozen=True, slots=True)
class SizeRow:
    """How often a gate says what, for one true drop."""

    drop: float
    """True drop of the mean pass rate."""
    passed: float
    failed: float
    inconclusive: float


@dataclass(frozen=True, slots=True)
class GateSize:
    """A gate's verdicts over true drops."""

    rows: tuple[SizeRow, ...]
    rule: GateRule
    cases: int
    runs: int
    """Runs of the candidate."""
    simulations: int
    meets_aim: bool | None
    """No change passes and a drop of 8 points fails, both at least 9 times in 10; None when not simulated."""


def gate_size(
    passes: ArrayLike,
    baseline_runs: ArrayLike,
    *,
    runs: int,
    rule: GateRule = DROP_GATE,
    drops: Sequence[float] = (0.0, 0.02, 0.04, 0.08, 0.12),
    simulations: int = 2_000,
    rng: np.random.Generator | None = None,
) -> GateSize:
    """Simulate a gate on the baseline's own cases.

    Parameters
    ----------
    passes, baseline_runs : array of int, shape (cases,); one number of runs may serve for all
        Passes and runs of each case of the baseline, at least 1 run.
    runs : int
        Runs of the candidate, at least 1; `no_regression` needs 2 on both sides.
    rule : GateRule
        The gate.
    drops : sequence of float
        True drops of the mean pass rate, in [0, 1), at most the mean itself.
    simulations : int
        Per drop.
    rng : Generator, optional
        Source of randomness; seeded with 0 by default, so that a report repeats.

    Returns
    -------
    GateSize
        One row per drop.

    Raises
    ------
    ValueError
        When there is no case, a count or a drop is out of its range, or runs are too few for the rule.

    Notes
    -----
    Each simulation draws the true rate of case i from Beta(c_i + 1/2, r_i - c_i + 1/2), multiplies it by
    1 - drop/mean for the candidate, and draws both arms. `no_significant_drop` compares the difference with
    its pooled variance sum m (N-m) / (r_a r_b (N-1)) / cases², the normal limit of the exact stratified test
    [1]_; `no_regression` takes the unpooled one.

    References
    ----------
    .. [1] Mantel, N. and Haenszel, W. (1959). Statistical aspects of the analysis of data from retrospective
           studies of disease. JNCI 22.

    Examples
    --------
    >>> size = gate_size([4, 3, 2, 4, 1] * 20, 4, runs=2, drops=(0.0, 0.08, 0.16), simulations=500)
    >>> [round(row.failed, 1) for row in size.rows]
    [0.1, 0.7, 1.0]
    """
    counts, totals = check.cases("passes", passes, "baseline_runs", baseline_runs)
    _check(rule, runs, int(totals.min()))
    check.whole("simulations", simulations, 1)
    generator = np.random.default_rng(0) if rng is None else rng
    plan = _Plan(counts, totals, runs, rule, normal_quantile(1 - rule.alpha))
    rows = tuple(_row(plan, _drop(drop), simulations, generator) for drop in drops)
    return GateSize(rows, rule, len(counts), runs, simulations, _aim(rows))


def _check(rule: GateRule, runs: int, baseline_runs: int) -> None:
    check.choice("rule.name", rule.name, ("no_significant_drop", "no_regression"))
    check.at_least("rule.margin", rule.margin, 0)
    check.proportion("rule.alpha", rule.alpha)
    least = 1 if rule.name == "no_significant_drop" else 2
    check.whole("runs", runs, least)
    check.whole("the least of baseline_runs", baseline_runs, least)


@dataclass(frozen=True, slots=True)
class _Plan:
    passes: IntArray
    baseline_runs: IntArray
    runs: int
    rule: GateRule
    z: float


def _drop(value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"drops holds {value!r}; a drop lies in [0, 1).")
    return value


def _row(plan: _Plan, drop: float, simulations: int, rng: np.random.Generator) -> SizeRow:
    block = max(1, _BLOCK // len(plan.passes))
    verdicts = np.zeros(2)
    for start in range(0, simulations, block):
        verdicts += _simulate(plan, drop, min(block, simulations - start), rng)
    passed, failed, open_ = (np.append(verdicts, simulations - verdicts.sum()) / simulations).tolist()
    return SizeRow(drop, passed, failed, open_)


def _simulate(plan: _Plan, drop: float, size: int, rng: np.random.Generator) -> FloatArray:
    """How many of `size` simulated gates pass, and fail."""
    shape = size, len(plan.passes)
    rates = rng.beta(plan.passes + 0.5, plan.baseline_runs - plan.passes + 0.5, shape)
    mean = rates.mean(axis=1, keepdims=True)
    candidate = rng.binomial(plan.runs, rates * np.maximum(0, 1 - drop / mean))
    baseline = rng.binomial(plan.baseline_runs, rates)
    difference = (candidate / plan.runs - baseline / plan.baseline_runs).mean(axis=1)
    if plan.rule.name == "no_significant_drop":
        failed = difference < -plan.z * np.sqrt(_pooled(plan, candidate + baseline))
        return np.array([size - failed.sum(), failed.sum()], dtype=np.float64)
    error = np.sqrt(_own(candidate, plan.runs) + _own(baseline, plan.baseline_runs))
    # Without any variance there is no bound, and such a gate does not pass.
    half = plan.z * np.where(error > 0, error, np.nan)
    low, high = difference - half, difference + half
    return np.array([(low >= -plan.rule.margin).sum(), (high < -plan.rule.margin).sum()], dtype=np.float64)


def _pooled(plan: _Plan, passes: IntArray) -> FloatArray:
    total = plan.runs + plan.baseline_runs
    divisor = total - 1 if plan.rule.correction else total
    variance = passes * (total - passes) / (plan.runs * plan.baseline_runs * divisor)
    return np.asarray(variance.sum(axis=1) / passes.shape[1] ** 2, dtype=np.float64)


def _own(passes: IntArray, runs: int | IntArray) -> FloatArray:
    rate = passes / runs
    return np.asarray((rate * (1 - rate) / (runs - 1)).sum(axis=1) / passes.shape[1] ** 2, dtype=np.float64)


def _aim(rows: Sequence[SizeRow]) -> bool | None:
    at = {row.drop: row for row in rows}
    if 0.0 not in at or AIM_DROP not in at:
        return None
    return at[0.0].passed >= AIM and at[AIM_DROP].failed >= AIM


def visible_drop(
    cases: int, runs: int, *, baseline_runs: int | None = None, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The drop that a small gate can see at worst: what to print beside it.

    Parameters
    ----------
    cases, runs : int
        Cases and runs of the candidate, at least 1.
    baseline_runs : int, optional
        Runs of the baseline; as many by default.
    alpha : float
        One-sided level.
    power : float
        Chance to fail on such a drop.

    Returns
    -------
    float
        (z_{1-alpha} + z_power) sqrt(1/4 (1/(cases runs) + 1/(cases baseline_runs))), at most 1: the worst
        case, in which each case passes half the time.

    Raises
    ------
    ValueError
        When a count is below 1 or a probability is outside (0, 1).

    Examples
    --------
    >>> round(visible_drop(20, 1), 3)
    0.393
    """
    ours = check.whole("cases", cases, 1) * check.whole("runs", runs, 1)
    theirs = cases * (runs if baseline_runs is None else check.whole("baseline_runs", baseline_runs, 1))
    z = normal_quantile(1 - check.proportion("alpha", alpha)) + normal_quantile(
        check.proportion("power", power)
    )
    return min(1.0, z * sqrt(0.25 / ours + 0.25 / theirs))
