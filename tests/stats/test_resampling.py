"""Bootstrap weights and means: exact against enumeration, drawn against scipy, never more than a block."""

import tracemalloc
from itertools import product
from math import comb, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

import tiltyard_stats as stats
from tiltyard_stats._quantiles import quantiles

values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=6)


@pytest.mark.parametrize(("n", "draws"), [(1, 1), (2, 2), (4, 4), (4, 3), (6, 6), (3, 5)])
def test_all_resamples_are_listed(n: int, draws: int) -> None:
    """As many as multisets, standing for n^draws orderings, with the mean and variance of sampling."""
    every = stats.exact_bootstrap(n, draws=draws)
    data = np.arange(1, n + 1) ** 2.0
    means = every.weights @ data
    share = every.counts / every.counts.sum()

    assert len(every.weights) == comb(n + draws - 1, draws)
    assert len(np.unique(every.weights, axis=0)) == len(every.weights)
    assert every.counts.sum() == n**draws
    assert share @ means == pytest.approx(data.mean())
    assert share @ (means - data.mean()) ** 2 == pytest.approx(data.var() / draws)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_one_draw_less_gives_the_unbiased_variance(n: int) -> None:
    """Rao and Wu: s²/n, of which n draws give (n - 1)/n."""
    data = np.random.default_rng(n).normal(size=n)
    every = stats.exact_bootstrap(n, draws=n - 1)
    spread = every.counts / every.counts.sum() @ (every.weights @ data - data.mean()) ** 2

    assert spread == pytest.approx(data.var(ddof=1) / n)


def test_drawn_weights() -> None:
    """Shares of n draws, each observation as likely as any other, the same for the same seed."""
    weights = stats.bootstrap_weights(5, 20_000)

    assert (weights * 5 == np.round(weights * 5)).all()
    assert weights.sum(axis=1) == pytest.approx(1)
    assert weights.mean(axis=0) == pytest.approx(0.2, abs=0.005)
    assert weights.var(axis=0) == pytest.approx(0.2 * 0.8 / 5, rel=0.05)
    assert (weights == stats.bootstrap_weights(5, 20_000, rng=0)).all()
    assert (weights != stats.bootstrap_weights(5, 20_000, rng=1)).any()


@pytest.mark.parametrize("confidence", [0.95, 0.8, 0.5])
def test_exact_mean_against_full_enumeration(confidence: float) -> None:
    """All 5^5 resamples, with numpy's percentile."""
    data = [3.0, 1.0, 4.0, 1.5, 9.0]
    tail = 50 * (1 - confidence)
    expected = np.percentile([np.mean(draw) for draw in product(data, repeat=5)], [tail, 100 - tail])
    result = stats.bootstrap_mean(data, method="percentile", confidence=confidence)

    assert (result.low, result.high) == pytest.approx(tuple(expected))


def test_drawn_means_against_scipy() -> None:
    """Each cell agrees with scipy.stats.bootstrap within Monte Carlo error."""
    data = np.random.default_rng(2).lognormal(0, 0.5, (4, 20))
    reference = oracle.bootstrap(
        (data,), np.mean, axis=-1, method="percentile", n_resamples=20_000, rng=np.random.default_rng(3)
    ).confidence_interval
    result = stats.bootstrap_means(data, method="percentile", resamples=20_000)

    np.testing.assert_allclose(result.low, reference.low, rtol=0.02)
    np.testing.assert_allclose(result.high, reference.high, rtol=0.02)


@given(values)
@settings(max_examples=50)
def test_means_stay_among_the_data(data: list[float]) -> None:
    """No bound lies beyond the extremes; the order of the data does not matter; width is never zero."""
    result = stats.bootstrap_mean(data)
    back = stats.bootstrap_mean(data[::-1])

    assert result.high > result.low if result.known else result.warnings
    if result.known:
        slack = 1e-9 * (1 + max(map(abs, data)))
        assert min(data) - slack <= result.low <= result.high <= max(data) + slack
        assert (result.low, result.high) == pytest.approx((back.low, back.high), rel=1e-6, abs=1e-6)


@given(values, st.floats(0.05, 0.95))
def test_quantiles_are_those_of_numpy(data: list[float], level: float) -> None:
    """Drawn once each, or standing for several."""
    counts = np.arange(1.0, len(data) + 1)
    spread_out = np.repeat(data, counts.astype(int))

    plain = quantiles(np.array([data]), None, [level])
    weighted = quantiles(np.array([data]), counts, [level])
    assert plain[0, 0] == pytest.approx(np.quantile(data, level), abs=1e-9)
    assert weighted[0, 0] == pytest.approx(np.quantile(spread_out, level), abs=1e-9)


@pytest.mark.parametrize(
    "levels", [(0.025, 0.975), (0.05,), (0.99,), (0.0001, 0.9999), (0.4, 0.6), (0.0, 1.0)]
)
@pytest.mark.parametrize("states", [100, 1_000, 9_999])
def test_quantiles_of_many_draws_are_exact(states: int, levels: tuple[float, ...]) -> None:
    """Sorting only the ends changes no digit: also among ties, in sorted rows, and among infinite values."""
    rng = np.random.default_rng(states)
    for data in (
        rng.normal(size=(5, states)),
        rng.integers(0, 3, (5, states)).astype(float),
        np.sort(rng.normal(size=(5, states))),
        -np.sort(rng.normal(size=(5, states))),
        np.ones((2, states)),
        np.where(rng.random((4, states)) < 0.3, np.inf, 1.0),
    ):
        with np.errstate(invalid="ignore"):  # numpy's interpolation between two infinities is NaN
            expected = np.nan_to_num(np.quantile(data, levels, axis=-1), nan=np.inf, posinf=np.inf)

        np.testing.assert_allclose(quantiles(data.copy(), None, levels), expected, rtol=1e-12)


def test_no_bounds_from_a_lack_of_data() -> None:
    """One observation, or equal ones."""
    for data, code in (([5.0], "n<2"), ([0.1] * 3, "zero-variance")):
        result = stats.bootstrap_mean(data)
        assert result.estimate == pytest.approx(data[0])
        assert isnan(result.low)
        assert isnan(result.high)
        assert result.warnings == (code,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.bootstrap_mean([]), "values (shape (0,)) must hold at least one observation"),
        (lambda: stats.bootstrap_mean([1, 2], method="bca"), "method ('bca') must be one of 'expanded'"),
        (lambda: stats.bootstrap_weights(0), "n (0) must be a whole number of at least 1"),
        (lambda: stats.bootstrap_weights(3, 0), "resamples (0) must be a whole number of at least 1"),
        (lambda: stats.exact_bootstrap(13), "n (13) must be small enough for 2000000 distinct resamples"),
        (lambda: stats.exact_bootstrap(2, draws=0), "draws (0) must be a whole number of at least 1"),
    ],
)
def test_errors_name_argument_value_and_rule(call: "object", message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)


@pytest.mark.slow
def test_memory_goes_by_block() -> None:
    """300 cells of 20 runs with 10,000 resamples would be 480 MB at once; a block of 16 cells is 1.3 MB."""
    arm = np.random.default_rng(4).lognormal(0, 0.5, (300, 20))
    tracemalloc.start()
    stats.bootstrap_means(arm)
    stats.cost_ratios(arm, arm, method="percentile")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 25e6
