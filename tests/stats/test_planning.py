"""Planning: states of a comparison and their numbers, allocation of runs, repetitions against cases."""

from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats as oracle

import tiltyard_stats as stats


def ratio(low: float, high: float) -> stats.Interval:
    """A relative cost with its bounds."""
    return stats.Interval((low + high) / 2, low, high, 0.95, "log-t", 16, "these questions")


CHEAPER, DEARER, WIDE, EVEN = ratio(0.5, 0.8), ratio(1.1, 1.6), ratio(0.7, 1.4), ratio(0.97, 1.04)
UNKNOWN = ratio(nan, nan)


@pytest.mark.parametrize(
    ("ratios", "runs", "needed", "expected"),
    [
        ([CHEAPER], 4, 30, ("clear", 0, (), ())),
        ([CHEAPER, DEARER], 9, 30, ("clear", 0, (), ())),
        ([CHEAPER], 3, 30, ("continue", 1, (0,), ("few-runs",))),
        ([CHEAPER], 0, None, ("continue", 4, (0,), ("few-runs",))),
        ([WIDE], 2, 9, ("continue", 7, (0,), ("few-runs",))),
        ([WIDE], 3, 50, ("continue", 9, (0,), ("few-runs",))),
        ([WIDE], 4, 10, ("continue", 6, (0,), ())),
        ([CHEAPER, WIDE], 4, 12, ("continue", 8, (1,), ())),
        ([WIDE], 10, 9, ("continue", 1, (0,), ())),
        ([WIDE], 4, 13, ("futile", 0, (0,), ("over-cap",))),
        ([WIDE], 12, 12, ("futile", 0, (0,), ("cap-reached",))),
        ([CHEAPER], 12, 40, ("clear", 0, (), ())),
        ([EVEN], 8, 10, ("parity", 0, (), ())),
        ([EVEN, CHEAPER], 8, 10, ("parity", 0, (), ())),
        ([EVEN, WIDE], 8, 10, ("continue", 2, (1,), ())),
        ([UNKNOWN], 4, None, ("continue", 1, (0,), ("unknown-spread",))),
        ([UNKNOWN], 4, 2, ("continue", 1, (0,), ())),
    ],
)
def test_plan_state(
    ratios: list[stats.Interval], runs: int, needed: int | None, expected: tuple[object, ...]
) -> None:
    """Clear, parity, futile or continue, with a cap of 12 and a tolerance of 10%."""
    state = stats.plan_state(ratios, runs=runs, needed=needed, max_runs=12, tolerance=0.1)

    assert (state.state, state.more, state.open, state.warnings) == expected
    assert (state.runs, state.needed) == (runs, needed)


def test_plan_state_without_cap_and_tolerance() -> None:
    """Nothing is futile without a cap, and nothing is at parity without a tolerance."""
    assert stats.plan_state([WIDE], runs=4, needed=900).more == 896
    assert stats.plan_state([EVEN], runs=8, needed=10).state == "continue"
    assert stats.plan_state([WIDE], runs=3, needed=9, max_runs=3).state == "futile"


@given(
    st.lists(st.sampled_from([CHEAPER, DEARER, WIDE, EVEN, UNKNOWN]), min_size=1, max_size=4),
    st.integers(0, 20),
    st.integers(2, 40),
)
def test_only_open_cells_ask_for_runs(ratios: list[stats.Interval], runs: int, needed: int) -> None:
    """Runs are asked for exactly in the state `continue`; the order of the arms does not matter."""
    forth = stats.plan_state(ratios, runs=runs, needed=needed, max_runs=15, tolerance=0.1)
    back = stats.plan_state(ratios[::-1], runs=runs, needed=needed, max_runs=15, tolerance=0.1)

    assert (forth.more > 0) == (forth.state == "continue")
    assert bool(forth.open) == (forth.state in {"continue", "futile"})
    assert (forth.state, forth.more) == (back.state, back.more)
    assert runs + forth.more <= max(15, runs)


def test_projected_spend() -> None:
    """Runs still to make times the mean cost of a repetition, over the open cells."""
    states = [
        stats.plan_state([WIDE], runs=4, needed=10),
        stats.plan_state([CHEAPER], runs=8, needed=10),
        stats.plan_state([WIDE], runs=6, needed=8),
    ]
    spend = stats.projected_spend(states, [1e6, 9e9, 5e5], price_per_million=3)

    assert (spend.amount, spend.usd, spend.runs) == (7e6, 21.0, 8)
    assert isnan(stats.projected_spend(states, [1, 1, 1]).usd)


@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=2, max_size=6),
    st.lists(st.floats(0.1, 10), min_size=6, max_size=6),
)
def test_no_other_allocation_is_sharper(cells: list[tuple[float, float]], other: list[float]) -> None:
    """Neyman's allocation has the least variance among all that spend the budget."""
    sd, cost = (np.array(column) for column in zip(*cells, strict=True))
    plan = np.array(stats.neyman(sd, cost, 100.0).exact)
    rival = np.array(other[: len(cells)])
    rival *= 100.0 / (rival @ cost)

    assert plan @ cost == pytest.approx(100)
    assert (sd**2 / plan).sum() <= (sd**2 / rival).sum() * (1 + 1e-9)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 10)), min_size=1, max_size=6), st.floats(1, 2000))
@example([(5e-324, 1.25)], 3.0)
@example([(5e-324, 1.25), (1.0, 1.0)], 30.0)
def test_whole_runs_keep_the_budget(cells: list[tuple[float, float]], budget: float) -> None:
    """Every cell keeps two runs; what is over goes on as long as one more run fits."""
    sd, cost = zip(*cells, strict=True)
    plan = stats.neyman(sd, cost, budget)

    assert min(plan.runs) >= 2
    assert plan.cost == pytest.approx(np.dot(plan.runs, cost))
    if "over-budget" in plan.warnings:
        assert set(plan.runs) == {2}
        assert plan.cost > budget
    else:
        assert plan.cost <= budget * (1 + 1e-9)
        spread = [price for deviation, price in cells if deviation > 1e-12 * max(sd)] or list(cost)
        assert budget - plan.cost < min(spread) * (1 + 1e-9) + 1e-6 * budget


def test_neyman_saves_runs() -> None:
    """The variance is (sum s)² / (n sum s²) of that of an equal allocation over n cells."""
    sd = np.random.default_rng(1).lognormal(0, 1, 20)
    ours = np.array(stats.neyman(sd, np.ones(20), 400).exact)
    share = (sd**2 / ours).sum() / (sd**2 / 20).sum()

    assert share == pytest.approx(sd.sum() ** 2 / (20 * (sd**2).sum()))
    assert share < 0.85


def test_neyman_without_any_spread() -> None:
    """A pilot in which nothing varied tells no cell from another."""
    plan = stats.neyman([0, 0], [1, 4], 20)

    assert plan.exact == pytest.approx((4, 4))
    assert plan.warnings == ("zero-variance",)


def test_reps_against_cases() -> None:
    """At an ICC of .5 more cases help and more runs hardly do; for these cases only attempts count."""
    like = [stats.design_variance(1, 1, cases=1, reps=reps) for reps in (1, 5, 10)]
    these = [stats.design_variance(1, 1, cases=1, reps=reps, claim="these cases") for reps in (1, 5)]

    assert [round(like[0] / variance, 2) for variance in like] == [1.0, 1.67, 1.82]
    assert these == [1, 0.2]


def test_best_reps_are_best() -> None:
    """No other number of repetitions is sharper for the same spend."""
    within, between, case_cost, run_cost = 0.2, 0.05, 9.0, 1.0

    def variance(reps: int) -> float:
        return (between + within / reps) * (case_cost + reps * run_cost)

    best = stats.best_reps(within, between, case_cost=case_cost, run_cost=run_cost)

    assert best.reps == min(range(1, 40), key=variance)
    assert stats.best_reps(0.2, 0.05, case_cost=0, run_cost=1).reps == 2
    assert stats.best_reps(0.2, 0, case_cost=1, run_cost=1) == stats.BestReps(None, inf, ("zero-variance",))


@pytest.mark.parametrize("df", [3, 6, 20])
def test_pilot_factor(df: int) -> None:
    """With it, four pilots in five plan with at least the true spread."""
    rng = np.random.default_rng(df)
    drawn = np.sqrt(rng.chisquare(df, 20_000) / df)

    assert stats.pilot_factor(df) == pytest.approx(np.sqrt(df / oracle.chi2.ppf(0.2, df)))
    assert (drawn * stats.pilot_factor(df) >= 1).mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.plan_state([], runs=4, needed=9), "ratios (none) must hold at least one arm"),
        (
            lambda: stats.plan_state([WIDE], runs=-1, needed=9),
            "runs (-1) must be a whole number of at least 0",
        ),
        (
            lambda: stats.plan_state([WIDE], runs=4, needed=0),
            "needed (0) must be a whole number of at least 1",
        ),
        (
            lambda: stats.plan_state([WIDE], runs=4, needed=9, tolerance=10),
            "tolerance (10) must be strictly between 0 and 1",
        ),
        (
            lambda: stats.projected_spend([], [1.0]),
            "states (0 cells) and repetition_costs (1) must be as long",
        ),
        (lambda: stats.neyman([1, -1], [1, 1], 9), "sd (-1.0) must be a finite number of at least 0"),
        (lambda: stats.neyman([1, 1], [1], 9), "sd (2 items) and cost (1) must be as long"),
        (lambda: stats.neyman([1, 1], [1, 0], 9), "cost (0.0) must be a finite number above 0"),
        (lambda: stats.neyman([1, 1], [1, 1], 0), "budget (0) must be a finite number above 0"),
        (
            lambda: stats.best_reps(1, 1, case_cost=1, run_cost=0),
            "run_cost (0) must be a finite number above 0",
        ),
        (lambda: stats.design_variance(-1, 1, cases=2, reps=2), "within (-1) must be a finite number"),
        (lambda: stats.design_variance(1, 1, cases=0, reps=2), "cases (0) must be a whole number"),
    ],
)
def test_errors_name_argument_value_and_rule(call: "object", message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)
