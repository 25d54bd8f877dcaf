"""What the pictures show, taken from the report; the few numbers that it lacks are computed here.

These are the curves over all attempts and the frontier in cost and pass rate alone. Both follow from counts
and means of the report, so that a million runs are drawn as quickly as ten.
"""

from collections.abc import Callable, Iterator, Sequence
from math import isnan, log, nan
from typing import Literal

from tiltyard_report.model import ArmRow, QuestionCell, Report
from tiltyard_report.pictures.numbers import (
    CostPoint,
    Course,
    Curve,
    Forest,
    ForestRow,
    HeatCell,
    Moved,
    Numbers,
    Settled,
    Stretch,
    Trade,
)
from tiltyard_stats import Interval, pareto, pass_at_k, pass_hat_k

_MANY_K = 10
"""Attempts up to which the curves go."""
_QUESTIONS = 200
"""Questions of each comparison that a picture and its table are made of: those that moved most."""
_UNKNOWN = "tokens not fully known"


def picture_numbers(report: Report) -> Numbers:
    """What the pictures of a report show."""
    return Numbers(
        forests=tuple(_forests(report)),
        cells=tuple(_heat(report)),
        curves=tuple(_curves(report)),
        trade=_trade(report),
        settled=tuple(_settled(report)),
        course=_course(report),
    )


def _arms(report: Report) -> Iterator[tuple[str, ArmRow]]:
    return ((agent.agent, row) for agent in report.agents for row in agent.arms)


def _forests(report: Report) -> Iterator[Forest]:
    compared = [(agent, row) for agent, row in _arms(report) if row.relative_tokens or row.delta]
    if report.baseline is None or not compared:
        return
    cells: dict[tuple[str, str], list[tuple[str, QuestionCell]]] = {}
    for question in report.questions:
        for cell in question.cells:
            cells.setdefault((cell.agent, cell.arm), []).append((question.question, cell))
    compared_cells = [(agent, arm, cells.get((agent, arm.arm), ())) for agent, arm in compared]
    yield _forest("tokens", report.baseline, compared_cells)
    yield _forest("passes", report.baseline, compared_cells)


_Compared = tuple[str, ArmRow, Sequence[tuple[str, QuestionCell]]]


def _forest(quantity: Literal["tokens", "passes"], baseline: str, compared: Sequence[_Compared]) -> Forest:
    rows: list[ForestRow] = []
    moved: list[Moved] = []
    for agent, arm, cells in compared:
        tokens = quantity == "tokens"
        rows.append((_token_row if tokens else _pass_row)(agent, arm))
        known = [
            (name, interval)
            for name, cell in cells
            if (interval := cell.relative_tokens if tokens else cell.difference)
        ]
        if len(cells) > 1:
            size: Callable[[Interval], float] = _distance if tokens else _size
            ranked = sorted(known, key=lambda item: -size(item[1]))
            rows += [ForestRow(agent, arm.arm, *item) for item in ranked[:_QUESTIONS]]
        if len(known) > _QUESTIONS:
            neutral = 1.0 if tokens else 0.0
            up, down = (sum(side * (item.estimate - neutral) > 0 for _, item in known) for side in (1, -1))
            moved.append(Moved(agent, arm.arm, up, down, len(known)))
    return Forest(quantity, baseline, tuple(rows), tuple(moved))


def _token_row(agent: str, arm: ArmRow) -> ForestRow:
    compared = arm.relative_tokens
    ratio = compared.ratio if compared else None
    why = "" if ratio else _UNKNOWN if compared and compared.gaps else "no tokens to compare"
    return ForestRow(agent, arm.arm, None, ratio, why)


def _pass_row(agent: str, arm: ArmRow) -> ForestRow:
    passes = arm.delta.passes if arm.delta else None
    if passes is None:
        return ForestRow(agent, arm.arm, None, None, "no common question")
    return ForestRow(agent, arm.arm, None, passes.interval, "", passes.decision.verdict)


def _size(difference: Interval) -> float:
    return abs(difference.estimate)


def _distance(ratio: Interval) -> float:
    """How far a ratio is from 1, in either direction."""
    return abs(log(ratio.estimate)) if ratio.estimate > 0 else 0.0


def _heat(report: Report) -> Iterator[HeatCell]:
    for row in report.questions:
        for cell in row.cells:
            if cell.correct.n:
                rate = cell.correct.successes / cell.correct.n
                score = cell.score.interval.estimate if cell.score.interval else rate
                yield HeatCell(
                    cell.agent,
                    cell.arm,
                    row.question,
                    cell.correct.successes,
                    cell.correct.n,
                    min(max(score, 0.0), 1.0),
                    cell.flaky,
                )


def _curves(report: Report) -> Iterator[Curve]:
    """Up to the attempts that every question has: over fewer questions a curve would jump."""
    counts: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in report.questions:
        for cell in row.cells:
            if cell.correct.n:
                own = counts.setdefault((cell.agent, cell.arm), [])
                own.append((cell.correct.successes, cell.correct.n))
    for (agent, arm), pairs in counts.items():
        passes, runs = ([pair[place] for pair in pairs] for place in (0, 1))
        ks = range(1, min(_MANY_K, *runs) + 1)
        yield Curve(
            agent,
            arm,
            tuple(pass_at_k(passes, runs, k, confidence=report.confidence) for k in ks),
            tuple(pass_hat_k(passes, runs, k, confidence=report.confidence) for k in ks),
        )


def _trade(report: Report) -> Trade | None:
    """In USD where every arm's is fully known, else in tokens."""
    rows = [(agent, row) for agent, row in _arms(report) if row.runs]
    in_usd = all(_whole(row, in_usd=True) for _, row in rows)
    known = [(agent, row) for agent, row in rows if _whole(row, in_usd=in_usd)]
    left_out = tuple(f"{row.arm} with {agent}" for agent, row in rows if not _whole(row, in_usd=in_usd))
    points = [
        point
        for agent in dict.fromkeys(agent for agent, _ in known)
        for point in _agent_points(agent, [row for name, row in known if name == agent], in_usd=in_usd)
    ]
    return Trade("USD" if in_usd else "tokens", tuple(points), left_out) if points else None


def _whole(row: ArmRow, *, in_usd: bool) -> bool:
    measure = row.usd if in_usd else row.tokens
    return measure.interval is not None and not measure.unknown and row.correct.interval is not None


def _agent_points(agent: str, rows: Sequence[ArmRow], *, in_usd: bool) -> Iterator[CostPoint]:
    """The arms of one agent: across agents token totals are not comparable."""
    costs = [(row.usd if in_usd else row.tokens).interval for row in rows]
    rates = [
        row.quality.rate.interval if row.quality and row.quality.rate else row.correct.interval
        for row in rows
    ]
    both = [(row, cost, rate) for row, cost, rate in zip(rows, costs, rates, strict=True) if cost and rate]
    best = pareto([[rate.estimate, cost.estimate] for _, cost, rate in both], [True, False]).frontier
    for place, (row, cost, rate) in enumerate(both):
        frontier = row.quality.frontier if row.quality else None
        yield CostPoint(
            agent,
            row.arm,
            cost,
            rate,
            place in best,
            frontier.probability if frontier else nan,
            frontier.axes if frontier else (),
        )


def _settled(report: Report) -> Iterator[Settled]:
    lines: dict[tuple[str, str], list[tuple[int, Interval]]] = {}
    for row in report.settled:
        if row.ratio is not None:
            lines.setdefault((row.agent, row.arm), []).append((row.rep, row.ratio))
    return (Settled(*series, tuple(after)) for series, after in lines.items() if len(after) > 1)


def _course(report: Report) -> Course | None:
    in_tokens = any(not isnan(row.relative_tokens) for row in report.order)
    stretches = tuple(
        Stretch(
            row.agent,
            row.arm,
            row.first,
            row.last,
            row.started_at,
            row.runs,
            row.passed,
            row.tokens if in_tokens else row.seconds,
            row.relative_tokens if in_tokens else row.relative_seconds,
        )
        for row in report.order
    )
    series = [(stretch.agent, stretch.arm) for stretch in stretches]
    if len(series) == len(set(series)):
        return None
    arms = len({stretch.arm for stretch in stretches})
    return Course("tokens" if in_tokens else "seconds", stretches, report.drift, arms)
