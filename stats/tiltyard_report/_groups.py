"""Runs grouped by arm, capability, question, and model and effort; each agent apart.

No score goes over capabilities: a capability of many questions would weigh most, and nobody meant that.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from tiltyard_report._measures import correct, measure, seconds, tokens, usd
from tiltyard_report._run import Run
from tiltyard_report._selection import Selection
from tiltyard_report.group_model import Group
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import QuestionCell, QuestionRow

_Key = Callable[[Run], str]
_Cells = Mapping[tuple[str, str, str], QuestionCell]
"""By question with its capability, agent and arm."""


class _Level(NamedTuple):
    name: Literal["arm", "capability", "question", "variant"]
    key: _Key


def groups(chosen: Selection, rows: Sequence[QuestionRow]) -> tuple[tuple[Group, ...], int]:
    """The groups, and how many were left out because runs of them are missing."""
    done, left_out = _completed(chosen)
    levels = [_Level("arm", lambda run: run.arm)]
    if any(run.capability is not None for run in done):
        levels.append(_Level("capability", lambda run: run.capability or ""))
    levels += [_Level("question", lambda run: run.question), _Level("variant", lambda run: run.agent)]
    cells = {(row.question, cell.agent, cell.arm): cell for row in rows for cell in row.cells}
    names = (*chosen.arms, *chosen.questions, *chosen.agents)
    grouping = _Grouping(cells, {name: rank for rank, name in enumerate(names)}, chosen.confidence)
    by_agent: dict[str, list[Run]] = {_base(agent): [] for agent in chosen.agents}
    for run in done:
        by_agent[_base(run.agent)].append(run)
    found = (group for agent, own in by_agent.items() for group in grouping.split(own, agent, levels))
    return tuple(found), left_out


class _Grouping:
    """Splits runs level by level. What the table by question holds already is not computed again."""

    def __init__(self, cells: _Cells, order: Mapping[str, int], confidence: float) -> None:
        self._cells, self._order, self._confidence = cells, order, confidence

    def split(self, runs: Sequence[Run], agent: str, levels: Sequence[_Level]) -> Iterable[Group]:
        """The groups of the first level, each with those below."""
        if not levels:
            return
        level, rest = levels[0], levels[1:]
        parts: dict[str, list[Run]] = {}
        for run in runs:
            parts.setdefault(level.key(run), []).append(run)
        scored = level.name != "arm" or all(below.name != "capability" for below in rest)
        for part in sorted(parts, key=lambda each: (self._order.get(each, len(self._order)), each)):
            inner = tuple(self.split(parts[part], agent, rest))
            yield self._group(level, part, agent, parts[part], inner, scored=scored)

    def _group(
        self,
        level: _Level,
        name: str,
        agent: str,
        own: Sequence[Run],
        inner: tuple[Group, ...],
        *,
        scored: bool,
    ) -> Group:
        excluded = sum(not run.counted for run in own)
        shown = own[0].question_id if level.name == "question" else name
        numbers = self._numbers(level, own, scored=scored)
        return Group(level.name, shown, agent, len(own) - excluded, excluded, *numbers, inner)

    def _numbers(
        self, level: _Level, own: Sequence[Run], *, scored: bool
    ) -> tuple[Rate | None, Measure, Measure, Measure]:
        single = len({(run.question, run.agent) for run in own}) == 1
        if single and level.name in {"question", "variant"}:
            cell = self._cells[own[0].question, own[0].agent, own[0].arm]
            return cell.correct, cell.tokens, cell.usd, cell.seconds
        means = [measure(own, quantity, self._confidence) for quantity in (tokens, usd, seconds)]
        return (correct(own, self._confidence) if scored else None), means[0], means[1], means[2]


def _completed(chosen: Selection) -> tuple[Sequence[Run], int]:
    """The runs of questions that every arm has been asked as often as planned, by agent."""
    if not chosen.partial:
        return chosen.runs, 0
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for run in chosen.runs:
        cell = counts.setdefault((run.question, run.agent), {})
        cell[run.arm] = cell.get(run.arm, 0) + 1
    arms = set(chosen.facts.arms) or set(chosen.arms)
    most = max((count for cell in counts.values() for count in cell.values()), default=0)
    planned = chosen.facts.reps or most
    whole = {key for key, cell in counts.items() if all(cell.get(arm, 0) >= planned for arm in arms)}
    return [run for run in chosen.runs if (run.question, run.agent) in whole], len(counts) - len(whole)


def _base(agent: str) -> str:
    return agent.partition("@")[0]
