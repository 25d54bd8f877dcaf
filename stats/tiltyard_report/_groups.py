"""Runs grouped by arm, capability, question, and model and effort; each agent apart.

No score goes over capabilities: a capability of many questions would weigh most, and nobody meant that.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from tiltyard_report._measures import correct, measure, seconds, tokens, usd
from tiltyard_report._sample import Sample
from tiltyard_report._selection import Selection
from tiltyard_report.group_model import Group
from tiltyard_report.measure_model import Measure, Rate
from tiltyard_report.model import QuestionCell, QuestionRow
from tiltyard_stats._result import IntArray

_Cells = Mapping[tuple[str, str, str], QuestionCell]
"""By question with its capability, agent and arm."""


_NAMES = ("arm", "capability", "question", "question_id", "agent")


class _Level(NamedTuple):
    name: Literal["arm", "capability", "question", "variant"]
    column: str


def groups(chosen: Selection, rows: Sequence[QuestionRow]) -> tuple[tuple[Group, ...], int]:
    """The groups, and how many were left out because runs of them are missing."""
    done, left_out = _completed(chosen)
    levels = [_Level("arm", "arm")]
    if done.having("capability", lambda name: name is not None).any():
        levels.append(_Level("capability", "capability"))
    levels += [_Level("question", "question"), _Level("variant", "agent")]
    cells = {(row.question, cell.agent, cell.arm): cell for row in rows for cell in row.cells}
    names = (*chosen.arms, *chosen.questions, *chosen.agents)
    grouping = _Grouping(cells, {name: rank for rank, name in enumerate(names)}, chosen.confidence)
    by_agent: dict[str, list[Sample]] = {_base(agent): [] for agent in chosen.agents}
    for agent, own in done.split("agent").items():
        by_agent[_base(agent)].append(own)
    found = (group for agent, own in by_agent.items() if own for group in grouping.of(agent, own, levels))
    return tuple(found), left_out


class _Sorted(NamedTuple):
    """Runs in the order of their groups, and of each level where its groups begin."""

    runs: Sample
    texts: Mapping[str, Sequence[str]]
    counted: IntArray
    """How many count before each place."""
    begins: Sequence[IntArray]


class _Grouping:
    """Splits runs level by level. What the table by question holds already is not computed again."""

    def __init__(self, cells: _Cells, order: Mapping[str, int], confidence: float) -> None:
        self._cells, self._order, self._confidence = cells, order, confidence

    def of(self, agent: str, parts: Sequence[Sample], levels: Sequence[_Level]) -> Iterable[Group]:
        """The groups of the first level, each with those below."""
        runs = parts[0].followed_by(*parts[1:])
        # As they were read, whichever variant they are of.
        runs = runs.take(np.argsort(runs.at, kind="stable"))
        ranks = [self._ranks(runs, level.column) for level in levels]
        order = np.lexsort(ranks[::-1])
        changes = np.zeros(len(runs), dtype=bool)
        begins = []
        for rank in ranks:
            changes = changes | np.diff(rank[order], prepend=-1).astype(bool)
            begins.append(np.flatnonzero(changes))
        ordered = runs.take(order)
        counted = np.concatenate(([0], np.cumsum(ordered.column("counted"))))
        texts = {name: ordered.texts(name) for name in _NAMES}
        return self._split(_Sorted(ordered, texts, counted, begins), agent, levels, 0, (0, len(runs)))

    def _ranks(self, runs: Sample, name: str) -> IntArray:
        labels = runs.labels(name)
        keys = [(self._order.get(label or "", len(self._order)), label or "") for label in labels]
        ranks = np.empty(len(labels), dtype=np.int64)
        ranks[sorted(range(len(labels)), key=keys.__getitem__)] = np.arange(len(labels))
        return ranks[runs.column(name)]

    def _split(
        self, every: _Sorted, agent: str, levels: Sequence[_Level], depth: int, span: tuple[int, int]
    ) -> Iterable[Group]:
        if depth == len(levels):
            return
        level, begins = levels[depth], every.begins[depth]
        low, high = np.searchsorted(begins, span)
        inside = [*begins[low:high].tolist(), span[1]]
        scored = level.name != "arm" or all(below.name != "capability" for below in levels)
        for start, end in pairwise(inside):
            inner = tuple(self._split(every, agent, levels, depth + 1, (start, end)))
            counted = int(every.counted[end] - every.counted[start])
            numbers = self._numbers(every, level, (start, end), scored=scored)
            name = every.texts["question_id" if level.name == "question" else level.column][start]
            yield Group(level.name, name or "", agent, counted, end - start - counted, *numbers, inner)

    def _numbers(
        self, every: _Sorted, level: _Level, span: tuple[int, int], *, scored: bool
    ) -> tuple[Rate | None, Measure, Measure, Measure]:
        start, end = span
        # They are sorted by variant last.
        variants = every.texts["agent"]
        if level.name in {"question", "variant"} and variants[start] == variants[end - 1]:
            cell = self._cells[every.texts["question"][start], variants[start], every.texts["arm"][start]]
            return cell.correct, cell.tokens, cell.usd, cell.seconds
        own = every.runs[start:end]
        # The mean of a group is over its runs in the order in which they were read.
        own = own.take(np.argsort(own.at, kind="stable"))
        means = [measure(own, quantity, self._confidence) for quantity in (tokens, usd, seconds)]
        return (correct(own, self._confidence) if scored else None), means[0], means[1], means[2]


def _completed(chosen: Selection) -> tuple[Sample, int]:
    """The runs of questions that every arm has been asked as often as planned, by agent."""
    runs = chosen.runs
    if not chosen.partial or not len(runs):
        return runs, 0
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for (question, agent, arm), count in runs.counts("question", "agent", "arm"):
        counts.setdefault((question, agent), {})[arm] = count
    arms = set(chosen.facts.arms) or set(chosen.arms)
    most = max((count for cell in counts.values() for count in cell.values()), default=0)
    planned = chosen.facts.reps or most
    whole = {key for key, cell in counts.items() if all(cell.get(arm, 0) >= planned for arm in arms)}
    numbers, first = runs.first("question", "agent")
    one = runs.take(first)
    keys = zip(one.texts("question"), one.texts("agent"), strict=True)
    kept = np.array([key in whole for key in keys])
    return runs.where(kept[numbers]), len(counts) - len(whole)


def _base(agent: str) -> str:
    return agent.partition("@")[0]
