"""What changed most, in sentences: the clear verdicts first, then the questions that moved furthest."""

from collections.abc import Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report.delta_model import Delta
from tiltyard_report.model import AgentReport, ArmRow, QuestionRow
from tiltyard_stats.decide import NO_DIFFERENCE, NO_VERDICT

_SHOWN = 5
_MANY = 200
"""Questions above which those that moved most did so by chance: then their number says more."""
_WORTH = 0.05
"""A move of a mean, as a share, that is worth a sentence."""


def changes(
    agents: Sequence[AgentReport], questions: Sequence[QuestionRow], baseline: str | None
) -> tuple[str, ...]:
    """At most five sentences, the largest change of each kind first."""
    rows = [(agent.agent, row, row.delta) for agent in agents for row in agent.arms if row.delta]
    moved = _moves(rows, len(questions)) if len(questions) > _MANY else _questions(questions)
    said = [*_flips(rows), *_passes(rows), *_tokens(rows), *moved]
    return tuple(said[:_SHOWN]) if baseline is not None else ()


_Rows = Sequence[tuple[str, ArmRow, Delta]]


def _flips(rows: _Rows) -> Iterable[str]:
    for agent, row, delta in rows:
        if delta.flips:
            how = " and ".join(_POLICY[each.policy] for each in delta.policies if each.flips)
            yield f"The verdict on {row.arm} with {agent} flips when crashed runs {how}."


_POLICY = {
    "exclude": "are excluded",
    "failures": "count as failures",
    "worst-case": "go against an arm",
}


def _passes(rows: _Rows) -> Iterable[str]:
    moved = [(agent, row, delta.passes) for agent, row, delta in rows if delta.passes]
    clear = [item for item in moved if item[2].decision.verdict not in {NO_DIFFERENCE, NO_VERDICT}]
    for agent, row, passes in sorted(clear, key=lambda item: -abs(item[2].interval.estimate)):
        yield (
            f"Pass rate of {row.arm} with {agent}: {fmt.points(passes.interval.estimate)} points "
            f"({fmt.point_bounds(passes.interval)}), {fmt.pvalue(passes.adjusted)}."
        )


def _tokens(rows: _Rows) -> Iterable[str]:
    clear = [
        (agent, row.arm, relative.ratio)
        for agent, row, _ in rows
        if (relative := row.relative_tokens)
        and relative.ratio
        and relative.decision
        and relative.decision.verdict not in {NO_DIFFERENCE, NO_VERDICT}
    ]
    for agent, arm, ratio in sorted(clear, key=lambda item: -abs(fmt.log_size(item[2].estimate))):
        bounds = f"{fmt.factor(ratio.low)} to {fmt.factor(ratio.high)}"
        yield f"Tokens of {arm} with {agent}: {fmt.factor(ratio.estimate)}x ({bounds})."


def _moves(rows: _Rows, questions: int) -> Iterable[str]:
    """How many questions moved, of all; which ones they are stands in the CSV."""
    for agent, row, delta in rows:
        up, down = len(delta.improved), len(delta.regressed)
        if up or down:
            yield (
                f"{row.arm} with {agent}: of {questions:,} questions {up:,} pass more often and {down:,} "
                f"less, by over {fmt.percent(delta.threshold)} points (each one is a lead: few runs)."
            )


def _questions(questions: Sequence[QuestionRow]) -> Iterable[str]:
    """Where passes moved most; a single question has few runs, so it is a lead."""
    moved = [
        (cell.difference.estimate, row.question, cell)
        for row in questions
        for cell in row.cells
        if cell.difference and abs(cell.difference.estimate) > _WORTH
    ]
    for size, question, cell in sorted(moved, key=lambda item: -abs(item[0])):
        runs = fmt.plural(cell.correct.n, "run")
        yield f"{question}: {fmt.points(size)} points for {cell.arm} with {cell.agent} (a lead: {runs})."
