"""The plan: every run of a trial in execution order, each with an id that hashes what determines it.

Order and ids come from hashes alone, never from a random generator, so that they are the same on every
machine and with every Python version, and stay the same for what is left when a part is selected.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pydantic import BaseModel

from tiltyard_cluster.content import file_digest, folder_digest
from tiltyard_specs import AgentVariant, Arm, Question, Trial, TrialSpec
from tiltyard_specs.canonical import canonical_json, content_id
from tiltyard_specs.variants import expand

SEMANTICS = 1
"""Raised when a run of the same spec would mean something else."""
_RUN_ID = 32
"""Hex digits of a run's id."""
_BLOCK_ID = 12
_REP = "rep"
_NOT_AGENT = {"keys_from", "timeout"}
_NOT_ARM = {"keys_from", "factors", "parallel_setup", "repos", "overlay"}
_NOT_QUESTION = {"repo", "timeout", "solution", "hidden"}
"""Keys that do not change what a run means (where a key comes from, labels for reports, the order of setups),
and those for which something else stands: a commit, a digest, the timeout in force."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run: a cell and a rep."""

    run_id: str
    position: int
    """Place in the order of the whole spec, from 0; a selection leaves gaps."""
    block: str
    capability: str | None
    question: str
    arm: str
    agent: str
    rep: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs in execution order."""

    plan_id: str
    trial: str
    seed: int
    runs: tuple[PlannedRun, ...]

    def blocks(self) -> list[tuple[PlannedRun, ...]]:
        """The runs by block, in order. The arms of a block run back to back."""
        groups: dict[str, list[PlannedRun]] = {}
        for run in self.runs:
            groups.setdefault(run.block, []).append(run)
        return [tuple(group) for group in groups.values()]


@dataclass(frozen=True)
class _Block:
    capability: str | None
    question: str
    agent: str
    rep: int

    @cached_property
    def key(self) -> str:
        """Canonical text of what names it."""
        return canonical_json([self.capability, self.question, self.agent, self.rep])

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()[:_BLOCK_ID]


def make_plan(trial: Trial, commits: Mapping[str, str], script: str | None = None) -> Plan:
    """Lay out every run of a trial.

    Args:
        trial: The trial, with its selection.
        commits: The resolved commit of each repo, by name.
        script: Digest of the model script that answers instead of a provider. Runs of agents that call a
            model are other runs then.
    """
    contents = _Contents(trial, commits, script)
    runs = [
        _planned(position, block, arm, contents.run_id(block, arm))
        for position, (block, arm) in enumerate(_order(trial))
        if contents.has(block, arm)
    ]
    return plan_of(trial, runs)


def plan_of(trial: Trial, runs: Sequence[PlannedRun]) -> Plan:
    """The plan that consists of these runs."""
    ids = [run.run_id for run in runs]
    plan_id = content_id({"seed": trial.seed, "runs": ids}, length=32)
    return Plan(plan_id=plan_id, trial=trial.spec.name, seed=trial.seed, runs=tuple(runs))


def _order(trial: Trial) -> Iterator[tuple[_Block, str]]:
    """Every run of the whole spec: a selection changes neither the order nor the places of what is left."""
    blocks = sorted(_blocks(trial), key=lambda block: _block_order(trial.seed, block))
    names = [arm.name for arm in trial.whole.arms]
    for block in blocks:
        for name in sorted(names, key=partial(_hash, trial.seed, block.id)):
            yield block, name


def _blocks(trial: Trial) -> Iterator[_Block]:
    agents = [variant.name for agent in trial.whole.agents for variant in expand(agent)]
    for rep in range(1, trial.spec.defaults.reps + 1):
        for capability, question in placements(trial.whole):
            for agent in agents:
                yield _Block(capability, question, agent, rep)


def _planned(position: int, block: _Block, arm: str, run_id: str) -> PlannedRun:
    return PlannedRun(
        run_id,
        position,
        block.id,
        block.capability,
        block.question,
        arm,
        block.agent,
        block.rep,
    )


def placements(spec: TrialSpec) -> Sequence[tuple[str | None, str]]:
    """Each question with each capability that it stands in; None for one that stands in none."""
    pairs: list[tuple[str | None, str]] = [
        (capability.id, question) for capability in spec.capabilities for question in capability.questions
    ]
    placed = {question for _, question in pairs}
    return pairs + [(None, question.id) for question in spec.questions if question.id not in placed]


def _block_order(seed: int, block: _Block) -> tuple[int, str]:
    # All of one rep come before the next rep: a trial that is stopped early is balanced.
    return block.rep, _hash(seed, block.key)


def _hash(seed: int, *parts: str) -> str:
    return hashlib.sha256("\0".join([str(seed), *parts]).encode()).hexdigest()


class _Contents:
    """What determines a run, as plain data; files by their digests.

    Values that a spec leaves at their default are left out, so that a key that a later version adds changes
    no id. Whoever changes the meaning of a default raises SEMANTICS.
    """

    def __init__(self, trial: Trial, commits: Mapping[str, str], script: str | None) -> None:
        self._trial = trial
        self._commits = commits
        self._script = script
        self._arms = {arm.name: self._arm(arm) for arm in trial.spec.arms}
        self._questions = {question.id: self._question(question) for question in trial.spec.questions}
        self._agents = {agent.name: _data(agent, _NOT_AGENT) for agent in trial.agents}
        self._common = self._of_all()
        self._texts: dict[tuple[str | None, str, str, str], tuple[str, str]] = {}

    def has(self, block: _Block, arm: str) -> bool:
        """Whether the run is selected."""
        return arm in self._arms and block.question in self._questions and block.agent in self._agents

    def run_id(self, block: _Block, arm: str) -> str:
        """The id of a run: it hashes the canonical text of its content."""
        around = self._around(block.capability, block.question, block.agent, arm)
        return hashlib.sha256(str(block.rep).join(around).encode()).hexdigest()[:_RUN_ID]

    def _around(self, capability: str | None, question: str, agent: str, arm: str) -> tuple[str, str]:
        """The canonical text before and after the rep: all else is the same in each repetition."""
        key = (capability, question, agent, arm)
        if key not in self._texts:
            content = self._of(_Block(capability, question, agent, rep=0), arm)
            before = {name: value for name, value in content.items() if name < _REP}
            after = {name: value for name, value in content.items() if name > _REP}
            self._texts[key] = (
                f'{canonical_json(before)[:-1]},"{_REP}":',
                f",{canonical_json(after)[1:]}",
            )
        return self._texts[key]

    def _of(self, block: _Block, arm_name: str) -> dict[str, Any]:
        arm = self._trial.arm(arm_name)
        question, agent = self._trial.question(block.question), self._trial.agent(block.agent)
        return self._common | {
            "capability": block.capability,
            "commit": self._commit(question, arm),
            "question": self._questions[block.question],
            "solution": self._solution(question, agent.under(arm)),
            "agent": self._agents[block.agent],
            "script": self._script if calls_model(agent.under(arm)) else None,
            "arm": self._arms[arm.name],
            "timeout": run_timeout(self._trial, question, agent),
        }

    def _of_all(self) -> dict[str, Any]:
        spec = self._trial.spec
        return {
            "semantics": SEMANTICS,
            "limits": _data(spec.limits),
            "prompt_suffix": spec.defaults.prompt_suffix,
            "claim": spec.defaults.claim,
            "network": spec.model_dump(mode="json")["network"],
            "history": spec.history,
            "setup_scope": spec.setup_scope,
            "protect": sorted(spec.protect),
            "gateway": _data(spec.gateway, {"keys_from"}),
        }

    def _commit(self, question: Question, arm: Arm) -> str | None:
        repo = arm_repo(question, arm)
        return None if repo is None else self._commits[repo]

    def _arm(self, arm: Arm) -> dict[str, Any]:
        overlay = folder_digest(self._trial.folder / arm.overlay) if arm.overlay else None
        return _data(arm, _NOT_ARM) | {"overlay": overlay}

    def _question(self, question: Question) -> dict[str, Any]:
        folder = self._trial.folder
        hidden = {path: file_digest(folder / source) for path, source in question.hidden.items()}
        return _data(question, _NOT_QUESTION) | {"hidden": hidden}

    def _solution(self, question: Question, agent: AgentVariant) -> str | None:
        if question.solution is None or agent.kind != "oracle":
            return None
        return file_digest(self._trial.folder / question.solution)


def _data(model: BaseModel, left_out: set[str] | None = None) -> dict[str, Any]:
    data: dict[str, Any] = model.model_dump(mode="json", exclude=left_out, exclude_defaults=True)
    return data


def calls_model(agent: AgentVariant) -> bool:
    """Whether who answers model calls matters to an agent, as it runs in an arm.

    A command of kind `text` that calls a model says so by naming it, or its provider.
    """
    return agent.metered or bool(agent.model or agent.upstreams or agent.keys_from)


def run_timeout(trial: Trial, question: Question, agent: AgentVariant) -> float:
    """Seconds that the agent has: the question's own limit, else the agent's, else the trial's."""
    return question.timeout or agent.timeout or trial.spec.defaults.timeout


def arm_repo(question: Question, arm: Arm) -> str | None:
    """The repo that a question is asked about in an arm, which may swap it."""
    if question.repo is None:
        return None
    return arm.repos.get(question.repo, question.repo)
