"""Rules that hold one figure against a limit."""

from tiltyard_stats import _validate as check
from tiltyard_stats._result import Interval
from tiltyard_stats.gates.outcome import FAIL, INCONCLUSIVE, PASS, UNHEALTHY, Outcome


def min_rule_rate(rate: Interval, minimum: float, *, rule: str = "min_rule_rate") -> Outcome:
    """The pass rate of a rule must reach a minimum, judged on its interval.

    Parameters
    ----------
    rate : Interval
        Of the candidate.
    minimum : float
        In [0, 1].
    rule : str
        Name of the outcome, to tell several rules apart.

    Returns
    -------
    Outcome
        FAIL when the upper bound is below the minimum, PASS when the lower one reaches it, else INCONCLUSIVE.

    Raises
    ------
    ValueError
        When `minimum` is outside [0, 1].

    Examples
    --------
    >>> from tiltyard_stats import wilson
    >>> min_rule_rate(wilson(58, 228, confidence=0.9), 0.35).verdict
    'FAIL'
    """
    check.share("minimum", minimum)
    return _against(rule, rate, minimum, fails=rate.high < minimum, passes=rate.low >= minimum)


def max_cost_ratio(ratio: Interval, limit: float) -> Outcome:
    """The candidate may cost so many times what the baseline costs, judged on the interval.

    Parameters
    ----------
    ratio : Interval
        Relative cost, candidate over baseline.
    limit : float
        Above 0, such as 1.1.

    Returns
    -------
    Outcome
        PASS when the upper bound is within the limit, FAIL when the lower one is above it, else INCONCLUSIVE;
        also when the cost comparison is blocked (`blocked`).

    Raises
    ------
    ValueError
        When `limit` is not above 0.

    Examples
    --------
    >>> max_cost_ratio(Interval(0.89, 0.80, 0.99, 0.95, "log-t", 40, "these cases"), 1.1).verdict
    'PASS'
    """
    check.above("limit", limit, 0)
    if ratio.claim == "blocked":
        return Outcome.judged("max_cost_ratio", INCONCLUSIVE, ratio, limit, "blocked")
    return _against("max_cost_ratio", ratio, limit, fails=ratio.low > limit, passes=ratio.high <= limit)


def _against(rule: str, interval: Interval, limit: float, *, fails: bool, passes: bool) -> Outcome:
    if (fails or passes) and not interval.unknown:
        return Outcome.judged(rule, FAIL if fails else PASS, interval, limit, "")
    return Outcome.judged(
        rule, INCONCLUSIVE, interval, limit, "spans-limit" if interval.known else "unknown-bound"
    )


def max_no_answer(count: int, n: int, limit: float) -> Outcome:
    """At most this share of the runs may come without an answer.

    Parameters
    ----------
    count, n : int
        Runs without an answer, and runs in all; `n` at least 1.
    limit : float
        Share in [0, 1].

    Returns
    -------
    Outcome
        FAIL above the limit, else PASS: a point threshold, without an interval.

    Raises
    ------
    ValueError
        When there is no run, `count` exceeds `n`, or `limit` is outside [0, 1].

    Examples
    --------
    >>> max_no_answer(3, 100, 0.02).verdict
    'FAIL'
    """
    return _share("max_no_answer", count, n, limit, FAIL)


def max_infra(count: int, n: int, limit: float = 0.05) -> Outcome:
    """At most this share of the attempts may be lost to the infrastructure.

    Parameters
    ----------
    count, n : int
        Attempts lost, and attempts in all; `n` at least 1.
    limit : float
        Share in [0, 1].

    Returns
    -------
    Outcome
        UNHEALTHY above the limit, else PASS.

    Raises
    ------
    ValueError
        As for `max_no_answer`.

    Examples
    --------
    >>> max_infra(6, 100).verdict
    'UNHEALTHY'
    """
    return _share("max_infra", count, n, limit, UNHEALTHY)


def _share(rule: str, count: int, n: int, limit: float, beyond: str) -> Outcome:
    count, n = check.passes_of("count", count, "n", n)
    check.share("limit", limit)
    share = count / n
    return Outcome(rule, beyond if share > limit else PASS, estimate=share, limit=limit)


def min_runs(runs: int, required: int) -> Outcome:
    """There must be so many complete runs.

    Parameters
    ----------
    runs : int
        Complete runs of the arm that has fewer.
    required : int
        At least 1.

    Returns
    -------
    Outcome
        INCONCLUSIVE with `few-runs` below the requirement, else PASS.

    Raises
    ------
    ValueError
        When a number is not whole or out of its range.

    Examples
    --------
    >>> min_runs(1, 2).reason
    'few-runs'
    """
    enough = check.whole("runs", runs, 0) >= check.whole("required", required, 1)
    return Outcome(
        rule="min_runs",
        verdict=PASS if enough else INCONCLUSIVE,
        estimate=float(runs),
        limit=float(required),
        reason="" if enough else "few-runs",
        runs=None if enough else required,
    )
