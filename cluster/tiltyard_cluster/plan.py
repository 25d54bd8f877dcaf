"""The plan: every run of a trial in execution order, each with an id that hashes what determines it.

Order and ids come from hashes alone, never from a random generator, so that they are the same on every machine
and with every Python version, and stay the same for what is left when a part is selected.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltyard_cluster.content import file_digest, folder_digest
from tiltyard_specs import AgentVariant, Arm, Question, Trial
from tiltyard_specs.canonical import canonical_json, content_id

SEMANTICS = 1
"""Raised when a run of the same spec would mean something else."""
_NOT_CONTENT = {"keys_from"}
"""Where a key comes from does not change what a run means."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run: a cell and a rep."""

    run_id: str
    position: int
    """Place in the order, from 0."""
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


@dataclass(frozen=True, slots=True)
class _Block:
    capability: str | None
    question: str
    agent: str
    rep: int


def make_plan(trial: Trial, commits: Mapping[str, str]) -> Plan:
    """Lay out every run of a trial.

    Args:
        trial: The trial, with its selection.
        commits: The resolved commit of each repo, by name.
    """
    contents = _Contents(trial, commits)
    runs: list[PlannedRun] = []
    for block in sorted(_blocks(trial), key=lambda block: _block_order(trial.seed, block)):
        block_id = content_id(_block_key(block), length=12)
        for arm in sorted(trial.spec.arms, key=lambda arm: _hash(trial.seed, block_id, arm.name)):
            run_id = content_id(contents.of(block, arm), length=32)
            runs.append(
                PlannedRun(
                    run_id,
                    len(runs),
                    block_id,
                    block.capability,
                    block.question,
                    arm.name,
                    block.agent,
                    block.rep,
                )
            )
    plan_id = content_id(
        {"trial": trial.spec.name, "seed": trial.seed, "runs": [run.run_id for run in runs]}, length=32
    )
    return Plan(plan_id=plan_id, trial=trial.spec.name, seed=trial.seed, runs=tuple(runs))


def _blocks(trial: Trial) -> Iterator[_Block]:
    for rep in range(1, trial.spec.defaults.reps + 1):
        for capability, question in placements(trial):
            for agent in trial.agents:
                yield _Block(capability, question, agent.name, rep)


def placements(trial: Trial) -> Sequence[tuple[str | None, str]]:
    """Each question with each capability that it stands in; None for one that stands in none."""
    known = [question.id for question in trial.spec.questions]
    pairs: list[tuple[str | None, str]] = [
        (capability.id, question)
        for capability in trial.spec.capabilities
        for question in capability.questions
        if question in known
    ]
    placed = {question for _, question in pairs}
    return pairs + [(None, question) for question in known if question not in placed]


def _block_order(seed: int, block: _Block) -> tuple[int, str]:
    # All of one rep come before the next rep: a trial that is stopped early is balanced.
    return block.rep, _hash(seed, canonical_json(_block_key(block)))


def _block_key(block: _Block) -> list[object]:
    return [block.capability, block.question, block.agent, block.rep]


def _hash(seed: int, *parts: str) -> str:
    return hashlib.sha256("\0".join([str(seed), *parts]).encode()).hexdigest()


class _Contents:
    """What determines a run, as plain data; files by their digests."""

    def __init__(self, trial: Trial, commits: Mapping[str, str]) -> None:
        self._trial = trial
        self._commits = commits
        self._arms = {arm.name: self._arm(arm) for arm in trial.spec.arms}
        self._questions = {question.id: self._question(question) for question in trial.spec.questions}
        self._agents = {agent.name: self._agent(agent) for agent in trial.agents}

    def of(self, block: _Block, arm: Arm) -> dict[str, Any]:
        spec = self._trial.spec
        question = self._trial.question(block.question)
        return {
            "semantics": SEMANTICS,
            "trial": spec.name,
            "capability": block.capability,
            "commit": self._commit(question, arm),
            "question": self._questions[block.question],
            "agent": self._agents[block.agent],
            "arm": self._arms[arm.name],
            "rep": block.rep,
            "limits": spec.limits.model_dump(mode="json"),
            "timeout": spec.defaults.timeout,
            "prompt_suffix": spec.defaults.prompt_suffix,
            "claim": spec.defaults.claim,
            "network": spec.model_dump(mode="json")["network"],
            "history": spec.history,
            "setup_scope": spec.setup_scope,
            "protect": sorted(spec.protect),
            "gateway": spec.gateway.model_dump(mode="json", exclude=_NOT_CONTENT),
        }

    def _commit(self, question: Question, arm: Arm) -> str | None:
        repo = arm_repo(question, arm)
        return None if repo is None else self._commits[repo]

    def _arm(self, arm: Arm) -> dict[str, Any]:
        data = arm.model_dump(mode="json", exclude=_NOT_CONTENT)
        data["overlay"] = folder_digest(self._trial.folder / arm.overlay) if arm.overlay else None
        return data

    def _question(self, question: Question) -> dict[str, Any]:
        data = question.model_dump(mode="json", exclude={"solution", "repo"})
        data["hidden"] = {
            path: file_digest(self._trial.folder / source) for path, source in question.hidden.items()
        }
        uses_solution = question.solution and any(agent.kind == "oracle" for agent in self._trial.agents)
        if uses_solution:
            data["solution"] = file_digest(self._trial.folder / str(question.solution))
        return data

    @staticmethod
    def _agent(agent: AgentVariant) -> dict[str, Any]:
        data: dict[str, Any] = agent.model_dump(mode="json", exclude=_NOT_CONTENT)
        return data


def arm_repo(question: Question, arm: Arm) -> str | None:
    """The repo that a question is asked about in an arm, which may swap it."""
    if question.repo is None:
        return None
    return arm.repos.get(question.repo, question.repo)
