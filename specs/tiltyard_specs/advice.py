"""What is allowed in a spec and yet most likely not meant: warnings, each with its place."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.load import Trial
from tiltyard_specs.model_places import called_models
from tiltyard_specs.problems import Problem
from tiltyard_specs.variants import AgentVariant

_SHOWN_QUESTIONS = 3


@dataclass(frozen=True, slots=True)
class _Pair:
    """One agent in one arm, with their indices in the file."""

    numbered_agent: tuple[int, Agent]
    variant: AgentVariant
    numbered_arm: tuple[int, Arm]

    @property
    def running(self) -> AgentVariant:
        return self.variant.under(self.numbered_arm[1])


def warnings(trial: Trial, *, scripted: bool = False) -> tuple[Problem, ...]:
    """What the selected part of a right spec should be warned of, in the order of the file.

    Args:
        trial: A loaded trial, narrowed or not.
        scripted: A scripted model server answers, so that nothing is spent.
    """
    pairs = list(_pairs(trial))
    found = [*_without_edits(trial, pairs), *_unprotected(trial, pairs), *_unpriced(trial, pairs)]
    if not scripted:
        found += _unbounded(trial, pairs)
    return tuple(sorted(found, key=lambda problem: problem.line or 0))


def _pairs(trial: Trial) -> Iterator[_Pair]:
    agents = {agent.name: (i, agent) for i, agent in enumerate(trial.whole.agents)}
    arms = [(j, arm) for j, arm in enumerate(trial.whole.arms) if arm in trial.spec.arms]
    for variant in trial.agents:
        for numbered_arm in arms:
            yield _Pair(agents[variant.base], variant, numbered_arm)


def _without_edits(trial: Trial, pairs: list[_Pair]) -> Iterator[Problem]:
    verified = [question.id for question in trial.spec.questions if question.verify is not None]
    idle = dict(
        pair.numbered_agent for pair in pairs if not pair.running.edits and pair.running.kind != "nop"
    )
    for i, agent in idle.items() if verified else ():
        more = len(verified) - _SHOWN_QUESTIONS
        names = ", ".join(f'"{name}"' for name in verified[:_SHOWN_QUESTIONS])
        names += f" and {more} more" if more > 0 else ""
        message = f'"{agent.name}" may not change files: nothing it does can pass or fail verify of {names}'
        yield trial.source.problem(("agents", i, "edits"), message, "set edits: true")


def _unprotected(trial: Trial, pairs: list[_Pair]) -> Iterator[Problem]:
    editing = any(pair.running.edits and pair.running.kind not in {"oracle", "nop"} for pair in pairs)
    if trial.spec.protect or not editing:
        return
    overlaid = any(arm.overlay is not None for arm in trial.spec.arms)
    for question in trial.spec.questions:
        # A workspace that begins empty has no tests that an agent could edit.
        if question.verify is not None and not question.hidden and (question.repo or overlaid):
            yield trial.source.problem(
                ("questions", trial.whole.questions.index(question), "verify"),
                "nothing is protected: an agent may edit the tests that decide",
                "add protect or hidden",
            )


def _unpriced(trial: Trial, pairs: list[_Pair]) -> Iterator[Problem]:
    told = set(trial.spec.prices)
    for pair in pairs:
        if not pair.running.metered:
            continue
        for path, model in called_models(pair.numbered_agent, pair.variant, pair.numbered_arm):
            if model not in told:
                told.add(model)
                message = f'the model "{model}" has no price: its cost will be unknown'
                yield trial.source.problem(path, message, f'add prices for "{model}"')


def _unbounded(trial: Trial, pairs: list[_Pair]) -> Iterator[Problem]:
    limits = trial.spec.limits
    if trial.spec.budget is not None or limits.usd is not None or limits.tokens is not None:
        return
    metered = dict(pair.numbered_agent for pair in pairs if pair.running.metered)
    if metered:
        names = ", ".join(f'"{agent.name}"' for agent in metered.values())
        message = f"no budget: nothing bounds the spend of {names}"
        yield trial.source.problem(
            ("agents", min(metered)), message, "add budget, {usd: 30} or {tokens: 5000000}"
        )
