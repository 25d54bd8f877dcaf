"""What resampling costs beside other libraries, alternating in one process, the best round of each.

    .venv/bin/python benchmarks/stats.py [--cells 1000] [--runs 20] [--resamples 10000] [--rounds 3] [--quick]

The jobs are percentile intervals of 95% for the mean of every cell, and for the ratio of two arms in every
cell. Each peer does the same job, or the nearest one that it offers:

- scipy: `scipy.stats.bootstrap` on all cells at once, in batches that fit into memory.
- scipy-per-cell: the same, called for one cell after another.
- evalstats: its `bootstrap_ci_1d`; for the ratio, the quotient of the means that it resamples.
- evalci: its `ci` (BCa, the only bootstrap that it has); for the ratio, the interval of a difference.

Prints for each peer and job a line `NAME JOB R x`: how many times our time it takes. Then our own times, and
those of what needs no resampling: the default intervals, and the exact test, of 1,000 cells or cases. With
--quick the loops over cells do a tenth of the cells, and their time is scaled; it says so.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import evalci
import numpy as np
from evalci._significance import unpaired_bootstrap_ci
from evalstats.core.resampling import bootstrap_ci_1d, bootstrap_means_1d
from numpy.typing import NDArray
from scipy import stats as scipy_stats

import tiltyard_stats

Array = NDArray[np.float64]
Work = Callable[[Array, Array], object]
OURS = "tiltyard"
BATCH = 100


@dataclass(frozen=True)
class Entrant:
    """One library on one job."""

    name: str
    job: str
    work: Work
    per_cell: bool


def main() -> None:
    """Run all rounds, then print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=20, help="runs of a cell and arm")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each; the best counts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the cells in the loops over cells")
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    arm, base = (rng.lognormal(0, 0.5, (given.cells, given.runs)) for _ in range(2))
    loop = max(1, given.cells // 10) if given.quick else given.cells
    entrants = contest(given.resamples)
    best = {(entrant.name, entrant.job): np.inf for entrant in entrants}
    for entrant in entrants:  # imports and first calls are no part of it
        entrant.work(arm[:2], base[:2])
    for _ in range(given.rounds):
        for entrant in entrants:
            cells = loop if entrant.per_cell else given.cells
            taken = seconds(partial(entrant.work, arm[:cells], base[:cells])) * given.cells / cells
            key = entrant.name, entrant.job
            best[key] = min(best[key], taken)
    for (name, job), taken in best.items():
        if name != OURS:
            print(f"{name} {job} {taken / best[OURS, job]:.1f} x")
    for job in ("mean", "ratio"):
        print(f"{OURS} {job} {best[OURS, job]:.3f} s")
    closed_forms(arm, base)
    if loop < given.cells:
        print(f"# quick: loops over cells ran {loop} of {given.cells} cells, scaled")


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def closed_forms(arm: Array, base: Array) -> None:
    """Times of what needs no resampling."""
    rng = np.random.default_rng(2)
    runs = np.full(len(arm), 4)
    passes = rng.binomial(4, 0.7, (2, len(arm)))
    uneven = rng.integers(2, 6, len(arm)), rng.integers(3, 6, len(arm))
    fewer, more = (rng.binomial(each_runs, 0.7) for each_runs in uneven)
    jobs: dict[str, Callable[[], object]] = {
        "log-t": lambda: tiltyard_stats.cost_ratios(arm, base),
        "stratified-test": lambda: tiltyard_stats.stratified_test(passes[0], runs, passes[1], runs),
        "stratified-test-uneven": lambda: tiltyard_stats.stratified_test(fewer, uneven[0], more, uneven[1]),
    }
    for job, work in jobs.items():
        work()
        print(f"{OURS} {job} {1000 * min(seconds(work) for _ in range(20)):.1f} ms")


def contest(resamples: int) -> list[Entrant]:
    """Every library on both jobs, in the order in which they take turns."""
    scipy_mean, scipy_ratio = partial(by_scipy_mean, resamples), partial(by_scipy_ratio, resamples)
    return [
        Entrant(OURS, "mean", partial(by_us_mean, resamples), per_cell=False),
        Entrant("scipy", "mean", scipy_mean, per_cell=False),
        Entrant("scipy-per-cell", "mean", each(scipy_mean), per_cell=True),
        Entrant("evalstats", "mean", each(partial(by_evalstats_mean, resamples)), per_cell=True),
        Entrant("evalci", "mean", each(partial(by_evalci_mean, resamples)), per_cell=True),
        Entrant(OURS, "ratio", partial(by_us_ratio, resamples), per_cell=False),
        Entrant("scipy", "ratio", scipy_ratio, per_cell=False),
        Entrant("scipy-per-cell", "ratio", each(scipy_ratio), per_cell=True),
        Entrant("evalstats", "ratio", each(partial(by_evalstats_ratio, resamples)), per_cell=True),
        Entrant("evalci", "ratio", each(partial(by_evalci_difference, resamples)), per_cell=True),
    ]


def each(work: Work) -> Work:
    """The same, called for one cell after another."""

    def loop(arm: Array, base: Array) -> None:
        for left, right in zip(arm, base, strict=True):
            work(left, right)

    return loop


def by_us_mean(resamples: int, arm: Array, _base: Array) -> object:
    """All cells share their resamples."""
    return tiltyard_stats.bootstrap_means(arm, method="percentile", resamples=resamples)


def by_us_ratio(resamples: int, arm: Array, base: Array) -> object:
    """All cells share their resamples, each arm its own."""
    return tiltyard_stats.cost_ratios(arm, base, method="percentile", resamples=resamples)


def by_scipy_mean(resamples: int, arm: Array, _base: Array) -> object:
    """One cell or all of them, along the last axis."""
    return scipy_stats.bootstrap(
        (arm,), np.mean, axis=-1, method="percentile", n_resamples=resamples, batch=batch(arm)
    ).confidence_interval


def by_scipy_ratio(resamples: int, arm: Array, base: Array) -> object:
    """One cell or all of them, along the last axis."""
    return scipy_stats.bootstrap(
        (arm, base), ratio_of_means, axis=-1, method="percentile", n_resamples=resamples, batch=batch(arm)
    ).confidence_interval


def batch(arm: Array) -> int | None:
    """All cells at once would take an array of (cells, resamples, runs); one cell is fastest in one go."""
    return BATCH if arm.ndim > 1 else None


def ratio_of_means(left: Array, right: Array, axis: int) -> Array:
    """The statistic of the second job."""
    return np.asarray(left.mean(axis=axis) / right.mean(axis=axis))


def by_evalstats_mean(resamples: int, arm: Array, _base: Array) -> object:
    """Percentile bootstrap of one cell."""
    return bootstrap_ci_1d(
        arm, float(arm.mean()), "bootstrap", n_bootstrap=resamples, alpha=0.05, rng=np.random.default_rng(0)
    )


def by_evalstats_ratio(resamples: int, arm: Array, base: Array) -> object:
    """The quotient of the resampled means of one cell."""
    rng = np.random.default_rng(0)
    top, bottom = (bootstrap_means_1d(side, resamples, rng) for side in (arm, base))
    return np.percentile(top / bottom, [2.5, 97.5])


def by_evalci_mean(resamples: int, arm: Array, _base: Array) -> object:
    """BCa of one cell."""
    return evalci.ci(arm, method="bootstrap", n_resamples=resamples, random_state=0)


def by_evalci_difference(resamples: int, arm: Array, base: Array) -> object:
    """Percentile interval of a difference in one cell."""
    return unpaired_bootstrap_ci(arm, base, n_resamples=resamples, rng=np.random.default_rng(0))


if __name__ == "__main__":
    main()
