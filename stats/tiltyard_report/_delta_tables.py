"""What comparisons rest on: factors, questions that moved, crash policies, what would settle them."""

from collections.abc import Iterable, Sequence
from math import isnan

from tiltyard_report import _format as fmt
from tiltyard_report._beside_tables import beside
from tiltyard_report._table import escape, table
from tiltyard_report.delta_model import Delta, Settle
from tiltyard_report.model import ArmRow, Report

_SHOWN = 8
"""Comparisons and names that are told; JSON has all."""
_Rows = Sequence[tuple[str, ArmRow, Delta]]


def delta_sections(report: Report) -> Iterable[tuple[str, str]]:
    """A title and a body for each part that has something to say."""
    rows = [(agent.agent, row, row.delta) for agent in report.agents for row in agent.arms if row.delta]
    yield "Beside the baseline", beside(report)
    yield "What differs, and what moved", _list(_moved(rows, report))
    yield "If crashed runs are counted otherwise", _policies(rows)
    yield "What would settle it", _list(_settle(rows, report))


def computed(report: Report) -> str:
    """How each comparison was computed, what it claims and what was estimated."""
    rows = [(agent.agent, row, row.delta) for agent in report.agents for row in agent.arms if row.delta]
    return _list(_methods(rows))


def _moved(rows: _Rows, report: Report) -> Iterable[str]:
    said: set[str] = set()
    for _, row, delta in rows:
        if delta.factors and row.arm not in said:
            said.add(row.arm)
            changes = (
                f"{item.name}: {_side(item.baseline)} -> {_side(item.candidate)}" for item in delta.factors
            )
            yield f"{row.arm} differs from {report.baseline} in {'; '.join(changes)}."
    share = f"more than {fmt.points(report.regression_threshold).lstrip('+')} points"
    for agent, row, delta in rows[:_SHOWN]:
        for word, names in (("worse", delta.regressed), ("better", delta.improved)):
            if names:
                which = fmt.plural(len(names), "question")
                yield f"{row.arm} with {agent}, {share} {word} in {which}: {fmt.listed(names, _SHOWN)}."
    yield from _more(rows)


def _side(value: str | None) -> str:
    return "none" if value is None else value


def _policies(rows: _Rows) -> str:
    """Only where runs crashed: without a crash all policies are the same."""
    differ = [
        item for item in rows if len({(p.passes, p.difference, p.tokens) for p in item[2].policies}) > 1
    ]
    if not differ:
        return ""
    head = ["comparison", "crashed runs", "points", "passes", "tokens", "flips"]
    cells = [
        [
            f"{row.arm} with {agent}",
            _WORDS[policy.policy],
            fmt.amount(policy.difference, fmt.points),
            policy.passes,
            policy.tokens,
            "FLIPS" if policy.flips else "no",
        ]
        for agent, row, delta in differ[:_SHOWN]
        for policy in delta.policies
    ]
    return f"{table(head, cells, text_columns=2)}\n\n{_list(_bounded(differ[:_SHOWN]))}".rstrip()


def _bounded(rows: _Rows) -> Iterable[str]:
    """What crashed runs leave of a difference of pass rates."""
    for agent, row, delta in rows:
        found = delta.bounds
        if found:
            noise = f"{_span(found.outer_low, found.outer_high)} with the noise of the runs"
            yield (
                f"{row.arm} with {agent}: wherever the crashed runs ({found.lost_arm} against "
                f"{found.lost_baseline}) would have ended, the difference is "
                f"{_span(found.low, found.high)} points{'' if isnan(found.outer_low) else f' ({noise})'}."
            )


def _span(low: float, high: float) -> str:
    return f"{fmt.points(low)} to {fmt.points(high)}"


_WORDS = {"exclude": "excluded", "failures": "failures", "worst-case": "worst case"}


def _settle(rows: _Rows, report: Report) -> Iterable[str]:
    for agent, row, delta in rows[:_SHOWN]:
        for item in delta.settle:
            yield f"{row.arm} with {agent}, {_NAMES[item.measure]}: {_needed(item, report)}."
    yield from _more([item for item in rows if item[2].settle])


_NAMES = {"tokens": "tokens", "passes": "pass rate"}


def _needed(item: Settle, report: Report) -> str:
    if item.runs_per_arm is None:
        return item.reason
    cost = [fmt.amount(item.tokens, lambda value: f"about {fmt.thousands(value)}k tokens")]
    cost.append(fmt.amount(item.usd, lambda value: f"about {fmt.dollars(value)}"))
    known = [text for text in cost if text != fmt.NONE]
    would = "which would use" if not report.scripted else "which would use, scripted,"
    price = f", {would} {', '.join(known)}" if known and item.more_runs else ""
    return (
        f"about {item.runs_per_arm:,} runs a side if the difference is as seen, "
        f"{fmt.plural(item.more_runs or 0, 'more run')} over both arms{price}"
    )


def _methods(rows: _Rows) -> Iterable[str]:
    for agent, row, delta in rows[:_SHOWN]:
        who = f"{row.arm} with {agent}"
        if delta.tokens_method:
            yield f"{who}, tokens: {delta.tokens_method} {delta.tokens_claim} {delta.tokens_estimand}"
        if delta.passes:
            yield f"{who}, passes: {delta.passes.method} {delta.passes.claim} {delta.passes.estimand}"
    yield from _more(rows)


def _more(rows: _Rows) -> Iterable[str]:
    if len(rows) > _SHOWN:
        yield f"{fmt.plural(len(rows) - _SHOWN, 'more comparison')}: the JSON form has them all."


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)
