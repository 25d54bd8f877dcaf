"""Equivalence, margins and multiplicity against statsmodels and theory."""

from itertools import product
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

import tiltyard_stats as stats

CASES = list(product((3, 8, 25), (-0.5, 0.0, 0.3), ((-1.0, 1.0), (-0.2, 0.6))))
values = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=2, max_size=9)
shares = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(("n", "shift", "limits"), CASES)
def test_tost_paired_against_statsmodels(n: int, shift: float, limits: tuple[float, float]) -> None:
    """Both one-sided p values and the larger of them."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(shift, 1, n), rng.normal(0, 0.5, n)
    pvalue, lower, upper = ttost_paired(a, b, *limits)
    result = stats.tost_paired(a, b, *limits)

    assert (result.pvalue, result.p_lower, result.p_upper) == pytest.approx((pvalue, lower[1], upper[1]))


@pytest.mark.parametrize(("n", "shift", "limits"), CASES)
def test_tost_welch_against_statsmodels(n: int, shift: float, limits: tuple[float, float]) -> None:
    """Unequal sizes and variances."""
    rng = np.random.default_rng(n + 1)
    a, b = rng.normal(shift, 1, n), rng.normal(0, 0.5, n + 2)
    pvalue, lower, upper = ttost_ind(a, b, *limits, usevar="unequal")
    result = stats.tost_welch(a, b, *limits)

    assert (result.pvalue, result.p_lower, result.p_upper) == pytest.approx((pvalue, lower[1], upper[1]))


@given(values, values)
def test_parity_is_an_interval_inside_the_limits(a: list[float], b: list[float]) -> None:
    """p < alpha exactly when the 1 - 2 alpha interval lies inside; swapping the arms mirrors it."""
    result, back = stats.tost_welch(a, b, -10, 10), stats.tost_welch(b, a, -10, 10)

    assert result.pvalue == pytest.approx(back.pvalue, nan_ok=True)
    if isnan(result.pvalue):
        assert result.claim == "blocked"
    elif abs(result.pvalue - 0.05) > 1e-9:
        assert (result.pvalue < 0.05) == (result.low > -10 and result.high < 10)


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0]), ([2, 2, 2], [2, 2, 2]), ([0.1] * 3, [0.2] * 3)])
def test_parity_is_blocked_without_variance(a: list[float], b: list[float]) -> None:
    """Identical pairs are no proof of parity."""
    for result in (stats.tost_paired(a, b, -1, 1), stats.tost_welch(a, b, -1, 1)):
        assert isnan(result.pvalue)
        assert result.claim == "blocked"
        assert result.warnings in {("zero-variance",), ("n<2",)}


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ((-0.03, 0.05), "parity"),
        ((-0.12, 0.05), "unproven"),
        ((0.11, 0.2), "different"),
        ((nan, nan), "unproven"),
    ],
)
def test_parity_of_an_interval(bounds: tuple[float, float], verdict: str) -> None:
    """What is not proven equal is not equal, and not different either."""
    interval = stats.Interval(0.0, *bounds, 0.9, "mover", 40, "these questions")

    assert stats.parity(interval, -0.1, 0.1).verdict == verdict


@pytest.mark.parametrize(("estimate", "error", "df"), [(0.03, 0.01, 50), (-0.2, 0.1, 3), (0.0, 0.5, 1.5)])
def test_t_interval_against_scipy(estimate: float, error: float, df: float) -> None:
    """Student's interval from its parts."""
    result = stats.t_interval(estimate, error, df, confidence=0.9)

    assert (result.low, result.high) == pytest.approx(oracle.t.interval(0.9, df, estimate, error))


def test_non_inferiority_without_bounds() -> None:
    """No variance: neither pass nor fail, however good the estimate."""
    result = stats.non_inferiority(stats.t_interval(0.5, 0.0, 9), 0.1)

    assert result.decision == "inconclusive"
    assert result.warnings == ("zero-variance", "unknown-bound")


@given(st.floats(-1, 1), st.floats(0.001, 1), st.floats(0, 0.5), st.floats(0.001, 0.5))
def test_a_wider_margin_never_turns_a_pass(estimate: float, error: float, margin: float, more: float) -> None:
    """fail, inconclusive, pass: a larger margin only moves on."""
    order = ["fail", "inconclusive", "pass"]
    difference = stats.t_interval(estimate, error, 20)
    narrow, wide = (stats.non_inferiority(difference, size).decision for size in (margin, margin + more))

    assert order.index(wide) >= order.index(narrow)


def test_the_difference_found_by_the_mde() -> None:
    """A t test finds a difference of that size with about the stated power."""
    n, sd = 40, 1.0
    error = sd * (2 / n) ** 0.5
    size = stats.mde(error, 2 * n - 2)
    power = 1 - oracle.nct.cdf(oracle.t.ppf(0.975, 2 * n - 2), 2 * n - 2, size / error)

    assert power == pytest.approx(0.8, abs=0.01)


@given(st.floats(-0.015, 0.5), st.floats(0.001, 0.5), st.integers(1, 50))
def test_runs_to_settle_settles(estimate: float, half: float, runs: int) -> None:
    """At that many runs the lower bound reaches the margin, with one run less it does not."""
    result = stats.runs_to_settle(estimate, half, 0.02, runs)

    assert result.runs is not None
    assert estimate - half * (runs / result.runs) ** 0.5 >= -0.02 - 1e-12
    if result.runs > runs:
        assert estimate - half * (runs / (result.runs - 1)) ** 0.5 < -0.02


@pytest.mark.parametrize(
    ("estimate", "half", "reason"), [(-0.02, 0.1, "beyond-margin"), (0.1, nan, "unknown-bound")]
)
def test_runs_that_settle_nothing(estimate: float, half: float, reason: str) -> None:
    """More runs do not help a bad estimate, and an unknown width plans nothing."""
    result = stats.runs_to_settle(estimate, half, 0.02, 4)

    assert (result.runs, result.reason) == (None, reason)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adjust", "method"),
    [(stats.bonferroni, "bonferroni"), (stats.benjamini_hochberg, "fdr_bh"), (stats.holm, "holm")],
)
def test_adjustments_against_statsmodels(adjust: object, method: str) -> None:
    """Several sizes, with ties."""
    for size in (1, 2, 7, 30):
        raw = np.random.default_rng(size).random(size).round(1)
        np.testing.assert_allclose(adjust(raw), multipletests(raw, method=method)[1], atol=1e-15)


@given(shares)
def test_the_order_of_the_adjustments(raw: list[float]) -> None:
    """raw <= Benjamini-Hochberg <= Holm <= Bonferroni <= 1."""
    steps = [np.asarray(raw), stats.benjamini_hochberg(raw), stats.holm(raw), stats.bonferroni(raw)]

    for smaller, larger in zip(steps, [*steps[1:], np.ones(len(raw))], strict=True):
        assert (smaller <= larger + 1e-12).all()


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=12))
def test_e_bh_is_bh_on_reciprocals(raw: list[float]) -> None:
    """With e = 1/p the discoveries are those of Benjamini-Hochberg."""
    adjusted = stats.benjamini_hochberg(raw)
    found = stats.e_bh([1 / p for p in raw])
    clear = np.abs(adjusted - 0.05) > 1e-9

    assert (found == (adjusted <= 0.05))[clear].all()


def test_e_bh_without_evidence() -> None:
    """No e values, or small ones, discover nothing; an infinite one does."""
    assert stats.e_bh([]).tolist() == []
    assert stats.e_bh([1.0, 0.0]).tolist() == [False, False]
    assert stats.e_bh([float("inf"), 0.0]).tolist() == [True, False]
