"""The bootstraps of relative cost over several questions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiltyard_stats._columns import with_width
from tiltyard_stats._moments import by_cell
from tiltyard_stats._quantiles import quantiles
from tiltyard_stats._result import FloatArray, Interval
from tiltyard_stats.bootstrap import bootstrap_mean
from tiltyard_stats.resample import Resamples, Rng, resample, tails

Cells = Sequence[FloatArray]


def source_report(
    arms: Cells, bases: Cells, claim: str, confidence: float, *, resamples: int, rng: Rng, exact: bool | None
) -> Interval:
    """Percentile bootstrap of all runs, each over the mean of its baseline; drawn, as the source does."""
    pooled = np.concatenate([arm / base.mean() for arm, base in zip(arms, bases, strict=True)])
    result = bootstrap_mean(
        pooled,
        confidence=confidence,
        method="percentile",
        claim=claim,
        resamples=resamples,
        rng=rng,
        exact=bool(exact),
    )
    name = result.method.replace("percentile", "source-report")
    return replace(result, method=name, n=len(pooled) + sum(map(len, bases)))


def within_cells(
    arms: Cells, bases: Cells, claim: str, confidence: float, *, resamples: int, rng: Rng, exact: bool | None
) -> Interval:
    """Geometric mean of the ratios, both arms resampled within each cell with n - 1 draws."""
    cells = [*arms, *bases]
    moments = by_cell(cells)
    half = len(arms)
    with np.errstate(divide="ignore"):
        estimate = float(np.exp(np.log(moments.mean[:half] / moments.mean[half:]).mean()))
    codes = _codes(moments.n.min() < 2, (moments.mean[:half] == 0).any(), not (moments.variance > 0).any())  # noqa: PLR2004 - one run has no spread
    low = high = float("nan")
    method = "percentile-stratified"
    if not codes:
        sizes = [len(cell) for cell in cells]
        drawn = resample(sizes, draws=[n - 1 for n in sizes], resamples=resamples, rng=rng, exact=exact)
        logs, counts = _log_ratios(cells, drawn)
        method = method if counts is None else f"{method}-exact"
        cut = quantiles(logs[np.newaxis], counts, tails("percentile", 0, confidence))
        low, high, codes = with_width(*np.exp(cut[:, 0]).tolist())
    total = int(moments.n.sum())
    return Interval(estimate, low, high, confidence, method, total, claim, codes)


def _codes(single: bool, zero: bool, constant: bool) -> tuple[str, ...]:  # noqa: FBT001 - three facts
    facts = (("zero-mean", zero), ("n<2", single), ("zero-variance", constant))
    return next(((code,) for code, holds in facts if holds), ())


def _log_ratios(cells: Cells, drawn: Sequence[Resamples]) -> tuple[FloatArray, FloatArray | None]:
    """Resampled mean log ratios; listed resamples combine every row of a cell with all others'."""
    half = len(cells) // 2
    signs = np.repeat([1.0, -1.0], half) / half
    logs, counts = np.zeros(1), np.ones(1)
    listed = drawn[0].counts is not None
    for sign, cell, sample in zip(signs, cells, drawn, strict=True):
        means = cell @ sample.weights.T
        with np.errstate(divide="ignore", invalid="ignore"):
            part = sign * np.log(means)
            logs = np.add.outer(logs, part).ravel() if listed else logs + part
        if sample.counts is not None:
            counts = np.multiply.outer(counts, sample.counts).ravel()
    # One cell's arm free and another's baseline free: no bound holds such a resample.
    return np.where(np.isnan(logs), np.inf, logs), counts if listed else None
