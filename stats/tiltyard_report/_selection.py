"""Which runs a report is about, and in which order its arms, agents and questions stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from tiltyard_report._options import Options
from tiltyard_report._receipt import Facts
from tiltyard_report._run import AUDITORS, Cell, Run
from tiltyard_report._sample import Sample
from tiltyard_specs.errors import DataError
from tiltyard_specs.visible import visible


@dataclass(frozen=True, slots=True)
class Selection:
    """What one report is about."""

    facts: Facts
    options: Options
    baseline: str | None
    partial: bool
    recorded: int
    """Runs of the whole trial that have a record."""
    sources: int
    """Results that the runs come from."""
    runs: tuple[Run, ...]
    """Of the agents that compete."""
    audits: tuple[Run, ...]
    """Of the oracle and nop, which audit the questions."""
    earlier: tuple[Run, ...]
    arms: tuple[str, ...]
    """The baseline first, then in the order of the spec."""
    agents: tuple[str, ...]
    questions: tuple[str, ...]
    audited: tuple[str, ...]
    """Questions of the audits."""
    cells: Mapping[Cell, Sample]
    """Runs by agent and arm, in the order of the report's columns; none is empty."""
    clusters: Mapping[str, str]
    """The group of each question, for the clustered design."""

    @property
    def confidence(self) -> float:
        return self.options.confidence


def selection(
    facts: Facts,
    options: Options,
    baseline: str | None,
    every: Sequence[Run],
    selected: Sequence[Run],
    earlier: Sequence[Run],
) -> Selection:
    """Order what was selected; `every` is all that was read."""
    runs = tuple(run for run in selected if run.kind not in AUDITORS)
    audits = tuple(run for run in selected if run.kind in AUDITORS)
    arms = tuple(sorted(_ordered({run.arm for run in runs}, facts.arms), key=lambda name: name != baseline))
    agents = _ordered({run.agent for run in runs}, facts.agents)
    return Selection(
        facts=facts,
        options=options,
        baseline=baseline,
        partial=is_partial(facts, len(every)),
        recorded=len(every),
        sources=len({run.source for run in every}),
        runs=runs,
        audits=audits,
        earlier=tuple(earlier),
        arms=arms,
        agents=agents,
        questions=_asked(runs, facts),
        audited=_asked(audits, facts),
        cells=_cells(runs, agents, arms),
        clusters=_clusters(runs, facts, options.design),
    )


def is_partial(facts: Facts, recorded: int) -> bool:
    """Whether runs are missing, for whatever reason: then there are no verdicts."""
    return (
        facts.shard is not None
        or facts.missing > 0
        or (facts.expected_runs is not None and recorded < facts.expected_runs)
    )


def _cells(runs: Sequence[Run], agents: Sequence[str], arms: Sequence[str]) -> dict[Cell, Sample]:
    cells: dict[Cell, list[Run]] = {(agent, arm): [] for agent in agents for arm in arms}
    for run in runs:
        cells[run.agent, run.arm].append(run)
    return {cell: Sample(own) for cell, own in cells.items() if own}


def _asked(runs: Sequence[Run], facts: Facts) -> tuple[str, ...]:
    known = {run.question: run.question_id for run in runs}
    return _ordered(set(known), facts.questions, known)


def _clusters(runs: Sequence[Run], facts: Facts, design: str) -> dict[str, str]:
    """Capability, else repo, else first tag.

    Raises:
        DataError: Groups are asked for and overlap.
    """
    found: dict[str, str] = {}
    for run in runs:
        group = run.capability or facts.repos.get(run.question_id) or next(iter(run.tags), "")
        if found.setdefault(run.question, group) != group and design == "clustered":
            raise DataError(
                f"Question {run.question!r} is in two groups, {found[run.question]!r} and {group!r}: the "
                "clustered design takes each group as one observation, so groups may not overlap. Give each "
                "question one first tag, or use another --design."
            )
    return found


def select(
    runs: Sequence[Run], questions: Sequence[str], agents: Sequence[str], facts: Facts, *, strict: bool = True
) -> tuple[Run, ...]:
    """The runs of the selected questions and agents; a name that never occurs is an error."""
    if not questions and not agents:
        return tuple(runs)
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
    """The arm to compare with: the one asked for, the receipt's, or the first with a run that counts."""
    present = {run.arm for run in runs}
    if wanted is not None:
        if runs:
            _known("arm", [wanted], present | set(facts.arms))
        return wanted
    if facts.baseline is not None:
        return facts.baseline
    valid = {run.arm for run in runs if run.counted}
    return next(iter(_ordered(valid or present, facts.arms)), None)


def _ordered(names: set[str], first: Sequence[str], keys: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Names in the order of the spec; others follow by name, and variants stand beside their base."""
    rank = {name: position for position, name in enumerate(first)}

    def key(name: str) -> tuple[int, str]:
        plain = keys[name] if keys else name
        return rank.get(plain, rank.get(plain.partition("@")[0], len(rank))), name

    return tuple(sorted(names, key=key))
