"""Methods of relative cost against scipy, against full enumeration, and against each other."""

from itertools import product
from math import exp, inf, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

import tiltyard_stats as stats

METHODS = ("log-t", "geometric", "fieller", "percentile", "expanded", "source-report", "source-compare")
costs = st.lists(st.floats(1.0, 1e4), min_size=2, max_size=4)
cells = st.lists(st.tuples(costs, costs), min_size=1, max_size=4)


def sides(seed: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Lognormal costs of two arms."""
    rng = np.random.default_rng(seed)
    return rng.lognormal(1, 0.4, n), rng.lognormal(2, 0.7, m)


@pytest.mark.parametrize(("n", "m", "confidence"), [(3, 3, 0.95), (6, 9, 0.9), (20, 4, 0.99), (2, 50, 0.8)])
def test_geometric_is_welch_on_logs(n: int, m: int, confidence: float) -> None:
    """The interval of scipy's ttest_ind on logs, exponentiated."""
    arm, base = sides(n, n, m)
    welch = oracle.ttest_ind(np.log(arm), np.log(base), equal_var=False)
    interval = welch.confidence_interval(confidence)
    result = stats.cost_ratio(arm, base, method="geometric", confidence=confidence)

    assert (result.low, result.high) == pytest.approx((exp(interval.low), exp(interval.high)))
    assert result.estimate == pytest.approx(oracle.gmean(arm) / oracle.gmean(base))
    assert result.df == pytest.approx(welch.df)


@pytest.mark.parametrize(("n", "m", "confidence"), [(4, 4, 0.8), (8, 6, 0.95), (20, 30, 0.99)])
def test_fieller_bounds_are_where_the_t_statistic_is_critical(n: int, m: int, confidence: float) -> None:
    """At a bound r, arm - r baseline is t standard errors from 0."""
    arm, base = sides(n, n, m)
    result = stats.cost_ratio(arm, base, method="fieller", confidence=confidence)
    t = oracle.t.ppf(0.5 + confidence / 2, result.df)

    assert result.low < result.estimate < result.high
    for bound in (result.low, result.high):
        error = sqrt(arm.var(ddof=1) / n + bound**2 * base.var(ddof=1) / m)
        assert abs(arm.mean() - bound * base.mean()) == pytest.approx(t * error)


def test_fieller_says_when_there_is_no_upper_bound() -> None:
    """A baseline within noise of 0 leaves the ratio open above; no rule may take it as known."""
    open_above = stats.cost_ratio([50, 51, 52], [1, 90, 5], method="fieller")
    nothing_known = stats.cost_ratio([1, 90, 5], [1, 5, 90], method="fieller")

    for result in (open_above, nothing_known):
        assert result.high == inf
        assert result.warnings == ("unbounded",)
        assert not result.known
    assert open_above.low > 0
    assert nothing_known.low == 0


@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 5), (5, 2)])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_both_sides_against_full_enumeration(n: int, m: int, confidence: float) -> None:
    """All n^n m^m resamples, with numpy's percentile."""
    arm, base = sides(7, n, m)
    top = [np.mean(draw) for draw in product(arm, repeat=n)]
    bottom = [np.mean(draw) for draw in product(base, repeat=m)]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(np.divide.outer(top, bottom), [tail, 100 - tail])
    result = stats.cost_ratio(arm, base, method="percentile", confidence=confidence)

    assert (result.low, result.high) == pytest.approx((low, high))
    assert result.method == "percentile-exact"


def test_both_sides_against_scipy() -> None:
    """Drawn resamples agree with scipy.stats.bootstrap within Monte Carlo error."""
    arm, base = sides(8, 20, 25)
    reference = oracle.bootstrap(
        (arm, base),
        lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis),
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    result = stats.cost_ratio(arm, base, method="percentile", resamples=20_000)

    assert result.method == "percentile"
    assert (result.low, result.high) == pytest.approx((reference.low, reference.high), rel=0.02)


def test_expanded_cuts_further_out() -> None:
    """Hesterberg's levels: Phi(-sqrt(n/(n-1)) t), here by scipy, with the smaller n."""
    arm, base = sides(9, 5, 4)
    level = oracle.norm.cdf(-sqrt(4 / 3) * oracle.t.ppf(0.975, 3))
    result = stats.cost_ratio(arm, base, method="expanded")
    wide = stats.cost_ratio(arm, base, method="percentile", confidence=1 - 2 * level)

    assert (result.low, result.high) == (wide.low, wide.high)
    assert result.confidence == 0.95


def test_source_report_fixes_the_denominator() -> None:
    """It is the bootstrap of the arm's mean over the mean of the baseline, whose noise it ignores."""
    arm, base = sides(10, 4, 4)
    alone = stats.bootstrap_mean(arm, method="percentile", exact=False)
    result = stats.cost_ratio(arm, base, method="source-report")

    assert (result.low, result.high) == pytest.approx((alone.low / base.mean(), alone.high / base.mean()))
    assert result.method == "source-report"
    assert result.n == 8


def test_over_questions_is_t_over_log_ratios() -> None:
    """The only interval that counts how questions differ; it says so in its claim."""
    arm, base = [[10, 12], [40, 44], [7, 7]], [[20, 24], [50, 58], [9, 4]]
    logs = np.log([np.mean(x) / np.mean(y) for x, y in zip(arm, base, strict=True)])
    low, high = oracle.t.interval(0.95, 2, logs.mean(), oracle.sem(logs))
    result = stats.cost_ratio_stratified(arm, base, method="over-questions")

    assert (result.low, result.high) == pytest.approx((exp(low), exp(high)))
    assert result.claim == "questions like these"
    assert result.df == 2


def test_percentile_over_questions_has_the_unbiased_variance() -> None:
    """With n - 1 draws the spread of the resampled log ratio matches log-t, which n draws leave short."""
    rng = np.random.default_rng(11)
    arm, base = ([10 * rng.lognormal(0, 0.1, 3) for _ in range(8)] for _ in range(2))
    closed = stats.cost_ratio_stratified(arm, base)
    drawn = stats.cost_ratio_stratified(arm, base, method="percentile")
    half = np.log(drawn.high / drawn.low) / 2

    assert half == pytest.approx(1.96 * closed.standard_error, rel=0.05)


def test_percentile_over_questions_is_exact_when_small() -> None:
    """Two questions of two runs: 2^4 equally likely resamples of one draw a cell."""
    arm, base = [[10.0, 14.0], [40.0, 44.0]], [[20.0, 24.0], [70.0, 88.0]]
    logs = [np.log(a / b) / 2 + np.log(c / d) / 2 for a, b, c, d in product(arm[0], base[0], arm[1], base[1])]
    result = stats.cost_ratio_stratified(arm, base, method="percentile")

    assert np.log([result.low, result.high]) == pytest.approx(np.percentile(logs, [2.5, 97.5]))
    assert result.method == "percentile-stratified-exact"


def test_totals_weigh_dear_questions_most() -> None:
    """A bill adds up; a geometric mean of ratios does not."""
    arm, base = [[1.0, 1.2], [1000.0, 1100.0]], [[2.0, 2.4], [1000.0, 1100.0]]

    assert stats.cost_ratio_totals(arm, base).estimate == pytest.approx(1, abs=0.01)
    assert stats.cost_ratio_stratified(arm, base).estimate == pytest.approx(sqrt(0.5))
    one = [arm[1]], [base[1]]
    assert stats.cost_ratio_totals(*one).low == pytest.approx(stats.cost_ratio_stratified(*one).low)


def test_totals_by_the_delta_method() -> None:
    """The variance of a log total, written out."""
    rng = np.random.default_rng(12)
    arm, base = ([rng.lognormal(q, 0.5, 4 + q) for q in range(3)] for _ in range(2))
    variance = sum(
        sum(cell.var(ddof=1) / len(cell) for cell in side) / sum(cell.mean() for cell in side) ** 2
        for side in (arm, base)
    )

    assert stats.cost_ratio_totals(arm, base).standard_error == pytest.approx(sqrt(variance))


@given(cells)
@settings(max_examples=40)
def test_swapping_arms_inverts(pairs: list[tuple[list[float], list[float]]]) -> None:
    """Every ratio over questions, but for the source's, is symmetric in the choice of the baseline."""
    arm, base = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    for statistic in (
        stats.cost_ratio_totals,
        lambda x, y: stats.cost_ratio_stratified(x, y, method="over-questions"),
        lambda x, y: stats.cost_ratio(x[0], y[0], method="geometric"),
        lambda x, y: stats.cost_ratio(x[0], y[0], method="fieller"),
    ):
        forth, back = statistic(arm, base), statistic(base, arm)

        assert forth.estimate == pytest.approx(1 / back.estimate)
        if forth.known and back.known and forth.low > 0 and back.low > 0:
            assert np.log([forth.low, forth.high]) == pytest.approx(
                -np.log([back.high, back.low]), rel=1e-6, abs=1e-6
            )


@given(st.sampled_from(METHODS), costs, costs, st.floats(0.01, 100))
@settings(max_examples=60)
def test_the_unit_does_not_matter(method: str, arm: list[float], base: list[float], unit: float) -> None:
    """Tokens or thousands of tokens: ratio and bounds are the same; an interval is never of zero width."""
    plain = stats.cost_ratio(arm, base, method=method)
    scaled = stats.cost_ratio(np.array(arm) * unit, np.array(base) * unit, method=method)

    assert plain.estimate == pytest.approx(scaled.estimate)
    assert plain.high > plain.low if plain.known else plain.warnings
    if plain.known and scaled.known:
        assert (plain.low, plain.high) == pytest.approx((scaled.low, scaled.high), rel=1e-4)


@given(st.sampled_from(METHODS), costs, costs)
@settings(max_examples=60)
def test_more_confidence_is_never_narrower(method: str, arm: list[float], base: list[float]) -> None:
    """Bounds move outwards as the confidence grows."""
    few, many = (stats.cost_ratio(arm, base, method=method, confidence=c) for c in (0.8, 0.95))
    if few.known and many.known:
        assert many.low <= few.low * (1 + 1e-9)
        assert many.high >= few.high * (1 - 1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("arm", "base", "code"),
    [([1.0], [2.0, 3.0], "n<2"), ([2.0, 2.0], [3.0, 3.0], "zero-variance"), ([0.0, 0.0], [3.0, 4.0], "zero")],
)
def test_no_bounds_from_a_lack_of_data(method: str, arm: list[float], base: list[float], code: str) -> None:
    """The estimate stays, the bounds are NaN, the code says why; logs refuse a cost of 0."""
    if method == "geometric" and 0.0 in arm:
        with pytest.raises(ValueError, match=r"arm holds 0\.0; the geometric method takes logs"):
            stats.cost_ratio(arm, base, method=method)
        return
    result = stats.cost_ratio(arm, base, method=method)

    assert result.estimate == pytest.approx(np.mean(arm) / np.mean(base), rel=0.03)  # the geometric differs
    assert isnan(result.low)
    assert isnan(result.high)
    assert any(code in warning for warning in result.warnings)


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_single_results(method: str) -> None:
    """A column of results holds what single calls give, within the blocks of the resampling too."""
    rng = np.random.default_rng(13)
    arm, base = rng.lognormal(0, 0.5, (70, 9)), rng.lognormal(0, 0.5, (70, 7))
    rows = stats.cost_ratios(arm, base, method=method, resamples=500, exact=False)
    one = stats.cost_ratio(arm[69], base[69], method=method, resamples=500, exact=False)

    assert (rows[69].low, rows[69].high) == pytest.approx((one.low, one.high))
    assert rows[69].method == one.method


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.cost_ratio([1, nan], [1, 2]), "arm holds nan; leave missing values out"),
        (lambda: stats.cost_ratio([1, 2], [1, -2], method="fieller"), "baseline holds -2.0; a cost must be"),
        (lambda: stats.cost_ratio([], [1]), "arm (shape (0,)) must hold at least one observation"),
        (lambda: stats.cost_ratio([1], [1], method="bca"), "method ('bca') must be one of 'log-t'"),
        (
            lambda: stats.cost_ratio([1], [1], confidence=95),
            "confidence (95) must be strictly between 0 and 1",
        ),
        (
            lambda: stats.cost_ratio(range(1, 9), range(1, 9), method="percentile", exact=True),
            "exact (True) must not need more than 2000000 distinct resamples; sizes ([8, 8]) need 41409225",
        ),
        (lambda: stats.cost_ratio_totals([[1, 2]], [[0, 0]]), "baseline (mean 0.0) must have a mean above 0"),
        (
            lambda: stats.cost_ratio_stratified([[1]], [[1]], method="median"),
            "method ('median') must be one of 'log-t', 'over-questions'",
        ),
        (lambda: stats.cost_ratios([[1, 2]], [[1, 2], [3, 4]]), "arm (1 cells) and baseline (2 cells)"),
        (lambda: stats.cost_ratios([[[1, 2]]], [[1, 2]]), "arm (shape (1, 1, 2)) must have two axes"),
    ],
)
def test_errors_name_argument_value_and_rule(call: "object", message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("method", "arm", "code"),
    [
        ("over-questions", [[1, 2]], "n<2"),
        ("over-questions", [[1, 2], [1, 2]], "zero-variance"),
        ("over-questions", [[1, 2], [0, 0]], "zero-mean"),
        ("percentile", [[1, 2], [3]], "n<2"),
        ("percentile", [[1, 2], [0, 0]], "zero-mean"),
    ],
)
def test_no_bounds_over_questions(method: str, arm: list[list[float]], code: str) -> None:
    """One question, equal ratios, a lone run where runs are resampled: no bounds."""
    result = stats.cost_ratio_stratified(arm, [[1, 2]] * len(arm), method=method)

    assert isnan(result.low)
    assert isnan(result.high)
    assert result.warnings == (code,)


def test_totals_of_an_arm_that_costs_nothing() -> None:
    """Its ratio is 0, and no bound is known."""
    result = stats.cost_ratio_totals([[0, 0]], [[1, 2]])

    assert result.estimate == 0
    assert isnan(result.high)
    assert result.warnings == ("zero-mean",)
