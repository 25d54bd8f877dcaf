"""The result objects of every statistic: frozen, and each says how it was made and what it may claim.

A bound that is not known is NaN. NaN compares false with everything, so an unknown bound never proves
anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from typing import Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval."""

    estimate: float
    """The point estimate, in the unit of the data (a ratio has none)."""
    low: float
    """Lower bound; NaN when the data cannot give one."""
    high: float
    """Upper bound; NaN when the data cannot give one."""
    confidence: float
    """Nominal coverage, between 0 and 1."""
    method: str
    """Name of the formula."""
    n: int
    """Observations that the estimate rests on, over all samples."""
    claim: str
    """What it speaks about: `these runs`, `these questions`, `questions like these`, ... or `blocked`."""
    warnings: tuple[str, ...] = ()
    """Codes such as `n<2`, `zero-variance`, `pooled-variance`."""
    standard_error: float = nan
    """Standard error on the scale of the method (the log scale for `log-t`); NaN where the method has
    none."""
    df: float = nan
    """Degrees of freedom; NaN where the method has none."""

    @property
    def known(self) -> bool:
        """Whether both bounds are known."""
        return isfinite(self.low) and isfinite(self.high)

    @property
    def unknown(self) -> bool:
        """Whether a bound is NaN: then the other one proves nothing either. An infinite bound is known."""
        return isnan(self.low) or isnan(self.high)

    def excludes(self, value: float, tolerance: float = 0.0) -> bool:
        """Whether the interval lies more than `tolerance` away from `value`; False when a bound is NaN."""
        away = self.low > value + tolerance or self.high < value - tolerance
        return away and not self.unknown

    def with_warnings(self, *codes: str) -> Self:
        """The same interval with further warning codes."""
        return replace(self, warnings=tuple(dict.fromkeys(self.warnings + codes)))


@dataclass(frozen=True, slots=True)
class Intervals:
    """Many intervals of one kind, held by column; `intervals[i]` is the i-th as an `Interval`."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    method: str
    n: IntArray
    claim: str
    warnings: tuple[tuple[str, ...], ...]
    standard_error: FloatArray
    df: FloatArray

    def __len__(self) -> int:
        return len(self.estimate)

    def __iter__(self) -> Iterator[Interval]:
        columns = (
            column.tolist()
            for column in (self.estimate, self.low, self.high, self.n, self.standard_error, self.df)
        )
        for estimate, low, high, n, error, df, codes in zip(*columns, self.warnings, strict=True):
            yield Interval(estimate, low, high, self.confidence, self.method, n, self.claim, codes, error, df)

    def __getitem__(self, index: int) -> Interval:
        return Interval(
            estimate=float(self.estimate[index]),
            low=float(self.low[index]),
            high=float(self.high[index]),
            confidence=self.confidence,
            method=self.method,
            n=int(self.n[index]),
            claim=self.claim,
            warnings=self.warnings[index],
            standard_error=float(self.standard_error[index]),
            df=float(self.df[index]),
        )


@dataclass(frozen=True, slots=True)
class TestResult:
    """A test of one hypothesis."""

    __test__ = False  # pytest would collect the class by its name

    statistic: float
    """The test statistic; NaN when the data cannot give one."""
    pvalue: float
    """Between 0 and 1; NaN when the data cannot give one."""
    method: str
    n: int
    claim: str
    alternative: str = "two-sided"
    warnings: tuple[str, ...] = ()
    df: float = nan


@dataclass(frozen=True, slots=True)
class Spread:
    """A coefficient of variation: standard deviation over mean."""

    cv: float
    """NaN when no cell allows an estimate."""
    df: int
    """Degrees of freedom behind it, pooled over cells."""
    n: int
    method: str
    claim: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many runs a comparison needs."""

    runs: int
    """Runs per arm, at least 2."""
    exact: float
    """The same before rounding up."""
    method: str
    effect: float
    power: float
    alpha: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule makes of results."""

    verdict: str
    warnings: tuple[str, ...] = ()
    """Codes such as `provisional`, `few-runs`, `multiplicity`."""
