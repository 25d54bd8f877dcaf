"""An estimate in words: amounts, the one line before each start, and how it stands to the budget."""

from collections.abc import Callable, Iterator

from tiltyard_cluster.estimate_model import Estimate, Range
from tiltyard_cluster.words import usd_text

_THOUSAND, _MILLION, _BILLION = 10**3, 10**6, 10**9
_NAMED = 3
Show = Callable[[float], str]


def short_line(estimate: Estimate) -> str:
    """The estimate in one line, for the start of a trial."""
    parts = [", ".join(_expected(estimate)), *_unknown(estimate)]
    if any(part.counts for part in estimate.parts):
        parts.append(budget_words(estimate))
    return "; ".join(part for part in parts if part)


def short_of_money(estimate: Estimate) -> bool:
    """Whether the budget is expected to end the trial before its runs are done."""
    return estimate.budget.verdict == "will not suffice"


def budget_words(estimate: Estimate) -> str:
    """How the estimate stands to the budget, without a full stop."""
    stands = estimate.budget
    if stands.budget is None or stands.left is None:
        return "no budget"
    show: Show = usd_text if stands.unit == "usd" else tokens_text
    expected = estimate.usd if stands.unit == "usd" else estimate.tokens
    unit = "" if stands.unit == "usd" else " tokens"
    left = f"{show(stands.left)} of {show(stands.budget)}{unit} left"
    if stands.tight and stands.call is not None:
        left += (
            f", and a call without a cap of its own may take {show(stands.call)}{unit} for its output alone"
        )
    words = f"the budget {stands.verdict}"
    if stands.verdict == "unknown":
        return f"whether the budget suffices is not known: {left}"
    if stands.verdict == "suffices" or expected is None:
        return f"{words}: {left}"
    return f"{words}: {range_text(expected, show)} expected, {left}"


def most_words(estimate: Estimate) -> str:
    """What the spend cannot pass, without a full stop."""
    most = estimate.most
    amounts = [usd_text(most.usd)] if most.usd is not None else []
    if most.tokens is not None:
        amounts.append(f"{tokens_text(most.tokens)} tokens")
    if not amounts:
        return "nothing bounds what these runs may spend: no budget, and no limit in USD or tokens"
    if most.by == "budget":
        return f"at most {', '.join(amounts)}: the budget is never passed"
    return (
        f"at most {', '.join(amounts)} by the limits of a run, every retry included; "
        "the call that reaches a limit may go beyond it"
    )


def tokens_text(tokens: float) -> str:
    """Tokens with three significant digits."""
    for size, letter in ((_BILLION, "B"), (_MILLION, "M"), (_THOUSAND, "k")):
        if tokens >= 10 * size or (tokens >= size and letter != "k"):
            return f"{_three(tokens / size)}{letter}"
    return f"{tokens:,.0f}"


def runs_text(runs: int) -> str:
    """A number of runs."""
    return f"{runs:,} run" if runs == 1 else f"{runs:,} runs"


def range_text(value: Range, show: Show) -> str:
    """A mean with its bounds."""
    if value.low is None or value.high is None:
        return f"{show(value.mean)} (spread unknown)"
    low, high = show(value.low), show(value.high)
    return show(value.mean) if low == high == show(value.mean) else f"{show(value.mean)} ({low} to {high})"


def _expected(estimate: Estimate) -> Iterator[str]:
    yield f"estimate for {runs_text(estimate.runs)}"
    if not any(part.counts for part in estimate.parts):
        yield "for which the spec names no model: nothing is known to be spent"
        return
    if estimate.tokens is None:
        return
    atleast = "at least " if estimate.unknown_tokens_runs else "about "
    yield f"{atleast}{range_text(estimate.tokens, tokens_text)} tokens"
    if estimate.usd is not None:
        would = "which would be " if estimate.scripted else ""
        atleast = "at least " if estimate.unknown_usd_runs else ""
        yield f"{would}{atleast}{range_text(estimate.usd, usd_text)}"
    yield f"from {estimate.earlier_runs} earlier {'one' if estimate.earlier_runs == 1 else 'ones'}"


def _unknown(estimate: Estimate) -> Iterator[str]:
    missing = [part for part in estimate.parts if part.missing]
    reasons = list(dict.fromkeys(part.missing or "" for part in missing))
    if len(reasons) > _NAMED:
        reasons[_NAMED - 1 :] = [f"and {len(reasons) - _NAMED + 1} reasons more"]
    if missing:
        yield f"unknown for {runs_text(sum(part.runs for part in missing))}: {', '.join(reasons)}"


def _three(value: float) -> str:
    """Three significant digits of a number from 1 to 9999."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"  # noqa: PLR2004 - a scale
