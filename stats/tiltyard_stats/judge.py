"""A model as judge: how right it is against people, and how steady it is."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from tiltyard_stats import _validate as check
from tiltyard_stats._result import FloatArray, Interval
from tiltyard_stats.agreement import cohen_kappa
from tiltyard_stats.mean import mean_interval
from tiltyard_stats.proportion import wilson


@dataclass(frozen=True, slots=True)
class JudgeRates:
    """A judge beside human verdicts."""

    accuracy: Interval
    """Share of verdicts that are those of the human."""
    strictness: Interval
    """P(judge fails | human passes)."""
    leniency: Interval
    """P(judge passes | human fails)."""
    kappa: Interval
    """Cohen's kappa: agreement beyond chance."""


@dataclass(frozen=True, slots=True)
class JudgeConsistency:
    """A judge beside itself."""

    flip_rate: Interval
    """Share of items on which its verdicts are not unanimous."""
    disagreement: Interval
    """Share of pairs of its verdicts on an item that differ, averaged over the items."""


@dataclass(frozen=True, slots=True)
class Majority:
    """The most common verdict per item."""

    verdicts: tuple[Hashable | None, ...]
    """None where the most common one is tied."""
    ties: int
    """Items dropped for a tie."""


def judge_rates(
    tp: int, fp: int, fn: int, tn: int, *, confidence: float = 0.95, claim: str = "these items"
) -> JudgeRates:
    """Accuracy, strictness and leniency of a judge against human verdicts.

    Parameters
    ----------
    tp, fp : int
        Items that the judge passed, and the human passed (tp) or failed (fp).
    fn, tn : int
        Items that the judge failed, and the human passed (fn) or failed (tn).
    confidence : float
        Nominal coverage of each interval.
    claim : str
        What the items stand for; carried into the results.

    Returns
    -------
    JudgeRates
        Wilson intervals, each on its own denominator; a rate without items is NaN with `n=0`.

    Raises
    ------
    ValueError
        When there is no item or a count is not a whole number of at least 0.

    References
    ----------
    .. [1] Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA
           22.

    Examples
    --------
    >>> rates = judge_rates(40, 5, 8, 27)
    >>> round(rates.accuracy.estimate, 4), round(rates.strictness.estimate, 3), rates.leniency.estimate
    (0.8375, 0.167, 0.15625)
    """
    for name, value in (("tp", tp), ("fp", fp), ("fn", fn), ("tn", tn)):
        check.whole(name, value, 0)
    return JudgeRates(
        accuracy=wilson(tp + tn, tp + fp + fn + tn, confidence=confidence, claim=claim),
        strictness=_rate(fn, tp + fn, confidence, claim),
        leniency=_rate(fp, fp + tn, confidence, claim),
        kappa=cohen_kappa([[tp, fp], [fn, tn]], confidence=confidence, claim=claim),
    )


def _rate(count: int, n: int, confidence: float, claim: str) -> Interval:
    if n == 0:
        return Interval(nan, nan, nan, confidence, "wilson", 0, claim, ("n=0",))
    return wilson(count, n, confidence=confidence, claim=claim)


def judge_consistency(
    verdicts: Sequence[Sequence[Hashable]], *, confidence: float = 0.95, claim: str = "items like these"
) -> JudgeConsistency:
    """How often a judge contradicts itself when it is asked again.

    Parameters
    ----------
    verdicts : sequence of sequences, shape (items, verdicts of the item)
        Verdicts of any kind; at least 2 an item, whose number may differ.
    confidence : float
        Nominal coverage of each interval.
    claim : str
        What the items stand for; carried into the results.

    Returns
    -------
    JudgeConsistency
        Wilson's interval of the flip rate; Student's of the disagreement, clipped to [0, 1].

    Raises
    ------
    ValueError
        When there is no item, or one has fewer than 2 verdicts or a missing one.

    Notes
    -----
    With r verdicts of which c_j are of kind j, an item's disagreement is 1 - sum c_j (c_j - 1) / (r (r - 1)):
    2 c (r - c) / (r (r - 1)) for passes and failures. The flip rate grows with r, the disagreement does not.

    Examples
    --------
    >>> result = judge_consistency([[1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]])
    >>> result.flip_rate.estimate, round(result.disagreement.estimate, 4)
    (0.5, 0.3333)
    """
    rows = [_counts(index, row) for index, row in enumerate(check.listed("verdicts", verdicts))]
    if not rows:
        raise ValueError("verdicts (no items) must hold at least one item.")
    disagreement = [1 - float((row * (row - 1)).sum() / (row.sum() * (row.sum() - 1))) for row in rows]
    flips = sum(len(row) > 1 for row in rows)
    return JudgeConsistency(
        flip_rate=wilson(flips, len(rows), confidence=confidence, claim=claim),
        disagreement=mean_interval(disagreement, confidence=confidence, bounds=(0, 1), claim=claim),
    )


def _counts(index: int, given: Sequence[Hashable]) -> FloatArray:
    row = check.listed(f"verdicts[{index}]", given)
    if len(row) < 2:  # noqa: PLR2004 - consistency takes two
        raise ValueError(f"verdicts[{index}] ({len(row)} verdicts) must hold at least 2 verdicts.")
    for value in row:
        if value is None or value != value:  # noqa: PLR0124 - NaN
            raise ValueError(f"verdicts[{index}] holds {value}; leave missing verdicts out.")
    return np.array([row.count(kind) for kind in dict.fromkeys(row)], dtype=np.float64)


def majority(verdicts: Sequence[Sequence[Hashable]]) -> Majority:
    """The most common verdict of a judge per item, to set beside a human's.

    Parameters
    ----------
    verdicts : sequence of sequences
        Verdicts by item, at least 1 each.

    Returns
    -------
    Majority
        A tie for the most common one is None and counted, never broken by order.

    Raises
    ------
    ValueError
        When an item has no verdict.

    Examples
    --------
    >>> majority([[1, 1, 0], [0, 1]])
    Majority(verdicts=(1, None), ties=1)
    """
    winners = tuple(_winner(index, row) for index, row in enumerate(verdicts))
    return Majority(winners, sum(winner is None for winner in winners))


def _winner(index: int, row: Sequence[Hashable]) -> Hashable | None:
    if not row:
        raise ValueError(f"verdicts[{index}] (no verdicts) must hold at least one verdict.")
    counts = {kind: list(row).count(kind) for kind in dict.fromkeys(row)}
    best = [kind for kind, count in counts.items() if count == max(counts.values())]
    return best[0] if len(best) == 1 else None


def confusion(judge: ArrayLike, human: ArrayLike) -> tuple[int, int, int, int]:
    """Counts for `judge_rates` from verdicts side by side.

    Parameters
    ----------
    judge, human : array of 0 and 1, shape (items,)
        1 is a pass.

    Returns
    -------
    tuple of int
        tp, fp, fn, tn.

    Raises
    ------
    ValueError
        When the sides differ in length, are empty, or hold anything but 0 and 1.

    Examples
    --------
    >>> confusion([1, 1, 0, 0], [1, 0, 1, 0])
    (1, 1, 1, 1)
    """
    left, right = check.sample("judge", judge), check.sample("human", human)
    if len(left) != len(right):
        raise ValueError(f"judge ({len(left)} verdicts) and human ({len(right)} verdicts) must be pairs.")
    for name, side in (("judge", left), ("human", right)):
        if not np.isin(side, (0, 1)).all():
            raise ValueError(f"{name} holds {side[~np.isin(side, (0, 1))][0]}; a verdict is 0 or 1.")
    tp, both = int((left * right).sum()), len(left)
    fp, fn = int(left.sum()) - tp, int(right.sum()) - tp
    return tp, fp, fn, both - tp - fp - fn
