"""What a comparison stands on: the common cases, the cases that changed, and the factors that did."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check

_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class CommonCases:
    """The cases that each of several runs attempted."""

    cases: tuple[Hashable, ...]
    """In the order of the first run."""
    left_out: tuple[Hashable, ...]
    """Cases that some run lacks, in order of appearance."""


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """Cases whose pass rate moved by more than the threshold."""

    regressed: tuple[Hashable, ...]
    improved: tuple[Hashable, ...]
    threshold: float
    """Absolute change of the pass rate."""


@dataclass(frozen=True, slots=True)
class ChangedFactors:
    """The factors in which two arms differ."""

    changed: dict[str, tuple[Any, Any]]
    """Baseline and candidate value of each, None where an arm lacks it."""
    warnings: tuple[str, ...] = ()
    """`several-factors` when no single one can be named as the cause, `no-factors` when none differs."""


def common_cases(runs: Sequence[Collection[Hashable]]) -> CommonCases:
    """Cases that each run attempted: arms are compared on these alone.

    Parameters
    ----------
    runs : sequence of collections of hashable
        The cases that each run attempted, over both arms.

    Returns
    -------
    CommonCases
        The common cases, and those left out, which a report must count.

    Raises
    ------
    ValueError
        When there is no run or no common case.

    Examples
    --------
    >>> common_cases([["a", "b", "c"], ["c", "a"], ["a", "c", "d"]])
    CommonCases(cases=('a', 'c'), left_out=('b', 'd'))
    """
    if not runs:
        raise ValueError("runs (none) must hold at least one run.")
    seen = dict.fromkeys(case for run in runs for case in run)
    shared = set(runs[0]).intersection(*runs)
    if not shared:
        raise ValueError(f"runs ({len(runs)}) must have at least one case that each of them attempted.")
    return CommonCases(
        tuple(case for case in seen if case in shared), tuple(case for case in seen if case not in shared)
    )


def case_changes(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    cases: Sequence[Hashable] | None = None,
    threshold: float = 0.0,
) -> CaseChanges:
    """Cases that regressed or improved.

    Parameters
    ----------
    candidate, baseline : array of float, shape (cases,)
        Pass rate of each case, cases in the same order.
    cases : sequence of hashable, optional
        Names of the cases; their positions by default.
    threshold : float
        A case counts when its rate moved by more than this, as an absolute difference: 0.5 means from 3/4 to
        less than 1/4. It is never relative to the baseline's rate.

    Returns
    -------
    CaseChanges
        A list of leads, with no claim: a single case has few runs.

    Raises
    ------
    ValueError
        When a rate is missing or outside [0, 1], the lengths differ, or the threshold is below 0.

    Examples
    --------
    >>> case_changes([0.0, 1.0, 0.5], [1.0, 0.5, 0.5], cases=["a", "b", "c"], threshold=0.5)
    CaseChanges(regressed=('a',), improved=(), threshold=0.5)
    """
    limit = check.at_least("threshold", threshold, 0)
    ours, theirs = check.rates("candidate", candidate), check.rates("baseline", baseline)
    names = list(range(len(ours))) if cases is None else list(cases)
    if not len(ours) == len(theirs) == len(names):
        raise ValueError(
            f"candidate ({len(ours)}), baseline ({len(theirs)}) and cases ({len(names)}) must be as long."
        )
    moved = ours - theirs
    return CaseChanges(
        tuple(names[i] for i in np.flatnonzero(moved < -limit - _SLACK)),
        tuple(names[i] for i in np.flatnonzero(moved > limit + _SLACK)),
        limit,
    )


def changed_factors(baseline: Mapping[str, Any], candidate: Mapping[str, Any]) -> ChangedFactors:
    """Factors (model, prompt, tools, ...) in which the candidate differs from the baseline.

    Parameters
    ----------
    baseline, candidate : mapping of str to any value
        The factors of each arm.

    Returns
    -------
    ChangedFactors
        Warns `several-factors` when more than one differs: their effects cannot be told apart. Warns
        `no-factors` when none does: the comparison shows noise.

    Examples
    --------
    >>> changed_factors({"model": "m1", "prompt": "p1"}, {"model": "m2", "prompt": "p1"}).changed
    {'model': ('m1', 'm2')}
    """
    names = dict.fromkeys([*baseline, *candidate])
    changed = {
        name: (baseline.get(name), candidate.get(name))
        for name in names
        if (name in baseline) != (name in candidate) or baseline.get(name) != candidate.get(name)
    }
    codes = ("several-factors",) if len(changed) > 1 else () if changed else ("no-factors",)
    return ChangedFactors(changed, codes)


def few_trials(n_candidate: int, n_baseline: int, *, minimum: int = 4) -> tuple[str, ...]:
    """The warning of a comparison with too few trials on a side.

    Parameters
    ----------
    n_candidate, n_baseline : int
        Complete trials of each side.
    minimum : int
        Trials that each side should have.

    Returns
    -------
    tuple of str
        `few-trials`, or nothing.

    Raises
    ------
    ValueError
        When a number is not whole or below 0.

    Examples
    --------
    >>> few_trials(3, 8)
    ('few-trials',)
    """
    least = min(check.whole("n_candidate", n_candidate, 0), check.whole("n_baseline", n_baseline, 0))
    return ("few-trials",) if least < check.whole("minimum", minimum, 1) else ()
