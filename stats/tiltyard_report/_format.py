"""Numbers as a reader wants them. An unknown one is a word or a dash, never 0 and never an invented bound."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import floor, inf, isfinite, log, log10

from tiltyard_report._table import aligned
from tiltyard_report.measure_model import Rate
from tiltyard_stats import Interval

Show = Callable[[float], str]
NONE = "–"  # noqa: RUF001 - an en dash is meant
_REASONS = {
    "n<2": "1 run",
    "zero-variance": "no spread",
    "zero-mean": "mean 0",
    "few-successes": "under 5 passes",
    "no-successes": "no passes",
    "degenerate": "no spread",
}


def significant(value: float) -> str:
    """Three significant digits below a thousand, whole numbers above."""
    if value == 0:
        return "0"
    if not isfinite(value):
        return NONE
    text = f"{value:,.{_decimals(abs(value))}f}"
    return text if float(text.replace(",", "")) else "<0.001"


def tenths(value: float) -> str:
    """A number with one decimal."""
    return f"{value:,.1f}"


def thousands(value: float) -> str:
    """A number of tokens, in thousands."""
    return significant(value / 1000)


def dollars(value: float) -> str:
    """USD to the cent, or finer below ten cents."""
    if not isfinite(value):
        return NONE
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


def factor_bounds(interval: Interval) -> str:
    """The bounds of a ratio."""
    if not interval.known:
        return unknown_bounds(interval)
    return f"{factor(interval.low)} to {factor(interval.high)}"


def points(value: float) -> str:
    """A difference of two shares in percentage points, with its sign."""
    text = f"{100 * value:+.1f}"
    return "0.0" if float(text) == 0 else text


def point_bounds(interval: Interval) -> str:
    """The bounds of such a difference."""
    if not interval.known:
        return unknown_bounds(interval)
    return f"{points(interval.low)} to {points(interval.high)}"


def amount(value: float, show: Show) -> str:
    """A number, or a dash where it is not known."""
    return show(value) if isfinite(value) else NONE


def log_size(ratio: float) -> float:
    """How far a ratio is from 1, either way."""
    return log(ratio) if ratio > 0 else inf


def bare_pvalue(value: float) -> str:
    """A p value under a heading that says so."""
    return amount(value, lambda known: "<0.001" if known < 0.001 else f"{known:.3f}")  # noqa: PLR2004


def unknown_bounds(interval: Interval, over: str = "run") -> str:
    """Why an interval has no bounds; `over` is what it counts."""
    why = [_REASONS[code] for code in interval.warnings if code in _REASONS]
    if why == [_REASONS["n<2"]]:
        why = ["no repeats"] if interval.n > 1 else [f"1 {over}"]
    return why[0] if why else "not known"


def intervals(
    items: Sequence[Interval | None], show: Show, unit: str = "", *, over: str = "run"
) -> list[str]:
    """The cells of a column: estimates with their bounds in brackets, lined up."""
    known = [item for item in items if item and item.known]
    parts = [(f"{show(item.estimate)}{unit}", show(item.low), show(item.high)) for item in known]
    lined_up = iter([f"{estimate} ({low} to {high})" for estimate, low, high in aligned(parts)])
    return [next(lined_up) if item and item.known else _unbounded(item, show, unit, over) for item in items]


def rates(items: Sequence[Rate]) -> list[str]:
    """The cells of a column: passes of runs with the interval of their share in percent, lined up."""
    known = [(item, item.interval) for item in items if item.interval]
    parts = [
        (f"{item.successes}/{item.n}", percent(bounds.low), percent(bounds.high)) for item, bounds in known
    ]
    lined_up = iter([f"{score} ({low} to {high}%)" for score, low, high in aligned(parts)])
    return [next(lined_up) if item.interval else f"{NONE} (no runs)" for item in items]


def alike(values: Iterable[float]) -> Show:
    """How to show the numbers of one column: with one number of decimals.

    It is what the largest needs, or more where the smallest would lose its second digit.
    """
    sizes = [abs(value) for value in values if value and isfinite(value)]
    if not sizes:
        return significant
    decimals = max(_decimals(max(sizes)), min(3, -floor(log10(min(sizes))) + 1))

    def show(value: float) -> str:
        text = f"{value:,.{decimals}f}"
        return text if value == 0 or float(text.replace(",", "")) else significant(value)

    return show


def _unbounded(item: Interval | None, show: Show, unit: str, over: str) -> str:
    return f"{show(item.estimate)}{unit} ({unknown_bounds(item, over)})" if item else "unknown"


def _decimals(size: float) -> int:
    return 3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0  # noqa: PLR2004 - a scale


def most_frequent(reasons: Counter[str | None], limit: int = 120) -> str:
    """The most frequent of some reasons, on one line and of bounded length; ties go by the alphabet."""
    ranked = sorted(((-count, reason) for reason, count in reasons.items() if reason), key=lambda item: item)
    text = " ".join(ranked[0][1].split()).rstrip(".") if ranked else ""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(names: Sequence[str], limit: int = 3) -> str:
    """Some names in a sentence; of many the first ones."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
