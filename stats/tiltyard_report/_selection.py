"""Which runs a report is about, and in which order its arms, agents and questions stand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from tiltyard_report._options import Options
from tiltyard_report._receipt import Facts
from tiltyard_report._run import AUDITORS, Cell
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
    runs: Sample
    """Of the agents that compete."""
    audits: Sample
    """Of the oracle and nop, which audit the questions."""
    earlier: Sample
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
    every: Sample,
    selected: Sample,
    earlier: Sample,
) -> Selection:
    """Order what was selected; `every` is all that was read."""
    auditing = selected.having("kind", AUDITORS.__contains__)
    runs, audits = selected.where(~auditing), selected.where(auditing)
    arms = tuple(sorted(_ordered(runs.distinct("arm"), facts.arms), key=lambda name: name != baseline))
    agents = _ordered(runs.distinct("agent"), facts.agents)
    return Selection(
        facts=facts,
        options=options,
        baseline=baseline,
        partial=is_partial(facts, len(every)),
        recorded=len(every),
        sources=len(np.unique(every.column("source"))),
        runs=runs,
        audits=audits,
        earlier=earlier,
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


def _cells(runs: Sample, agents: Sequence[str], arms: Sequence[str]) -> dict[Cell, Sample]:
    by_agent = {agent: own.split("arm") for agent, own in runs.split("agent").items()}
    return {(agent, arm): by_agent[agent][arm] for agent in agents for arm in arms if arm in by_agent[agent]}


def _asked(runs: Sample, facts: Facts) -> tuple[str, ...]:
    one = _one_of_each(runs)
    known = dict(zip(one.texts("question"), one.texts("question_id"), strict=True))
    return _ordered(known, facts.questions, known)


def _clusters(runs: Sample, facts: Facts, design: str) -> dict[str, str]:
    """Capability, else repo, else first tag.

    Raises:
        DataError: Groups are asked for and overlap.
    """
    found: dict[str, str] = {}
    for (question, capability, plain, tags), _ in runs.counts(
        "question", "capability", "question_id", "tags"
    ):
        group = capability or facts.repos.get(plain) or next(iter(tags), "")
        if found.setdefault(question, group) != group and design == "clustered":
            raise DataError(
                f"Question {question!r} is in two groups, {found[question]!r} and {group!r}: the "
                "clustered design takes each group as one observation, so groups may not overlap. Give each "
                "question one first tag, or use another --design."
            )
    return found


def _one_of_each(runs: Sample) -> Sample:
    """The last run of each question, which speaks for all of them."""
    backwards = runs.take(np.arange(len(runs))[::-1])
    return backwards.take(backwards.first("question")[1])


def select(
    runs: Sample, questions: Sequence[str], agents: Sequence[str], facts: Facts, *, strict: bool = True
) -> Sample:
    """The runs of the selected questions and agents; a name that never occurs is an error."""
    if strict and len(runs):
        asked = {*runs.distinct("question"), *runs.distinct("question_id")} if questions else set()
        _known("question", questions, asked | set(facts.questions))
        there = {name for agent in runs.distinct("agent") for name in _agent_names(agent)}
        _known("agent", agents, there | set(facts.agents))
    if questions:
        wanted = [runs.having(name, set(questions).__contains__) for name in ("question", "question_id")]
        runs = runs.where(wanted[0] | wanted[1])
    if agents:
        runs = runs.where(runs.having("agent", lambda agent: not set(_agent_names(agent)).isdisjoint(agents)))
    return runs


def _agent_names(agent: str) -> tuple[str, str]:
    return agent, agent.partition("@")[0]


def _known(kind: str, wanted: Sequence[str], present: set[str]) -> None:
    for name in wanted:
        if name not in present:
            near = get_close_matches(name, present, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            there = visible(", ".join(sorted(present)), one_line=True)
            raise DataError(f"No record has {kind} {name!r}; there are: {there}.{hint}")


def choose_baseline(wanted: str | None, runs: Sample, facts: Facts) -> str | None:
    """The arm to compare with: as asked for, else the receipt's, else the first with a run that counts."""
    present = set(runs.distinct("arm"))
    if wanted is not None:
        if len(runs):
            _known("arm", [wanted], present | set(facts.arms))
        return wanted
    if facts.baseline is not None:
        return facts.baseline
    valid = runs.where(runs.column("counted")).distinct("arm")
    return next(iter(_ordered(valid or present, facts.arms)), None)


def _ordered(
    names: Iterable[str], first: Sequence[str], keys: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Names in the order of the spec; others follow by name, and variants stand beside their base."""
    rank = {name: position for position, name in enumerate(first)}

    def key(name: str) -> tuple[int, str]:
        plain = keys[name] if keys else name
        return rank.get(plain, rank.get(plain.partition("@")[0], len(rank))), name

    return tuple(sorted(names, key=key))
