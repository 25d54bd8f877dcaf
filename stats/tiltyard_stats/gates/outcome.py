"""What a rule of a gate finds, and what the rules say together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Self

from tiltyard_stats._result import Interval

PASS = "PASS"  # noqa: S105 - a verdict
FAIL = "FAIL"
INCONCLUSIVE = "INCONCLUSIVE"
UNHEALTHY = "UNHEALTHY"

PRECEDENCE = (UNHEALTHY, FAIL, INCONCLUSIVE, PASS)
"""Gravest first."""
EXIT_CODES = {PASS: 0, FAIL: 1, INCONCLUSIVE: 2, UNHEALTHY: 3}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one rule finds."""

    rule: str
    """Its name, such as `no_regression`."""
    verdict: str
    """`PASS`, `FAIL`, `INCONCLUSIVE` or `UNHEALTHY`."""
    estimate: float = nan
    low: float = nan
    high: float = nan
    limit: float = nan
    """What the rule compares with, in the unit of the estimate."""
    confidence: float = nan
    reason: str = ""
    """Code when it is inconclusive: `unknown-bound`, `spans-limit`, `rerun`, `few-runs`, `blocked`, or
    `no-data`."""
    runs: int | None = None
    """Runs per arm that would settle it if the estimate holds; None when unknown or not by more runs."""
    failed: tuple[str, ...] = ()
    """Members of a family (slices, rules) that are proven to have dropped."""
    leads: tuple[str, ...] = ()
    """Members that look bad and are not proven: where to look, not what to claim."""
    unknown: tuple[str, ...] = ()
    """Members of which nothing is known, as their bound is NaN."""
    missing: tuple[str, ...] = ()
    """Members without data: listed, not counted."""

    @classmethod
    def judged(
        cls, rule: str, verdict: str, interval: Interval, limit: float, reason: str, runs: int | None = None
    ) -> Self:
        """What a rule finds from one interval."""
        return cls(
            rule=rule,
            verdict=verdict,
            estimate=interval.estimate,
            low=interval.low,
            high=interval.high,
            limit=limit,
            confidence=interval.confidence,
            reason=reason,
            runs=runs,
        )


@dataclass(frozen=True, slots=True)
class Gate:
    """What all rules say together."""

    verdict: str
    exit_code: int
    """0 PASS, 1 FAIL, 2 INCONCLUSIVE, 3 UNHEALTHY."""
    outcomes: tuple[Outcome, ...]


def gate(outcomes: Sequence[Outcome]) -> Gate:
    """The verdict of a gate: the gravest one of its rules.

    Parameters
    ----------
    outcomes : sequence of Outcome
        At least one.

    Returns
    -------
    Gate
        UNHEALTHY before FAIL before INCONCLUSIVE before PASS.

    Raises
    ------
    ValueError
        When there is no outcome: a gate without a rule would let everything pass.

    Examples
    --------
    >>> gate([Outcome("min_runs", "PASS"), Outcome("no_regression", "INCONCLUSIVE")]).exit_code
    2
    """
    if not outcomes:
        raise ValueError("outcomes (none) must hold at least one outcome.")
    verdict = min((outcome.verdict for outcome in outcomes), key=PRECEDENCE.index)
    return Gate(verdict, EXIT_CODES[verdict], tuple(outcomes))
