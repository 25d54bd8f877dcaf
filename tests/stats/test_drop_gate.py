"""The drop gate with a p value beside its interval."""

from itertools import product
from math import nan

import pytest
from scipy.stats import binom

import tiltyard_stats as stats


@pytest.mark.parametrize(
    ("sizes", "rate"),
    [((12, 12), 0.5), ((16, 32), 0.91), pytest.param((40, 80), 0.96, marks=pytest.mark.slow)],
)
def test_the_p_value_keeps_the_drop_gate_honest(sizes: tuple[int, int], rate: float) -> None:
    """Where the interval alone fails 6 to 8% of unchanged candidates, both together fail at most 5.5%."""
    alone = both = 0.0
    for new, old in product(*(range(size + 1) for size in sizes)):
        interval = stats.newcombe_diff(new, sizes[0], old, sizes[1], confidence=0.9)
        if interval.high >= 0:
            continue
        chance = binom.pmf(new, sizes[0], rate) * binom.pmf(old, sizes[1], rate)
        test = stats.fisher_drop(old, sizes[1], new, sizes[0], method="fisher-mid-p")
        alone += chance * (stats.no_significant_drop(interval).verdict == "FAIL")
        both += chance * (stats.no_significant_drop(interval, pvalue=test.pvalue).verdict == "FAIL")

    assert 0.06 < alone < 0.08
    assert 0.02 < both <= 0.055


def test_the_p_value_of_the_drop_gate() -> None:
    """It may forbid a failure, never bring one about; a NaN decides nothing."""
    drop = stats.Interval(-0.05, -0.09, -0.01, 0.9, "mover", 200, "these cases")
    open_ = stats.Interval(-0.05, -0.09, 0.01, 0.9, "mover", 200, "these cases")
    found = [stats.no_significant_drop(drop, pvalue=pvalue).verdict for pvalue in (0.05, 0.06, nan)]

    assert found == ["FAIL", "PASS", "INCONCLUSIVE"]
    assert stats.no_significant_drop(open_, pvalue=0.0).verdict == "PASS"
    with pytest.raises(ValueError, match="pvalue"):
        stats.no_significant_drop(drop, pvalue=1.5)
