"""What the runs cost, in words: sums, and bounds where some runs are not fully known."""

from tiltyard_report import _format as fmt
from tiltyard_report._table import escape
from tiltyard_report.model import Report, Spend


def spending(report: Report) -> str:
    """One line for all runs, for the excluded ones of each arm, and for retried attempts."""
    scripted = report.scripted
    lines = [f"- All {fmt.plural(report.spend.runs, 'run')}: {_spent(report.spend, scripted)}."]
    for row in report.outcomes:
        if row.excluded.runs:
            excluded = fmt.plural(row.excluded.runs, "excluded run")
            lines.append(
                f"- Of that in the {excluded} of {escape(row.arm)}: {_spent(row.excluded, scripted)}."
            )
    if report.earlier_attempts.runs:
        earlier = fmt.plural(report.earlier_attempts.runs, "earlier attempt")
        lines.append(f"- On top, {earlier} that settled no run: {_spent(report.earlier_attempts, scripted)}.")
    return "\n".join(lines)


def _spent(spend: Spend, scripted: bool) -> str:  # noqa: FBT001 - a property of the report
    word = "scripted tokens" if scripted else "tokens"
    apart = spend.tokens_unknown - spend.open_runs
    tokens = _bounded(spend.tokens, f"{fmt.thousands(spend.tokens)}k {word}", spend.tokens_unknown, apart)
    apart = spend.usd_unknown - spend.open_runs
    dollars = _bounded(spend.usd, fmt.dollars(spend.usd), spend.usd_unknown, apart)
    if scripted and dollars:
        dollars = f"would be {dollars} at the spec's prices (scripted)"
    return (
        f"{tokens or _none('tokens', spend.tokens_unknown)}, {dollars or _none('USD', spend.usd_unknown)}"
        + (f" ({_open(spend)})" if spend.open_calls else "")
    )


def _bounded(amount: float, text: str, unknown: int, apart: int) -> str:
    """A sum, marked where some runs are unknown: then it is a lower bound, and one of 0 says nothing.

    `apart` of the unknown runs have no calls of unknown usage, which are told on their own.
    """
    if not amount or not unknown:
        return text if amount else ""
    return f"at least {text}" + (f" ({apart} unknown)" if apart else "")


def _none(unit: str, unknown: int) -> str:
    return f"{unit} unknown" if unknown else f"no {unit}"


def _open(spend: Spend) -> str:
    calls, runs = fmt.plural(spend.open_calls, "call"), fmt.plural(spend.open_runs, "run")
    text = f"the usage of {calls} in {runs} is not fully known"
    if spend.most_usd is not None:
        return f"{text}; charged at most {fmt.dollars(spend.most_usd)}"
    if spend.most_tokens is not None:
        return f"{text}; charged at most {fmt.thousands(spend.most_tokens)}k tokens"
    return text
