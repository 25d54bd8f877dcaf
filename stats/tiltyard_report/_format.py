"""Numbers as a reader wants them. An unknown one is a word or a dash, never 0 and never an invented bound."""

from collections.abc import Callable
from math import isfinite

from tiltyard_report.model import Rate
from tiltyard_stats import Interval

NONE = "–"  # noqa: RUF001 - an en dash is meant
_REASONS = {
    "n<2": "1 run",
    "zero-variance": "no spread",
    "zero-mean": "mean 0",
}


def significant(value: float) -> str:
    """Three significant digits below a thousand, whole numbers above."""
    if value == 0:
        return "0"
    if not isfinite(value):
        return NONE
    size = abs(value)
    decimals = 3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0  # noqa: PLR2004 - a scale
    text = f"{value:,.{decimals}f}"
    return text if float(text.replace(",", "")) else "<0.001"


def tenths(value: float) -> str:
    """A number with one decimal."""
    return f"{value:,.1f}"


def thousands(value: float) -> str:
    """A number of tokens, in thousands."""
    return significant(value / 1000)


def dollars(value: float) -> str:
    """USD to the cent, or finer below ten cents."""
    if value == 0 or value >= 0.1:  # noqa: PLR2004 - ten cents
        return f"${value:,.2f}"
    text = f"${value:.4f}"
    return "<$0.0001" if text == "$0.0000" else text


def factor(value: float) -> str:
    """A ratio. A value that is not 1 is not rounded to 1: its side of 1 is what the verdict rests on."""
    if value >= 1000:  # noqa: PLR2004 - no reader needs more
        return "over 1,000"
    decimals = 2 if value >= 0.095 or value == 0 else 4  # noqa: PLR2004 - two digits at least
    while decimals < 5 and value != 1 and round(value, decimals) == 1:  # noqa: PLR2004
        decimals += 1
    return f"{value:.{decimals}f}"


def percent(value: float) -> str:
    """A share as a whole percentage. Neither 0 nor 100 is shown for what is not."""
    whole = round(100 * value)
    if whole == 100 and value < 1:  # noqa: PLR2004
        return ">99"
    return "<1" if whole == 0 and value > 0 else str(whole)


def level(confidence: float) -> str:
    """A nominal coverage in percent, as it was asked for."""
    return f"{100 * confidence:.6g}"


def pvalue(value: float) -> str:
    """A p value with its relation, never `p=0.000`."""
    return "p<0.001" if value < 0.001 else f"p={value:.3f}"  # noqa: PLR2004


def unknown_bounds(interval: Interval) -> str:
    """Why an interval has no bounds."""
    why = [_REASONS[code] for code in interval.warnings if code in _REASONS]
    if why == [_REASONS["n<2"]] and interval.n > 1:
        why = ["no repeats"]
    return f"not known: {why[0]}" if why else "not known"


def with_bounds(interval: Interval | None, show: Callable[[float], str], unit: str = "") -> str:
    """An estimate with its bounds in brackets."""
    if interval is None:
        return "unknown"
    inside = f"{show(interval.low)} to {show(interval.high)}" if interval.known else unknown_bounds(interval)
    return f"{show(interval.estimate)}{unit} ({inside})"


def rate(value: Rate) -> str:
    """Passes of runs with the interval in percent."""
    if value.interval is None:
        return f"{NONE} (no runs)"
    low, high = percent(value.interval.low), percent(value.interval.high)
    return f"{value.successes}/{value.n}, {percent(value.interval.estimate)}% ({low} to {high})"


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
