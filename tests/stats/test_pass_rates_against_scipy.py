"""Pass rates of one and two arms against scipy.stats and statsmodels, on grids."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize
from scipy import stats as oracle
from statsmodels.stats.contingency_tables import mcnemar as oracle_mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

import tiltyard_stats as stats

TABLES = [
    (old, old_n, new, new_n)
    for old_n, new_n in [(1, 1), (2, 5), (4, 4), (7, 3)]
    for old, new in product(range(old_n + 1), range(new_n + 1))
]


def _counts(most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All counts of all sizes up to `most`."""
    n = np.repeat(np.arange(1, most + 1), np.arange(2, most + 2))
    return np.concatenate([np.arange(size + 1) for size in range(1, most + 1)]), n


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_clopper_pearson(confidence: float) -> None:
    """All counts up to 30 runs, at once."""
    k, n = _counts(30)
    result = stats.clopper_pearson(k, n, confidence=confidence)
    low, high = proportion_confint(k, n, alpha=1 - confidence, method="beta")

    np.testing.assert_allclose(result.low, low, atol=1e-12)
    np.testing.assert_allclose(result.high, high, atol=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_jeffreys(confidence: float) -> None:
    """Beta quantiles with the ends held at 0 and 1."""
    k, n = _counts(30)
    result = stats.jeffreys(k, n, confidence=confidence)
    low, high = proportion_confint(k, n, alpha=1 - confidence, method="jeffreys")

    np.testing.assert_allclose(result.low, np.where(k == 0, 0, low), atol=1e-12)
    np.testing.assert_allclose(result.high, np.where(k == n, 1, high), atol=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 8), (3, 8), (8, 8), (17, 40), (499, 500)])
def test_mid_p(k: int, n: int) -> None:
    """The bounds against a root finder on the binomial law."""

    def upper_tail(p: float) -> float:
        return float(oracle.binom.sf(k, n, p) + oracle.binom.pmf(k, n, p) / 2)

    result = stats.mid_p(k, n, confidence=0.9)
    low = 0.0 if k == 0 else optimize.brentq(lambda p: upper_tail(p) - 0.05, 0, 1, xtol=1e-14)
    high = 1.0 if k == n else optimize.brentq(lambda p: upper_tail(p) - 0.95, 0, 1, xtol=1e-14)

    assert (result.low, result.high) == pytest.approx((low, high), abs=1e-12)


def test_columns_are_single_intervals() -> None:
    """Each kind gives for an array what it gives for its elements."""
    k, n = _counts(4)
    for kind in (stats.wilson, stats.clopper_pearson, stats.mid_p, stats.jeffreys):
        rows, single = kind(k, n), [kind(int(c), int(m)) for c, m in zip(k, n, strict=True)]
        np.testing.assert_allclose(rows.low, [one.low for one in single], rtol=1e-12)
        np.testing.assert_allclose(rows.high, [one.high for one in single], rtol=1e-12)
        assert (rows[3].n, rows[3].method) == (single[3].n, single[3].method)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_newcombe(confidence: float) -> None:
    """Every small table."""
    for a, n_a, b, n_b in TABLES:
        result = stats.newcombe_diff(a, n_a, b, n_b, confidence=confidence)
        expected = confint_proportions_2indep(a, n_a, b, n_b, method="newcomb", alpha=1 - confidence)
        assert (result.low, result.high) == pytest.approx(expected, abs=1e-12)


def test_fisher_and_its_mid_p() -> None:
    """Every small table: the tail, and the tail less half of the outcome's own probability."""
    for old, old_n, new, new_n in TABLES:
        law = oracle.hypergeom(old_n + new_n, old + new, new_n)
        exact = stats.fisher_drop(old, old_n, new, new_n)
        mid = stats.fisher_drop(old, old_n, new, new_n, method="fisher-mid-p")
        assert exact.pvalue == pytest.approx(law.cdf(new), abs=1e-12)
        assert mid.pvalue == pytest.approx(law.cdf(new) - law.pmf(new) / 2, abs=1e-12)


@pytest.mark.parametrize("table", [*TABLES[::3], (9, 12, 4, 11), (20, 20, 15, 20), (3, 30, 1, 40)])
def test_boschloo(table: tuple[int, int, int, int]) -> None:
    """scipy searches the common rate too; neither may find a larger probability than the other."""
    old, old_n, new, new_n = table
    columns = [[new, old], [new_n - new, old_n - old]]
    expected = oracle.boschloo_exact(columns, alternative="less", n=64).pvalue
    result = stats.boschloo_drop(*table)

    if np.isfinite(expected):  # scipy gives NaN when all or none passed
        assert result.pvalue == pytest.approx(expected, abs=1e-6)
    assert result.pvalue <= stats.fisher_drop(*table).pvalue


def test_boschloo_is_exact() -> None:
    """By enumeration: at no common rate are p values below .1 more frequent than 10%."""
    n = 6
    pvalues = np.array([[stats.boschloo_drop(a, n, b, n).pvalue for b in range(n + 1)] for a in range(n + 1)])
    for rate in np.linspace(0.01, 0.99, 99):
        law = oracle.binom.pmf(np.arange(n + 1), n, rate)
        assert law @ (pvalues <= 0.1) @ law <= 0.1 + 1e-9


def test_pooled_z() -> None:
    """Every table in which some passed and some failed."""
    for a, n_a, b, n_b in TABLES:
        result = stats.two_proportion_z(a, n_a, b, n_b)
        if a + b in {0, n_a + n_b}:
            assert (result.statistic, result.pvalue) == (0.0, 1.0)
            assert "degenerate" in result.warnings
        else:
            expected = proportions_ztest([a, b], [n_a, n_b])
            assert (result.statistic, result.pvalue) == pytest.approx(expected)


def test_mcnemar() -> None:
    """All discordant counts up to 12 on a side; mid-p against its closed form."""
    for a, b in product(range(13), repeat=2):
        fewer, n = min(a, b), a + b
        exact = oracle_mcnemar([[0, a], [b, 0]], exact=True).pvalue if n else 1.0
        mid = 2 * (oracle.binom.cdf(fewer, n, 0.5) - oracle.binom.pmf(fewer, n, 0.5) / 2)
        assert stats.mcnemar(a, b).pvalue == pytest.approx(exact, abs=1e-12)
        assert stats.mcnemar(a, b, method="mcnemar-mid-p").pvalue == pytest.approx(min(1, mid), abs=1e-12)


@pytest.mark.parametrize("counts", [(7, 6, 87), (3, 0, 2), (0, 1, 9), (1, 1, 0), (40, 12, 60)])
def test_paired_difference(counts: tuple[int, int, int]) -> None:
    """The counts stand for a list of +1, -1 and 0."""
    plus, minus, zero = counts
    test = oracle.ttest_1samp([1] * plus + [-1] * minus + [0] * zero, 0)
    interval = test.confidence_interval(0.9)
    result = stats.paired_diff_t(plus, minus, zero, confidence=0.9, bounds=(-9, 9))

    assert (result.low, result.high) == pytest.approx((interval.low, interval.high))
    assert result.df == test.df


def test_pass_at_k_and_pass_hat_k() -> None:
    """All counts up to 12 runs: none, or all, of k drawn without replacement."""
    for n in range(1, 13):
        c = np.arange(n + 1)
        for k in range(1, n + 1):
            none, every = oracle.hypergeom.pmf(0, n, c, k), oracle.hypergeom.pmf(k, n, c, k)
            np.testing.assert_allclose(stats.pass_at_k_by_case(c, n, k), 1 - none, atol=1e-12)
            np.testing.assert_allclose(stats.pass_hat_k_by_case(c, n, k), every, atol=1e-12)


def test_pass_at_k_of_many_runs_does_not_overflow() -> None:
    """10,000 runs, where the binomial coefficients leave the range of floats."""
    expected = 1 - oracle.hypergeom.pmf(0, 10_000, 30, 100)

    assert stats.pass_at_k_by_case(30, 10_000, 100) == pytest.approx(expected)
