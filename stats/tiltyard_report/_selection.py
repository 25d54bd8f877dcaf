"""Which runs a report is about, and in which order its arms, agents and questions stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from tiltyard_report._compare import Cell
from tiltyard_report._receipt import Facts
from tiltyard_report._records import Run
from tiltyard_specs.errors import DataError
from tiltyard_specs.visible import visible


@dataclass(frozen=True, slots=True)
class Selection:
    """What one report is about."""

    facts: Facts
    baseline: str | None
    confidence: float
    partial: bool
    recorded: int
    """Runs of the whole trial that have a record."""
    runs: tuple[Run, ...]
    """Of the agents that compete."""
    audits: tuple[Run, ...]
    """Of the oracle and nop, which audit the questions."""
    earlier: tuple[Run, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """The baseline first, then in the order of the spec."""
        names = _ordered({run.arm for run in self.runs}, self.facts.arms)
        return tuple(sorted(names, key=lambda name: name != self.baseline))

    @property
    def agents(self) -> tuple[str, ...]:
        return _ordered({run.agent for run in self.runs}, self.facts.agents)

    @property
    def questions(self) -> tuple[str, ...]:
        return self._asked(self.runs)

    @property
    def audited(self) -> tuple[str, ...]:
        return self._asked(self.audits)

    @property
    def cells(self) -> dict[Cell, list[Run]]:
        """Runs by agent and arm, in the order of the report's columns."""
        cells: dict[Cell, list[Run]] = {(agent, arm): [] for agent in self.agents for arm in self.arms}
        for run in self.runs:
            cells[run.agent, run.arm].append(run)
        return {cell: runs for cell, runs in cells.items() if runs}

    def _asked(self, runs: Sequence[Run]) -> tuple[str, ...]:
        known = {run.question: run.question_id for run in runs}
        return _ordered(set(known), self.facts.questions, known)


def select(
    runs: Sequence[Run], questions: Sequence[str], agents: Sequence[str], facts: Facts, *, strict: bool = True
) -> tuple[Run, ...]:
    """The runs of the selected questions and agents; a name that never occurs is an error."""
    if strict and runs:
        _known(
            "question",
            questions,
            {name for run in runs for name in (run.question, run.question_id)} | set(facts.questions),
        )
        _known(
            "agent", agents, {name for run in runs for name in _agent_names(run.agent)} | set(facts.agents)
        )
    return tuple(
        run
        for run in runs
        if (not questions or not {run.question, run.question_id}.isdisjoint(questions))
        and (not agents or not set(_agent_names(run.agent)).isdisjoint(agents))
    )


def _agent_names(agent: str) -> tuple[str, str]:
    return agent, agent.partition("@")[0]


def _known(kind: str, wanted: Sequence[str], present: set[str]) -> None:
    for name in wanted:
        if name not in present:
            near = get_close_matches(name, present, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            there = visible(", ".join(sorted(present)), one_line=True)
            raise DataError(f"No record has {kind} {name!r}; there are: {there}.{hint}")


def choose_baseline(wanted: str | None, runs: Sequence[Run], facts: Facts) -> str | None:
    present = {run.arm for run in runs}
    if wanted is not None:
        if runs:
            _known("arm", [wanted], present | set(facts.arms))
        return wanted
    if facts.baseline is not None:
        return facts.baseline
    return next(iter(_ordered(present, facts.arms)), None)


def _ordered(names: set[str], first: Sequence[str], keys: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Names in the order of the spec; others follow by name, and variants stand beside their base."""
    rank = {name: position for position, name in enumerate(first)}

    def key(name: str) -> tuple[int, str]:
        plain = keys[name] if keys else name
        return rank.get(plain, rank.get(plain.partition("@")[0], len(rank))), name

    return tuple(sorted(names, key=key))
