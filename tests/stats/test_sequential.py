"""Sequential statistics against multivariate normal integrals, quadrature and the laws they must obey."""

from itertools import pairwise
from math import inf, isnan, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy import stats as oracle

import tiltyard_stats as stats
from tiltyard_stats.sequential.scores import betting_bounds

costs = st.lists(st.floats(1.0, 1e4), min_size=2, max_size=6)
arms = st.lists(st.tuples(costs, costs), min_size=1, max_size=4)


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
@pytest.mark.parametrize("information", [(0.5, 1.0), (0.2, 0.6, 1.0), (0.3, 0.31, 0.7, 0.9)])
def test_bounds_spend_alpha(information: tuple[float, ...], spending: str) -> None:
    """The chance to stay inside all bounds so far, by a multivariate normal integral, is 1 - alpha spent."""
    boundary = stats.lan_demets(information, spending=spending)
    times = np.array(information)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    for looks in range(1, len(times) + 1):
        bound = np.array(boundary.bounds[:looks])
        normal = oracle.multivariate_normal(np.zeros(looks), correlation[:looks, :looks])
        inside = normal.cdf(bound, lower_limit=-bound, rng=np.random.default_rng(1))

        assert 1 - inside == pytest.approx(boundary.spent[looks - 1], abs=2e-5)


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_all_alpha_is_spent(spending: str, alpha: float) -> None:
    """At full information, whatever the looks; a single look is the fixed test."""
    many = stats.lan_demets(np.arange(4, 21) / 20, alpha=alpha, spending=spending)

    assert many.spent[-1] == pytest.approx(alpha)
    assert all(earlier < later for earlier, later in pairwise(many.spent))
    assert stats.lan_demets([1.0], alpha=alpha, spending=spending).bounds[0] == pytest.approx(
        oracle.norm.ppf(1 - alpha / 2)
    )


def test_published_bounds() -> None:
    """Five equal looks, two-sided 5%: the table of Lan and DeMets' O'Brien-Fleming function (ldbounds)."""
    bounds = stats.lan_demets([0.2, 0.4, 0.6, 0.8, 1.0]).bounds

    assert bounds == pytest.approx([4.8769, 3.3569, 2.6803, 2.2898, 2.0310], abs=5e-4)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6, unique=True))
def test_a_bound_depends_on_earlier_looks_alone(looks: list[int]) -> None:
    """Later looks may be planned or dropped freely."""
    information = [look / 40 for look in sorted(looks)]
    whole = stats.lan_demets(information).bounds

    assert stats.lan_demets(information[: len(looks) // 2 + 1]).bounds == whole[: len(looks) // 2 + 1]


@settings(max_examples=40)
@given(arms)
def test_repeated_intervals_invert_with_the_arms(pairs: list[tuple[list[float], list[float]]]) -> None:
    """A/B and B/A agree, allowance for skewness included."""
    arm, base = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    looks = stats.lan_demets([0.5, 0.75])
    forth, back = stats.repeated_interval(arm, base, looks), stats.repeated_interval(base, arm, looks)

    assert forth.warnings == back.warnings
    if forth.known and back.known and back.low > 1e-300:
        assert log(forth.high) == pytest.approx(-log(back.low), rel=1e-6, abs=1e-6)


@settings(max_examples=40)
@given(arms, st.floats(0.01, 100))
def test_cost_evidence_does_not_know_the_unit(
    pairs: list[tuple[list[float], list[float]]], unit: float
) -> None:
    """Tokens or thousands of tokens; and the order of the runs does not matter."""
    arm, base = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    plain = stats.cost_evalue(arm, base)
    other = stats.cost_evalue(
        [[unit * x for x in sorted(cell)] for cell in arm], [[unit * x for x in cell] for cell in base]
    )

    assert plain.evalue == pytest.approx(other.evalue, rel=1e-4)
    assert plain.ratio.estimate == pytest.approx(other.ratio.estimate)


@settings(max_examples=40)
@given(arms)
def test_cost_evidence_agrees_with_its_interval(pairs: list[tuple[list[float], list[float]]]) -> None:
    """It reaches 1/alpha when the interval excludes 1; a repeated interval is wider than that of one look."""
    arm, base = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    evidence = stats.cost_evalue(arm, base)
    once = stats.cost_ratio_stratified(arm, base)
    repeated = stats.repeated_interval(arm, base, stats.lan_demets([0.5, 0.75]))

    assert (evidence.evalue == 1) if isnan(evidence.ratio.low) else True
    if not isnan(evidence.ratio.low) and abs(log(evidence.evalue) - log(20)) > 1e-6:
        assert (evidence.evalue > 20) == evidence.ratio.excludes(1.0)
    if repeated.known and once.known:
        assert repeated.low <= once.low
        assert repeated.high >= once.high


@pytest.mark.parametrize("t", [0.0, 0.7, 2.5, -4.0])
@pytest.mark.parametrize(("n", "g"), [(2, 1.0), (8, 0.5), (20, 2.0)])
def test_t_evalue_against_quadrature(t: float, n: int, g: float) -> None:
    """The noncentral t density averaged over the normal prior, over the central one."""

    def density(effect: float) -> float:
        return oracle.nct.pdf(t, n - 1, effect * n**0.5) * oracle.norm.pdf(effect, scale=g**0.5)

    mixture = integrate.quad(density, -8 * g**0.5, 8 * g**0.5, limit=200)[0]

    assert stats.t_evalue(t, n, g=g) == pytest.approx(mixture / oracle.t.pdf(t, n - 1), rel=1e-4)


@pytest.mark.parametrize(("old", "new"), [(0, 0), (3, 3), (8, 0), (0, 8), (30, 12)])
def test_discordant_evalue_against_quadrature(old: int, new: int) -> None:
    """The uniform mixture over the half of the alternative, over a fair coin."""

    def likelihood(p: float) -> float:
        return 2 ** (old + new) * p**old * (1 - p) ** new

    drop = 2 * integrate.quad(likelihood, 0.5, 1)[0]
    both = integrate.quad(likelihood, 0, 1)[0]

    assert stats.discordant_evalue(old, new) == pytest.approx(drop)
    assert stats.discordant_evalue(new, old, alternative="rise") == pytest.approx(drop)
    assert stats.discordant_evalue(old, new, alternative="two-sided") == pytest.approx(both)


@pytest.mark.parametrize("n", [1, 6, 20])
def test_discordant_evalue_is_fair(n: int) -> None:
    """Its expectation without a difference is 1."""
    mean = sum(oracle.binom.pmf(x, n, 0.5) * stats.discordant_evalue(x, n - x) for x in range(n + 1))

    assert mean == pytest.approx(1)


@given(st.lists(st.floats(-50, 50).map(lambda x: round(x, 2)), min_size=1, max_size=12))
def test_the_e_process_is_the_t_evalue_of_each_start(values: list[float]) -> None:
    """Step by step; and its bounds exclude 0 exactly when it reaches 1/alpha."""
    process = stats.t_eprocess(values)
    for n in range(2, len(values) + 1):
        part = np.array(values[:n])
        if len(set(values[:n])) == 1:
            assert process.evalue[n - 1] == 1
            assert isnan(process.low[n - 1])
            continue
        t = part.mean() / (part.std(ddof=1) / n**0.5)
        expected = stats.t_evalue(t, n)
        assert process.evalue[n - 1] == pytest.approx(expected, rel=1e-6)
        if abs(log(expected) - log(20)) > 1e-6:
            assert (expected > 20) == (process.low[n - 1] > 0 or process.high[n - 1] < 0)


def test_early_bounds_are_infinite() -> None:
    """At g = 1 no t is convincing up to 4 observations; 8.5 is at 5, 4.6 at 7 and 3.4 at 20."""
    values = np.array([1.0, 2.0] * 10)
    process = stats.t_eprocess(values)
    n = np.arange(1, 21)
    sd = np.array([values[:k].std(ddof=1) if k > 1 else np.nan for k in n])
    critical = (process.high - process.estimate) / (sd / np.sqrt(n))

    assert process.high[1:4].tolist() == [inf] * 3
    assert critical[[4, 6, 19]] == pytest.approx([8.5, 4.6, 3.4], abs=0.05)


@settings(max_examples=40)
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_rate_sequence_mirrors_and_is_wider_than_exact(rate: tuple[int, int]) -> None:
    """Inside [0, 1], around the estimate, mirrored by failures, wider than Clopper and Pearson."""
    result, other = stats.beta_binomial_cs(*rate), stats.beta_binomial_cs(rate[1] - rate[0], rate[1])
    exact = oracle.binomtest(*rate).proportion_ci()

    assert 0 <= result.low <= result.estimate <= result.high <= 1
    assert (result.low, result.high) == pytest.approx((1 - other.high, 1 - other.low))
    assert result.low <= exact.low + 1e-9
    assert result.high >= exact.high - 1e-9


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_score_sequence_mirrors_and_narrows(scores: list[float]) -> None:
    """Inside [0, 1], mirrored with the scores; one more score never widens it."""
    result = stats.betting_cs(scores)
    low, high = betting_bounds(1 - np.array(scores), 0.05)

    if result.known:
        assert 0 <= result.low < result.high <= 1
        assert (result.low, result.high) == pytest.approx((1 - high, 1 - low), abs=2.1e-3)
    more = stats.betting_cs([*scores, 0.5])
    if more.known:
        assert more.low >= result.low
        assert more.high <= result.high


@given(st.floats(-4, 4), st.floats(0.05, 0.95), st.floats(0.05, 0.5), st.floats(0.02, 0.5))
def test_conditional_power_is_a_probability(z: float, time: float, effect: float, error: float) -> None:
    """Larger effects are likelier to be shown, and a clear result is never futile in either direction."""
    power = stats.conditional_power(z, time, effect=effect, standard_error=error)

    assert 0 <= power <= 1
    assert stats.conditional_power(z, time, effect=effect + 0.1, standard_error=error) >= power
    for clear in (-6.0, 6.0):
        assert stats.conditional_power(clear, 0.5, effect=effect, standard_error=error) > 0.5


def test_conditional_power_against_simulation() -> None:
    """The rest of a trial, drawn with the planned effect."""
    z, time, error = 1.0, 0.4, 0.12
    drift = log(1.2) / error * (1 - time)
    final = z * time**0.5 + drift + np.random.default_rng(3).normal(0, (1 - time) ** 0.5, 200_000)
    expected = (final > oracle.norm.ppf(0.975)).mean()

    assert stats.conditional_power(z, time, effect=0.2, standard_error=error) == pytest.approx(
        expected, abs=0.004
    )


BOUNDARY = stats.lan_demets([1.0])


@pytest.mark.parametrize(
    ("arm", "base", "codes"),
    [
        ([[1.0]], [[2.0, 3.0]], ("n<2",)),
        ([[2.0, 2.0]], [[3.0, 3.0]], ("zero-variance",)),
        ([[0.0, 0.0]], [[3.0, 4.0]], ("zero-mean",)),
        ([[10, 12], [40]], [[20, 24], [80, 88]], ("pooled-variance",)),
    ],
)
def test_unknown_cost_bounds(arm: list[list[float]], base: list[list[float]], codes: tuple[str, ...]) -> None:
    """NaN with a code and no evidence; a lone run borrows and says so."""
    interval, evidence = stats.repeated_interval(arm, base, BOUNDARY), stats.cost_evalue(arm, base)

    assert interval.warnings == evidence.ratio.warnings == codes
    assert isnan(interval.low) == (codes != ("pooled-variance",))
    assert (evidence.evalue == 1) == (codes != ("pooled-variance",))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.lan_demets([]), "information (shape (0,)) must hold at least one"),
        (lambda: stats.lan_demets([0.5, 0.4]), "information ([0.5, 0.4]) must rise strictly"),
        (lambda: stats.lan_demets([0.5, 1.2]), "must rise strictly within (0, 1]"),
        (lambda: stats.lan_demets([1.0], spending="linear"), "spending ('linear') must be one of"),
        (
            lambda: stats.repeated_interval([[1]], [[1], [2]], BOUNDARY),
            "arm (1 cells) and baseline (2 cells)",
        ),
        (lambda: stats.repeated_interval([[-1, 2]], [[1, 2]], BOUNDARY), "arm holds -1.0; a cost must be"),
        (lambda: stats.cost_evalue([[1, 2]], [[0, 0]]), "baseline (mean 0.0) must have a mean above 0"),
        (lambda: stats.cost_evalue([[1, 2]], [[1, 2]], g=0), "g (0) must be a finite number above 0"),
        (lambda: stats.t_evalue(1.0, 1), "n (1) must be a whole number of at least 2"),
        (lambda: stats.t_evalue(float("nan"), 5), "t (nan) must be a finite number"),
        (lambda: stats.t_eprocess([1.0, float("nan")]), "values holds nan; leave missing values out"),
        (lambda: stats.discordant_evalue(-1, 2), "only_old (-1) must be a whole number of at least 0"),
        (lambda: stats.beta_binomial_cs(0, 0), "n (0) must be at least 1"),
        (lambda: stats.beta_binomial_cs(1, 2, prior=(0, 1)), "prior (0) must be a finite number above 0"),
        (lambda: stats.betting_cs([0.5, 1.5]), "values holds 1.5; a score lies in [0, 1]"),
        (
            lambda: stats.conditional_power(1, 1.0, effect=0.2, standard_error=0.1),
            "information (1.0) must be strictly between 0 and 1",
        ),
    ],
)
def test_sequential_errors(call: "object", message: str) -> None:
    """Each names the argument, its value and the rule."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)
