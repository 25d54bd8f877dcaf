"""The rules that bind every statistic: telling errors, NaN for unknown bounds, nothing heavy at import."""

import subprocess
import sys
from math import isnan, nan

import numpy as np
import pytest

import tiltyard_stats as stats


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.wilson(0, 0), "n (0) must be at least 1"),
        (lambda: stats.wilson(5, 4), "successes (5) must not exceed n (4)"),
        (lambda: stats.wilson(1.5, 4), "successes (1.5) must be a whole number"),
        (lambda: stats.wilson(1, 4, confidence=1.2), "confidence (1.2) must be strictly between 0 and 1"),
        (lambda: stats.mean_interval([]), "values (shape (0,)) must hold at least one observation"),
        (lambda: stats.mean_interval([1.0, nan]), "values holds nan; leave missing values out"),
        (lambda: stats.mean_interval([[1.0]]), "values (shape (1, 1)) must have one axis"),
        (lambda: stats.stratified_mean([]), "cells (no cells) must hold at least one cell"),
        (lambda: stats.stratified_mean([[1.0], []]), "cells[1] (shape (0,)) must hold"),
        (lambda: stats.cost_ratio([1, 2], [0, 0]), "baseline (mean 0.0) must have a mean above 0"),
        (lambda: stats.cost_ratio([1, -2], [1, 1]), "arm holds -2.0; a cost must be at least 0"),
        (lambda: stats.cost_ratio_stratified([[1]], [[1], [2]]), "arm (1 cells) and baseline (2 cells)"),
        (lambda: stats.cost_ratio([1], [1], method="magic"), "method ('magic') must be one of 'log-t'"),
        (lambda: stats.holm([0.1, nan]), "must be a list of numbers in [0, 1]"),
        (lambda: stats.runs_per_arm(-0.1), "cv (-0.1) must be a finite number of at least 0"),
        (lambda: stats.runs_per_arm(0.3, 0.0), "effect (0.0) must be strictly between 0 and 1"),
        (lambda: stats.runs_per_arm(0.3, method="odd"), "method ('odd') must be one of"),
        (lambda: stats.pilot_factor(0), "df (0) must be a finite number of at least 1"),
        (lambda: stats.fisher_drop(1, 2, 3, 2), "new_successes (3) must not exceed new_n (2)"),
    ],
)
def test_errors_name_argument_value_and_rule(call: "object", message: str) -> None:
    """One sentence that a caller can act on."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        call()

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (stats.mean_interval([5.0]), "n<2"),
        (stats.mean_interval([0.1, 0.1, 0.1]), "zero-variance"),
        (stats.stratified_mean([[1.0], [2.0]]), "n<2"),
        (stats.stratified_mean([[1.0, 1.0], [2.0]]), "zero-variance"),
        (stats.cost_ratio([1.0], [2.0, 3.0]), "n<2"),
        (stats.cost_ratio([2.0, 2.0], [3.0, 3.0]), "zero-variance"),
        (stats.cost_ratio([0.0, 0.0], [3.0, 4.0]), "zero-mean"),
        (stats.cost_ratio_stratified([[1.0], [1.0]], [[2.0, 3.0], [4.0, 5.0]]), "n<2"),
    ],
)
def test_an_unknown_bound_is_nan_with_a_code(result: stats.Interval, code: str) -> None:
    """The estimate stays, the bounds are NaN, and no rule reads them as a difference."""
    assert np.isfinite(result.estimate)
    assert isnan(result.low)
    assert isnan(result.high)
    assert code in result.warnings
    assert not result.excludes(1.0)
    assert stats.token_verdict(result, n_arm=9, n_baseline=9).verdict == "no verdict"


def test_a_lone_run_borrows_spread() -> None:
    """One lost run in one question does not cost the whole interval, and the result says how."""
    full = stats.cost_ratio_stratified([[10, 12], [40, 44]], [[20, 24], [80, 88]])
    lone = stats.cost_ratio_stratified([[10, 12], [40]], [[20, 24], [80, 88]])

    assert lone.known
    assert lone.warnings == ("pooled-variance",)
    assert lone.high / lone.low > full.high / full.low


@pytest.mark.parametrize(
    ("runs", "pvalue", "verdict", "codes"),
    [
        ((3, 9), None, "no verdict", ("few-runs",)),
        ((4, 9), None, "cheaper", ("provisional",)),
        ((8, 8), None, "cheaper", ()),
        ((8, 8), 0.05, "cheaper", ()),
        ((8, 7), 0.06, "no clear difference", ("multiplicity", "provisional")),
        ((8, 8), nan, "no clear difference", ("multiplicity",)),
    ],
)
def test_verdict(runs: tuple[int, int], pvalue: float | None, verdict: str, codes: tuple[str, ...]) -> None:
    """Under 4 runs a side none, under 8 provisional, and a correction can take it back."""
    ratio = stats.Interval(0.6, 0.4, 0.9, 0.95, "log-t", 16, "these questions")
    decision = stats.token_verdict(ratio, n_arm=runs[0], n_baseline=runs[1], pvalue=pvalue)

    assert (decision.verdict, decision.warnings) == (verdict, codes)


def test_verdict_tolerance() -> None:
    """A difference within the tolerance is none."""
    ratio = stats.Interval(1.2, 1.05, 1.4, 0.95, "log-t", 16, "these questions")

    assert stats.token_verdict(ratio, n_arm=8, n_baseline=8).verdict == "dearer"
    assert stats.token_verdict(ratio, n_arm=8, n_baseline=8, tolerance=0.1).verdict == "no clear difference"


def test_rows_are_single_results() -> None:
    """A column of results holds what single calls give."""
    arm, base = np.array([[1.0, 3.0, 4.0], [6.0, 6.0, 6.0]]), np.array([[2.0, 2.5], [3.0, 3.0]])
    rows = stats.cost_ratios(arm, base)

    assert len(rows) == 2
    assert rows[0] == stats.cost_ratio(arm[0], base[0])
    assert rows[1].warnings == ("zero-variance",)
    assert rows[0].estimate == stats.cost_ratio_stratified([arm[0]], [base[0]]).estimate


def test_scipy_is_not_imported_with_the_package() -> None:
    """Only a first quantile loads scipy.special, and scipy.stats is never loaded."""
    code = (
        "import sys, tiltyard_stats as s; assert 'scipy' not in sys.modules;"
        "s.wilson(1, 2); s.cost_ratio([1, 2], [2, 3]);"
        "s.runs_per_arm(.3); assert 'scipy.special' in sys.modules; assert 'scipy.stats' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
