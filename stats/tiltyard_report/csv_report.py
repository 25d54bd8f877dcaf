"""The report as CSV: one row per arm (with its agent), or one per question and arm. Unknown is empty."""

import csv
import io
from collections.abc import Iterable, Mapping
from functools import cache
from math import isfinite

from tiltyard_report.measure_model import Measure
from tiltyard_report.model import ArmRow, Report
from tiltyard_specs.visible import visible
from tiltyard_stats import Interval, pass_at_k, pass_hat_k

_FORMULA = ("=", "+", "-", "@")
_DELTAS = ("score", "tokens", "usd", "seconds", "turns", "tool_calls")
"""Differences from the baseline, a run."""
_Value = str | float | int | bool | None


def render_csv(report: Report) -> str:
    """One row per agent and arm."""
    return _csv(_arm(agent.agent, row, report) for agent in report.agents for row in agent.arms)


def render_cases_csv(report: Report) -> str:
    """One row per question, agent and arm: the case matrix."""
    return _csv(_cases(report))


def _arm(agent: str, row: ArmRow, report: Report) -> dict[str, _Value]:
    quality, delta = row.quality, row.delta
    place = quality.frontier if quality else None
    passes = delta.passes if delta else None
    relative = row.relative_tokens
    fields: dict[str, _Value] = {
        "agent": agent,
        "arm": row.arm,
        "baseline": row.baseline,
        "runs": row.runs,
        "excluded": row.excluded,
        "passed": row.correct.successes,
        **_interval("pass_rate", quality.rate.interval if quality and quality.rate else None),
        **_measure("score", row.score),
        **_measure("tokens", row.tokens),
        **_measure("usd", row.usd),
        **_measure("seconds", row.seconds),
        **_measure("turns", row.turns),
        **_measure("tool_calls", row.tool_calls),
        "used_tool": row.used_tool.successes if row.used_tool else None,
        "used_tool_known": row.used_tool.n if row.used_tool else None,
        **_interval("reliability", quality.reliability if quality else None),
        **_interval("consistency", quality.consistency if quality else None),
        "always": quality.always if quality else None,
        "never": quality.never if quality else None,
        "flaky": quality.flaky if quality else None,
        "flaky_questions": ";".join(quality.flaky_questions) if quality else None,
    }
    for k in report.pass_k:
        found = next((item for item in quality.repeats if item.k == k), None) if quality else None
        fields |= _interval(f"pass_at_{k}", found.at_least_one if found else None)
        fields |= _interval(f"pass_hat_{k}", found.every if found else None)
    return fields | {
        **_interval("tokens_per_success", quality.tokens_per_success if quality else None),
        **_interval("usd_per_success", quality.usd_per_success if quality else None),
        **_interval("seconds_per_success", quality.seconds_per_success if quality else None),
        "frontier": place.on if place else None,
        "frontier_probability": place.probability if place else None,
        **_interval("relative_tokens", relative.ratio if relative else None),
        "tokens_p": relative.adjusted if relative else None,
        "tokens_verdict": relative.decision.verdict if relative and relative.decision else None,
        **_interval("pass_rate_difference", passes.interval if passes else None),
        "detectable_difference": passes.detectable if passes else None,
        "passes_p": passes.adjusted if passes else None,
        "passes_verdict": passes.decision.verdict if passes else None,
        **{
            name: value
            for quantity in _DELTAS
            for name, value in _interval(
                f"{quantity}_delta", getattr(delta, quantity) if delta else None
            ).items()
        },
        "flips": delta.flips if delta else None,
        "changed_factors": (
            ";".join(f"{item.name}={item.baseline}->{item.candidate}" for item in delta.factors)
            if delta
            else None
        ),
        "regressed": ";".join(delta.regressed) if delta else None,
        "improved": ";".join(delta.improved) if delta else None,
        "partial": report.state == "partial",
    }


def _cases(report: Report) -> Iterable[dict[str, _Value]]:
    for row in report.questions:
        for cell in row.cells:
            passed, runs = cell.correct.successes, cell.correct.n
            if not runs:
                continue
            fields: dict[str, _Value] = {
                "question": row.question,
                "agent": cell.agent,
                "arm": cell.arm,
                "runs": runs,
                "passed": passed,
                **_interval("pass_rate", cell.correct.interval),
                "flaky": cell.flaky,
                **_measure("score", cell.score),
                **_measure("tokens", cell.tokens),
                **_measure("usd", cell.usd),
                **_measure("seconds", cell.seconds),
                **_interval("relative_tokens", cell.relative_tokens),
                **_interval("pass_rate_difference", cell.difference),
            }
            for k in report.pass_k:
                for name in ("at", "hat"):
                    fields[f"pass_{name}_{k}"] = _of_k(name, passed, runs, k) if runs >= k else None
            yield fields | {"partial": report.state == "partial"}


@cache
def _of_k(name: str, passed: int, runs: int, k: int) -> float:
    """Few counts are different ones, however many questions there are."""
    return (pass_at_k if name == "at" else pass_hat_k)([passed], [runs], k).estimate


def _interval(name: str, item: Interval | None) -> dict[str, _Value]:
    return {
        name: item.estimate if item else None,
        f"{name}_low": item.low if item else None,
        f"{name}_high": item.high if item else None,
    }


def _measure(name: str, item: Measure) -> dict[str, _Value]:
    return {**_interval(name, item.interval), f"{name}_unknown": item.unknown}


def _csv(rows: Iterable[Mapping[str, _Value]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for index, row in enumerate(rows):
        if index == 0:
            writer.writerow(row)
        writer.writerow([_cell(value) for value in row.values()])
    return buffer.getvalue()


def _cell(value: _Value) -> str:
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    text = visible(value, one_line=True)
    # A spreadsheet takes such a text for a formula and runs it.
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
