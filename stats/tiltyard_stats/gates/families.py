"""Rules on many slices or rules at once, corrected for their number; what is not proven is a lead."""

from collections.abc import Mapping
from math import isnan, nan

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval, TestResult
from tiltyard_stats.gates.outcome import FAIL, INCONCLUSIVE, PASS, Outcome

_SLACK = 1e-12


def corrected_confidence(members: int, *, alpha: float = 0.05) -> float:
    """Confidence of each interval of a family, by Bonferroni.

    Parameters
    ----------
    members : int
        Members with data, at least 1.
    alpha : float
        For the family as a whole.

    Returns
    -------
    float
        1 - alpha / members.

    Raises
    ------
    ValueError
        When `members` is below 1 or `alpha` outside (0, 1).

    Examples
    --------
    >>> corrected_confidence(5)
    0.99
    """
    return 1 - check.proportion("alpha", alpha) / check.whole("members", members, 1)


def max_slice_drop(slices: Mapping[str, Interval | None], limit: float, *, alpha: float = 0.05) -> Outcome:
    """No slice may drop by more than a limit.

    Parameters
    ----------
    slices : mapping of str to Interval or None
        Candidate minus baseline by slice, each at `corrected_confidence` of the slices with data; None for a
        slice without data.
    limit : float
        Largest drop that is accepted, at least 0.
    alpha : float
        For all slices together.

    Returns
    -------
    Outcome
        FAIL when an upper bound is below -limit. Slices whose estimate is below it without proof are `leads`.
        INCONCLUSIVE with `unknown-bound` when a bound is NaN, with `no-data` when no slice has data.
        `estimate` and bounds are those of the worst slice.

    Raises
    ------
    ValueError
        When an interval has less than the corrected confidence, or `limit` is negative.

    Examples
    --------
    >>> drop = {"en": Interval(-0.2, -0.3, -0.12, 0.975, "mover", 90, "these cases"), "de": None}
    >>> outcome = max_slice_drop(drop, 0.1)
    >>> outcome.verdict, outcome.failed, outcome.missing
    ('FAIL', ('en',), ('de',))
    """
    check.at_least("limit", limit, 0)
    known = {name: interval for name, interval in slices.items() if interval is not None}
    missing = tuple(name for name in slices if name not in known)
    if not known:
        return Outcome("max_slice_drop", INCONCLUSIVE, limit=-limit, reason="no-data", missing=missing)
    _enough(known, corrected_confidence(len(known), alpha=alpha))
    failed = tuple(
        name for name, interval in known.items() if interval.high < -limit and not interval.unknown
    )
    unknown = tuple(name for name, interval in known.items() if interval.unknown)
    leads = tuple(
        name for name, interval in known.items() if interval.estimate < -limit and name not in failed
    )
    worst = min(known.values(), key=lambda interval: interval.estimate)
    verdict, reason = _verdict(failed=bool(failed), unknown=bool(unknown))
    return Outcome(
        rule="max_slice_drop",
        verdict=verdict,
        estimate=worst.estimate,
        low=worst.low,
        high=worst.high,
        limit=-limit,
        confidence=worst.confidence,
        reason=reason,
        failed=failed,
        leads=leads,
        unknown=unknown,
        missing=missing,
    )


def _enough(slices: Mapping[str, Interval], confidence: float) -> None:
    for name, interval in slices.items():
        if interval.confidence < confidence - _SLACK:
            raise ValueError(
                f"slices[{name!r}].confidence ({interval.confidence}) must be at least {confidence} for "
                f"{len(slices)} slices."
            )


def no_rule_regression(drops: Mapping[str, TestResult], *, alpha: float = 0.05) -> Outcome:
    """No rule may fail more often than before.

    Parameters
    ----------
    drops : mapping of str to TestResult
        One-sided test of a drop by rule, at least one.
    alpha : float
        For all rules together.

    Returns
    -------
    Outcome
        FAIL when a p value is at most alpha over the number of rules. Rules at alpha alone are `leads`.
        INCONCLUSIVE with `unknown-bound` when a p value is NaN. `estimate` is the smallest p value.

    Raises
    ------
    ValueError
        When there is no rule or a test is not one-sided.

    Examples
    --------
    >>> from tiltyard_stats import fisher_drop
    >>> new = {"cites": 8, "polite": 15, "short": 20}
    >>> drops = {rule: fisher_drop(20, 20, passes, 20) for rule, passes in new.items()}
    >>> outcome = no_rule_regression(drops)
    >>> outcome.verdict, outcome.failed, outcome.leads
    ('FAIL', ('cites',), ('polite',))
    """
    if not drops:
        raise ValueError("drops (none) must hold at least one rule.")
    for name, test in drops.items():
        check.choice(f"drops[{name!r}].alternative", test.alternative, ("less",))
    level = check.proportion("alpha", alpha) / len(drops)
    pvalues = {name: test.pvalue for name, test in drops.items()}
    failed = tuple(name for name, pvalue in pvalues.items() if pvalue <= level)
    unknown = tuple(name for name, pvalue in pvalues.items() if isnan(pvalue))
    verdict, reason = _verdict(failed=bool(failed), unknown=bool(unknown))
    return Outcome(
        rule="no_rule_regression",
        verdict=verdict,
        estimate=min((pvalue for pvalue in pvalues.values() if not isnan(pvalue)), default=nan),
        limit=level,
        confidence=1 - level,
        reason=reason,
        failed=failed,
        leads=tuple(name for name, pvalue in pvalues.items() if level < pvalue <= alpha),
        unknown=unknown,
    )


def _verdict(*, failed: bool, unknown: bool) -> tuple[str, str]:
    if failed:
        return FAIL, ""
    return (INCONCLUSIVE, "unknown-bound") if unknown else (PASS, "")
