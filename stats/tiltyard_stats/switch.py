"""Whether to switch to another agent, arm or model: it must be no worse, and its cost within a limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats.gates.differences import no_regression
from tiltyard_stats.gates.limits import max_cost_ratio
from tiltyard_stats.gates.outcome import FAIL, PASS, Outcome

SWITCH = "SWITCH"
KEEP = "KEEP"
NOT_YET = "NOT YET"
UNHEALTHY = "UNHEALTHY"
EXIT_CODES = {SWITCH: 0, KEEP: 1, NOT_YET: 2, UNHEALTHY: 3}

_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to switch: the candidate as it is, or adapted."""

    name: str
    quality: Interval
    """Pass rate, candidate minus current."""
    cost: Interval
    """Relative cost, candidate over current."""
    slices: Mapping[str, Interval] = field(default_factory=dict)
    """Quality by slice, for strict slices."""
    cost_per_accepted: Interval | None = None
    """Spend of all its runs over its accepted results; reported beside the decision."""


@dataclass(frozen=True, slots=True)
class CandidateOutcome:
    """What the rule says of one candidate."""

    name: str
    verdict: str
    """`SWITCH`, `KEEP` or `NOT YET`."""
    quality: Outcome
    cost: Outcome
    slices: Mapping[str, Outcome]
    worst_slice: str | None
    """The slice that decided, under strict slices."""
    cost_per_accepted: Interval | None


@dataclass(frozen=True, slots=True)
class Switch:
    """The decision."""

    verdict: str
    """`SWITCH`, `KEEP`, `NOT YET` or `UNHEALTHY`."""
    exit_code: int
    """0 SWITCH, 1 KEEP, 2 NOT YET, 3 UNHEALTHY."""
    chosen: str | None
    """The candidate to switch to: the first that may be switched to."""
    confidence: float
    """Confidence that each interval had to have."""
    candidates: tuple[CandidateOutcome, ...]


def switch_confidence(candidates: int, *, alpha: float = 0.05) -> float:
    """Confidence that each interval must have.

    Parameters
    ----------
    candidates : int
        Ways to switch that are tried: 1, or 2 when the candidate is also tried adapted.
    alpha : float
        Two-sided, for the decision as a whole.

    Returns
    -------
    float
        1 - alpha / candidates: the better one of two is two chances to be lucky.

    Raises
    ------
    ValueError
        When `candidates` is below 1 or `alpha` outside (0, 1).

    Examples
    --------
    >>> switch_confidence(1), switch_confidence(2)
    (0.95, 0.975)
    """
    return 1 - check.proportion("alpha", alpha) / check.whole("candidates", candidates, 1)


def switch(
    candidates: Sequence[Candidate],
    *,
    margin: float,
    max_ratio: float,
    alpha: float = 0.05,
    strict_slices: bool = False,
    unhealthy: bool = False,
) -> Switch:
    """Decide whether to switch.

    Parameters
    ----------
    candidates : sequence of Candidate
        At least one, the preferred one first; each interval at `switch_confidence` of their number.
    margin : float
        How much worse is still accepted, at least 0.
    max_ratio : float
        How many times the present cost is still accepted, above 0.
    alpha : float
        Two-sided, for the decision as a whole.
    strict_slices : bool
        Whether a candidate is no better than its worst slice.
    unhealthy : bool
        Whether too much was lost to decide anything.

    Returns
    -------
    Switch
        SWITCH when quality and cost of a candidate both pass, KEEP when each candidate fails one of them,
        else NOT YET. Two tests that must both pass need no correction [1]_. A NaN bound passes nothing.

    Raises
    ------
    ValueError
        When there is no candidate, names repeat, an interval has too little confidence, slices are strict and
        a candidate has none, or a limit is out of its range.

    References
    ----------
    .. [1] Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24.

    Examples
    --------
    >>> quality = Interval(0.01, -0.02, 0.04, 0.95, "mover", 200, "these cases")
    >>> cost = Interval(0.70, 0.60, 0.81, 0.95, "log-t", 200, "these cases")
    >>> switch([Candidate("small", quality, cost)], margin=0.03, max_ratio=1.0).verdict
    'SWITCH'
    """
    confidence = switch_confidence(len(candidates), alpha=alpha)
    names = [candidate.name for candidate in candidates]
    if len(set(names)) < len(names):
        raise ValueError(f"candidates ({names}) must have names of their own.")
    for candidate in candidates:
        _check(candidate, confidence, strict_slices=strict_slices)
    outcomes = tuple(
        _candidate(candidate, margin, max_ratio, strict_slices=strict_slices) for candidate in candidates
    )
    verdicts = [outcome.verdict for outcome in outcomes]
    if unhealthy:
        verdict = UNHEALTHY
    elif SWITCH in verdicts:
        verdict = SWITCH
    else:
        verdict = NOT_YET if NOT_YET in verdicts else KEEP
    chosen = names[verdicts.index(SWITCH)] if verdict == SWITCH else None
    return Switch(verdict, EXIT_CODES[verdict], chosen, confidence, outcomes)


def _check(candidate: Candidate, confidence: float, *, strict_slices: bool) -> None:
    if strict_slices and not candidate.slices:
        raise ValueError(f"{candidate.name}.slices (none) must hold a slice when slices are strict.")
    parts = {"quality": candidate.quality, "cost": candidate.cost}
    parts |= {f"slices[{name!r}]": interval for name, interval in candidate.slices.items()}
    for name, interval in parts.items():
        if interval.confidence < confidence - _SLACK:
            raise ValueError(
                f"{candidate.name}.{name}.confidence ({interval.confidence}) must be at least {confidence}."
            )


def _candidate(
    candidate: Candidate, margin: float, max_ratio: float, *, strict_slices: bool
) -> CandidateOutcome:
    quality = no_regression(candidate.quality, margin)
    cost = max_cost_ratio(candidate.cost, max_ratio)
    slices = {name: no_regression(interval, margin) for name, interval in candidate.slices.items()}
    worst = _worst(slices) if strict_slices else None
    parts = [quality.verdict, cost.verdict, *([slices[worst].verdict] if worst is not None else [])]
    passes = SWITCH if all(part == PASS for part in parts) else NOT_YET
    verdict = KEEP if FAIL in parts else passes
    return CandidateOutcome(
        candidate.name, verdict, quality, cost, slices, worst, candidate.cost_per_accepted
    )


def _worst(slices: Mapping[str, Outcome]) -> str:
    order = {FAIL: 0, PASS: 2}
    return min(slices, key=lambda name: (order.get(slices[name].verdict, 1), slices[name].low))
