"""Fixed, sampled and clustered cases against statsmodels, scipy.stats and plain enumeration."""

from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import optimize
from scipy import stats as oracle
from statsmodels.stats.contingency_tables import StratifiedTable, cochrans_q
from statsmodels.stats.contingency_tables import mcnemar as oracle_mcnemar

import tiltyard_stats as stats
import tiltyard_stats.stratified as stratified_module
from tiltyard_stats.fixed_cases import fixed_kernel

Array = NDArray[np.int64]


def _arms(seed: int, cases: int, ours: object, theirs: object) -> tuple[Array, Array, Array, Array]:
    """Two arms with rates of their own in each case."""
    rng = np.random.default_rng(seed)
    runs = [np.broadcast_to(np.asarray(r), (cases,)).astype(np.int64) for r in (ours, theirs)]
    rates = rng.beta(0.5, 0.5, cases)
    return rng.binomial(runs[0], rates), runs[0], rng.binomial(runs[1], rates**1.3), runs[1]


def _law_by_enumeration(arms: tuple[Array, Array, Array, Array]) -> tuple[float, float, float]:
    """P(difference at most, at least, equal to the observed), from every table of each case."""
    a, r_a, b, r_b = arms
    law = {0.0: 1.0}
    for passed, ours, other, theirs in zip(a, r_a, b, r_b, strict=True):
        marked = passed + other
        grown: dict[float, float] = {}
        for c in range(max(0, marked - theirs), min(ours, marked) + 1):
            chance = oracle.hypergeom.pmf(c, ours + theirs, marked, ours)
            for value, before in law.items():
                total = round(value + c / ours - (marked - c) / theirs, 9)
                grown[total] = grown.get(total, 0.0) + before * chance
        law = grown
    seen = float((a / r_a - b / r_b).sum())
    drop = sum(chance for value, chance in law.items() if value <= seen + 1e-6)
    rise = sum(chance for value, chance in law.items() if value >= seen - 1e-6)
    return drop, rise, drop + rise - 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(1, 1), (2, 4), (3, 3), ([1, 2, 3, 2, 1, 4, 2], 3), ([2, 3, 2, 3, 4, 4, 2], [4, 3] * 3 + [5])],
)
def test_stratified_test_by_enumeration(seed: int, ours: object, theirs: object) -> None:
    """Equal and unequal runs: the p values are sums over all tables with the same margins."""
    arms = _arms(seed, 7, ours, theirs)
    drop, rise, point = _law_by_enumeration(arms)
    result = stats.stratified_test(*arms)

    assert (result.p_drop, result.p_rise) == pytest.approx((drop, rise), abs=1e-9)
    if "degenerate" not in result.warnings:
        assert result.midp_drop == pytest.approx(drop - point / 2, abs=1e-9)
        assert result.midp_two_sided == pytest.approx(min(1, 2 * (min(drop, rise) - point / 2)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("ours", "theirs"), [(2, 4), (3, 3), (np.arange(1, 41) % 4 + 1, 3)])
def test_cmh(seed: int, ours: object, theirs: object) -> None:
    """The normal limit is Cochran, Mantel and Haenszel's test without correction."""
    a, r_a, b, r_b = _arms(seed, 40, ours, theirs)
    tables = [np.array([[x, m - x], [y, n - y]]) for x, m, y, n in zip(a, r_a, b, r_b, strict=True)]
    expected = StratifiedTable([table.astype(float) for table in tables]).test_null_odds(correction=False)
    result = stats.stratified_test(a, r_a, b, r_b)

    assert result.cmh_statistic == pytest.approx(expected.statistic)
    assert result.cmh_pvalue == pytest.approx(expected.pvalue)


def test_one_case_is_fisher_and_one_run_is_mcnemar() -> None:
    """Every table of one case up to 5 runs, and every discordant count up to 8."""
    for r_a, r_b in product(range(1, 6), repeat=2):
        for a, b in product(range(r_a + 1), range(r_b + 1)):
            test = stats.stratified_test([a], r_a, [b], r_b)
            assert test.p_drop == pytest.approx(stats.fisher_drop(b, r_b, a, r_a).pvalue, abs=1e-12)
    for only_a, only_b in product(range(9), repeat=2):
        ours, theirs = [1] * only_a + [0] * only_b + [1, 0], [0] * only_a + [1] * only_b + [1, 0]
        expected = oracle_mcnemar([[0, only_a], [only_b, 0]], exact=True).pvalue if only_a + only_b else 1.0
        assert stats.stratified_test(ours, 1, theirs, 1).pvalue == pytest.approx(expected, abs=1e-12)


def test_a_long_law_is_the_same_by_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Direct convolution and Fourier transform agree; so do exact and rounded weights, nearly."""
    arms = _arms(3, 200, np.arange(200) % 3 + 2, np.arange(200) % 4 + 3)
    monkeypatch.setattr(stratified_module, "_DIRECT_LIMIT", 10**9)
    direct = stats.stratified_test(*arms)
    monkeypatch.setattr(stratified_module, "_DIRECT_LIMIT", 0)
    transformed = stats.stratified_test(*arms)
    monkeypatch.setattr(stratified_module, "_LONGEST_LAW", 5_000)
    rounded = stats.stratified_test(*arms)

    assert transformed.p_drop == pytest.approx(direct.p_drop, abs=1e-12)
    assert rounded.warnings == ("rounded-weights",)
    assert rounded.p_drop == pytest.approx(direct.p_drop, abs=0.01)


def test_an_outcome_beyond_a_long_law() -> None:
    """Its far ends are cut off where nothing can be told from 0; there p is the least that can be told."""
    runs = np.arange(1_000) % 4 + 2, np.arange(1_000) % 3 + 3
    test = stats.stratified_test(np.zeros(1_000, dtype=int), runs[0], runs[1], runs[1])

    assert (test.p_drop, test.p_rise, test.midp_rise) == (1e-15, 1.0, 1.0)
    assert test.pvalue == 2e-15


def test_an_outcome_a_little_before_a_long_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome has no chance then; it is not what stands as far from the law's other end."""
    ours, theirs = np.tile([7, 9, 11, 13], 3), np.tile([17, 19, 23, 29], 3)
    none, all_pass = np.zeros(12, dtype=int), theirs
    monkeypatch.setattr(stratified_module, "_SPARSE", 0)
    drop = stats.stratified_test(none, ours, all_pass, theirs)
    rise = stats.stratified_test(ours, ours, none, theirs)

    assert (drop.midp_drop, drop.midp_rise, drop.midp_two_sided) == (1e-15, 1.0, 2e-15)
    assert (rise.midp_drop, rise.midp_rise, rise.midp_two_sided) == (1.0, 1e-15, 2e-15)


def test_few_values_with_a_chance_are_multiplied_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives what the transform gives, and small tails as well."""
    arms = _arms(5, 24, np.arange(24) % 5 + 7, np.arange(24) % 7 + 11)
    sparse = stats.stratified_test(*arms)
    monkeypatch.setattr(stratified_module, "_SPARSE", 0)
    transformed = stats.stratified_test(*arms)

    assert sparse.p_drop == pytest.approx(transformed.p_drop, abs=1e-12)
    assert sparse.midp_rise == pytest.approx(transformed.midp_rise, abs=1e-12)


def test_shock_is_cochrans_q() -> None:
    """Random tables of two to six runs."""
    rng = np.random.default_rng(5)
    for runs in range(2, 7):
        table = rng.random((runs, 30)) < rng.beta(0.4, 0.4, 30)
        expected = cochrans_q(table.T.astype(int))
        result = stats.shock_test(table)
        assert result.statistic == pytest.approx(expected.statistic)
        assert result.pvalue == pytest.approx(expected.pvalue)
        assert result.ratio * (runs - 1) == pytest.approx(result.statistic)


@pytest.mark.parametrize(("runs", "cases"), [(2, 8), (3, 5), (4, 4)])
def test_exact_shock_by_enumeration(runs: int, cases: int) -> None:
    """Every choice of the runs in which each case passed, equally probable."""
    rng = np.random.default_rng(runs)
    table = (rng.random((runs, cases)) < 0.5).astype(int)
    wins = table.sum(axis=0)
    choices = [
        [column for column in product((0, 1), repeat=runs) if sum(column) == passed] for passed in wins
    ]
    spreads = [np.var(np.sum(columns, axis=0)) for columns in product(*choices)]
    expected = np.mean(np.array(spreads) >= np.var(table.sum(axis=1)) - 1e-9)

    assert stats.shock_test_exact(table).pvalue == pytest.approx(expected)


def test_the_exact_shock_law_has_limits() -> None:
    """20 flaky cases of five runs are fast; a law that cannot be listed is refused with the way out."""
    rng = np.random.default_rng(1)

    assert 0 < stats.shock_test_exact(rng.integers(0, 2, (5, 20))).pvalue <= 1
    assert 0 < stats.shock_test_exact(rng.integers(0, 2, (2, 900))).pvalue <= 1
    with pytest.raises(ValueError, match="use shock_test there"):
        stats.shock_test_exact(rng.integers(0, 2, (10, 40)))


@pytest.mark.parametrize("seed", range(5))
def test_welch(seed: int) -> None:
    """Sides of different size and spread."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(5, 1, 2 + seed), rng.normal(4, 3, 7)
    expected = oracle.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.9)
    result = stats.welch(a, b, confidence=0.9)

    assert (result.statistic, result.pvalue, result.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.df)
    )
    assert (result.low, result.high) == pytest.approx((interval.low, interval.high))


def test_sampled_is_students_t() -> None:
    """One sample, and pairs."""
    rng = np.random.default_rng(2)
    a, b = rng.random(12), rng.random(12)
    one, two = oracle.ttest_1samp(a, 0).confidence_interval(), oracle.ttest_rel(a, b).confidence_interval()

    assert (stats.sampled(a).low, stats.sampled(a).high) == pytest.approx((one.low, one.high))
    assert (stats.sampled_diff(a, b).low, stats.sampled_diff(a, b).high) == pytest.approx((two.low, two.high))


@pytest.mark.parametrize("seed", range(5))
def test_clustered_is_cluster_robust_least_squares(seed: int) -> None:
    """Unequal groups, against the cluster-robust error of a regression on a constant."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 6, 40)
    values = rng.normal(0, 1, 40) + rng.normal(0, 1, 6)[groups]
    fit = sm.OLS(values, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    # statsmodels scales by (N-1)/(N-k) as well, which is 1 for a constant alone.
    result = stats.clustered(values, groups.tolist(), confidence=0.9)

    assert result.standard_error == pytest.approx(fit.bse[0])
    assert (result.low, result.high) == pytest.approx(tuple(fit.conf_int(0.1)[0]))


def _cr2_by_matrices(values: NDArray[np.float64], groups: Array) -> tuple[float, float]:
    """Bell and McCaffrey's definition for any regression, with the matrices written out."""
    n, design = len(values), np.ones((len(values), 1))
    bread = np.linalg.inv(design.T @ design)
    maker = np.eye(n) - design @ bread @ design.T
    residuals = maker @ values
    meat, columns = 0.0, []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        block = maker[np.ix_(rows, rows)]
        eigenvalues, vectors = np.linalg.eigh(block)
        adjust = vectors @ np.diag(1 / np.sqrt(eigenvalues)) @ vectors.T
        meat += float((bread @ design[rows].T @ adjust @ residuals[rows])[0] ** 2)
        columns.append(maker[:, rows] @ adjust @ design[rows] @ bread)
    spectrum = np.linalg.eigvalsh(np.hstack(columns).T @ np.hstack(columns))
    return float(np.sqrt(meat)), float(spectrum.sum() ** 2 / np.square(spectrum).sum())


@pytest.mark.parametrize("seed", range(5))
def test_cr2_by_its_definition(seed: int) -> None:
    """The short form for a mean against the general matrices, with unequal groups."""
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.choice(5, 24, p=[0.5, 0.2, 0.1, 0.1, 0.1]))
    values = rng.normal(0, 1, 24) + rng.normal(0, 1, 5)[groups]
    result = stats.clustered(values, groups.tolist(), method="cr2")

    assert (result.standard_error, result.df) == pytest.approx(_cr2_by_matrices(values, groups))


def test_cr2_of_equal_groups_is_cr1() -> None:
    """Groups of one size need no correction beyond G/(G-1)."""
    values, groups = np.random.default_rng(1).random(24), np.repeat(np.arange(6), 4).tolist()
    one, two = (stats.clustered(values, groups, method=method) for method in ("cr1", "cr2"))

    assert (one.standard_error, one.df) == pytest.approx((two.standard_error, two.df))


def test_groups_of_one_case_are_no_groups() -> None:
    """Then the interval is Student's t over cases."""
    values = np.random.default_rng(3).random(9)
    one, plain = stats.clustered(values, list(range(9))), stats.sampled(values)

    assert (one.low, one.high) == pytest.approx((plain.low, plain.high))


def test_components_are_one_way_anova() -> None:
    """F is MSB/MSW, and MSB = MSW + r times the variance between."""
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, (8, 5)) + rng.normal(0, 1, (8, 1))
    parts = stats.variance_components(scores)

    assert (parts.within + 5 * parts.between) / parts.within == pytest.approx(
        oracle.f_oneway(*scores).statistic
    )
    assert parts.icc == pytest.approx(parts.between / (parts.between + parts.within))


def test_components_are_unbiased() -> None:
    """Also with unequal runs: the mean over many data sets is what was put in."""
    rng = np.random.default_rng(6)
    runs = (2, 5, 3, 8, 2, 4)
    found = [
        stats.variance_components([rng.normal(rng.normal(0, 2), 1, r) for r in runs]) for _ in range(1_500)
    ]

    assert np.mean([parts.within for parts in found]) == pytest.approx(1, abs=0.05)
    assert np.mean([parts.between for parts in found]) == pytest.approx(4, abs=0.3)


def test_fixed_cases_variance_is_unbiased() -> None:
    """Over all outcomes of three cases with known rates, the mean of v is the true variance."""
    rates, runs = np.array([0.2, 0.5, 0.9]), np.array([2, 3, 2])
    expected = float((rates * (1 - rates) / runs).sum()) / 9
    mean = 0.0
    for passes in product(*(range(r + 1) for r in runs)):
        chance = float(np.prod(oracle.binom.pmf(passes, runs, rates)))
        mean += chance * stats.fixed_cases(passes, runs, method="source").variance

    assert mean == pytest.approx(expected)


def test_the_outer_bound_is_reached_and_never_passed() -> None:
    """With unequal runs: random rates of one mean never vary more than the bound says."""
    rng = np.random.default_rng(8)
    runs = np.array([1, 2, 2, 4, 10])
    for _ in range(80):
        passes = rng.integers(0, runs + 1)
        rate = stats.fixed_cases(passes, runs, method="wilson")
        share = float((passes / runs).mean())
        spread = (passes / runs) * (1 - passes / runs) / runs
        assert share * (1 - share) / rate.n_eff >= float(spread.sum()) / 25 - 1e-12
        assert rate.n_eff >= 5 * runs.min() - 1e-9


@pytest.mark.parametrize("runs", [[1, 2, 2, 4, 10], [25, 24, 25, 19], [3, 1], [2, 2, 2, 9]])
def test_the_outer_bound_against_a_root_finder(runs: list[int]) -> None:
    """For every table of passes, all at once: the rates of the multiplier that gives the mean."""
    each = np.array(runs)
    passes = np.array(list(product(*(range(0, r + 1, 1 + r // 6) for r in runs))))
    kernel = fixed_kernel(passes, each)

    def rates(multiplier: float) -> NDArray[np.float64]:
        return np.clip((1 - multiplier * each) / 2, 0.0, 1.0)

    edge = 1.0 / each.min()
    for mean, outer in zip(kernel.estimate.tolist(), kernel.outer.tolist(), strict=True):
        found = optimize.brentq(lambda m, mean=mean: rates(m).mean() - mean, -edge, edge, xtol=1e-15)
        spread = float((rates(found) * (1 - rates(found)) / each).sum())
        assert outer == pytest.approx(spread / len(each) ** 2, rel=1e-9, abs=1e-14)
