"""Agreement and judges against statsmodels, published examples and simulation."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

import tiltyard_stats as stats

counts = st.integers(0, 30)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_cohen_against_statsmodels(size: int) -> None:
    """Random tables of several categories."""
    for seed in range(10):
        table = np.random.default_rng(seed).integers(0, 12, (size, size)) + 4 * np.eye(size, dtype=int)
        expected = cohens_kappa(table)
        result = stats.cohen_kappa(table)

        assert result.estimate == pytest.approx(expected.kappa)
        assert result.standard_error == pytest.approx(expected.std_kappa)
        assert (result.low, result.high) == pytest.approx((expected.kappa_low, expected.kappa_upp))


@pytest.mark.parametrize("raters", [2, 3, 7])
def test_fleiss_against_statsmodels(raters: int) -> None:
    """Random ratings in three categories."""
    for seed in range(10):
        table = np.random.default_rng(seed).multinomial(raters, [0.5, 0.3, 0.2], 12)

        assert stats.fleiss_kappa(table).estimate == pytest.approx(fleiss_kappa(table))


def test_krippendorff_against_his_example() -> None:
    """Krippendorff (2011): four observers, twelve units, missing ratings: nominal alpha 0.743."""
    ratings = [
        [1, 1, None, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [None, 5, 5, 5],
        [None, None, 1, 1],
        [None, None, 3, None],
    ]
    table = [[row.count(kind) for kind in range(1, 6)] for row in ratings]
    result = stats.krippendorff_alpha(table)

    assert round(result.estimate, 3) == 0.743
    assert (result.n, result.warnings) == (11, ("unpaired-items",))


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [stats.fleiss_kappa, stats.krippendorff_alpha])
def test_agreement_intervals_cover(statistic: object) -> None:
    """40 items, 3 raters who are right 8 times in 10: the jackknife covers at least 92%."""
    rng = np.random.default_rng(21)

    def table(items: int) -> object:
        truth = rng.random(items) < 0.5
        votes = (rng.random((items, 3)) < np.where(truth, 0.8, 0.2)[:, None]).sum(axis=1)
        return np.column_stack([votes, 3 - votes])

    target = statistic(table(2_000)).estimate
    inside = [result.low <= target <= result.high for result in (statistic(table(40)) for _ in range(300))]

    assert np.mean(inside) >= 0.90


@given(counts, counts, counts, counts)
def test_rates_swap_with_passes(tp: int, fp: int, fn: int, tn: int) -> None:
    """Calling a pass a failure swaps strictness and leniency, and keeps accuracy and kappa."""
    if tp + fp + fn + tn == 0:
        with pytest.raises(ValueError, match="at least 1"):
            stats.judge_rates(tp, fp, fn, tn)
        return
    left, right = stats.judge_rates(tp, fp, fn, tn), stats.judge_rates(tn, fn, fp, tp)

    assert (left.accuracy.low, left.accuracy.high) == (right.accuracy.low, right.accuracy.high)
    assert left.strictness.estimate == pytest.approx(right.leniency.estimate, nan_ok=True)
    assert left.kappa.estimate == pytest.approx(right.kappa.estimate, nan_ok=True)


def test_rates_without_a_denominator() -> None:
    """No human failure: leniency is unknown, not 0."""
    rates = stats.judge_rates(9, 0, 1, 0)

    assert isnan(rates.leniency.estimate)
    assert rates.leniency.warnings == ("n=0",)
    assert rates.strictness.estimate == pytest.approx(0.1)


@given(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=6), min_size=1, max_size=8))
def test_consistency_ignores_labels_and_order(verdicts: list[list[int]]) -> None:
    """Relabelled and reversed verdicts are as consistent; both figures lie in [0, 1]."""
    result = stats.judge_consistency(verdicts)
    other = stats.judge_consistency([["fail" if v else "pass" for v in reversed(row)] for row in verdicts])

    assert result.flip_rate.estimate == other.flip_rate.estimate
    assert result.disagreement.estimate == pytest.approx(other.disagreement.estimate)
    assert 0 <= result.disagreement.estimate <= 1
    assert (result.flip_rate.estimate == 0) == (result.disagreement.estimate == 0)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_confusion_counts_every_item(pairs: list[tuple[int, int]]) -> None:
    """The four counts, item by item."""
    judge, human = zip(*pairs, strict=True)

    assert stats.confusion(judge, human) == tuple(
        pairs.count(pair) for pair in ((1, 1), (1, 0), (0, 1), (0, 0))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "n", "labels"),
    [(0.3, 0.9, 0.8, 100, 50), (0.8, 0.9, 0.8, 100, 50), (0.5, 0.8, 0.7, 100, 40), (0.1, 0.9, 0.9, 60, 20)],
)
def test_corrected_rates_cover(
    rate: float, sensitivity: float, specificity: float, n: int, labels: int
) -> None:
    """Lang and Reiczigel's interval covers the true rate at least 93%, labels included in the noise."""
    rng = np.random.default_rng(22)
    seen = rate * sensitivity + (1 - rate) * (1 - specificity)
    inside = 0
    for _ in range(800):
        result = stats.rogan_gladen(
            rng.binomial(n, seen),
            n,
            sensitivity=(rng.binomial(labels, sensitivity), labels),
            specificity=(rng.binomial(labels, specificity), labels),
        )
        inside += result.low <= rate <= result.high

    assert inside / 800 >= 0.93


def test_a_perfect_judge_needs_no_correction() -> None:
    """The estimate is the judge's own rate; a useless one corrects nothing."""
    perfect = stats.rogan_gladen(60, 100, sensitivity=(50, 50), specificity=(50, 50))
    assert perfect.estimate == pytest.approx(0.6)
    useless = stats.rogan_gladen(60, 100, sensitivity=(25, 50), specificity=(25, 50))

    assert isnan(useless.low)
    assert useless.warnings == ("uninformative-judge",)
    assert stats.rogan_gladen(1, 100, sensitivity=(45, 50), specificity=(40, 50)).warnings == ("clipped",)


@pytest.mark.parametrize(
    ("result", "codes"),
    [
        (stats.cohen_kappa([[20, 0], [0, 20]]), ("zero-variance",)),
        (stats.cohen_kappa([[5, 0], [0, 5]]), ("zero-variance", "few-items")),
        (stats.cohen_kappa([[25, 0], [0, 0]]), ("one-category", "few-items")),
        (stats.fleiss_kappa([[3, 0], [3, 0]]), ("one-category",)),
        (stats.fleiss_kappa([[3, 0], [0, 3], [3, 0], [0, 3]]), ("zero-variance",)),
        (stats.fleiss_kappa([[2, 1]]), ("n<2",)),
        (stats.fleiss_kappa([[3, 0], [3, 0], [0, 3]]), ("one-category",)),
    ],
)
def test_unknown_bounds_of_agreement(result: stats.Interval, codes: tuple[str, ...]) -> None:
    """Perfect agreement has no bounds; a single category says nothing on agreement."""
    assert isnan(result.low)
    assert isnan(result.high)
    assert result.warnings == codes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.cohen_kappa([[1, 2, 3], [1, 2, 3]]), "table (shape (2, 3)) must be square"),
        (lambda: stats.cohen_kappa([[1, -2], [1, 2]]), "table ([[1, -2], [1, 2]]) must be a whole number"),
        (lambda: stats.fleiss_kappa([[3, 0], [2, 0]]), "raters per item [3, 2]"),
        (
            lambda: stats.krippendorff_alpha([[1, 0], [0, 1]]),
            "counts (2 items) must hold an item with at least",
        ),
        (lambda: stats.judge_rates(1.5, 0, 0, 0), "tp (1.5) must be a whole number"),
        (lambda: stats.judge_consistency([]), "verdicts (no items)"),
        (lambda: stats.judge_consistency([[1]]), "verdicts[0] (1 verdicts) must hold at least 2"),
        (lambda: stats.judge_consistency([[1, nan]]), "verdicts[0] holds nan; leave missing verdicts out"),
        (lambda: stats.majority([[]]), "verdicts[0] (no verdicts)"),
        (lambda: stats.confusion([1, 2], [1, 0]), "judge holds 2.0; a verdict is 0 or 1"),
        (lambda: stats.confusion([1], [1, 0]), "judge (1 verdicts) and human (2 verdicts)"),
        (
            lambda: stats.rogan_gladen(1, 2, sensitivity=(3, 2), specificity=(1, 1)),
            "sensitivity[0] (3) must not exceed sensitivity[1] (2)",
        ),
    ],
)
def test_judge_errors(call: "object", message: str) -> None:
    """Each names the argument, its value and the rule."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)
