"""Narrows a trial to some of its questions, arms and agents, as the command line asks."""

from collections.abc import Sequence
from dataclasses import replace

from tiltyard_specs.errors import UsageError
from tiltyard_specs.load import Trial
from tiltyard_specs.nearest import did_you_mean
from tiltyard_specs.problems import Problem, SpecError
from tiltyard_specs.receipt import Selection
from tiltyard_specs.size_checks import size_problem
from tiltyard_specs.trial import TrialSpec
from tiltyard_specs.variants import AgentVariant


def select(
    trial: Trial,
    *,
    questions: Sequence[str] = (),
    arms: Sequence[str] = (),
    agents: Sequence[str] = (),
    reps: int | None = None,
) -> Trial:
    """The trial with only what is named; an empty selection means all.

    Every command selects, with or without names, because one check concerns the selected part alone: whether
    the oracle agent has a solution to each question that it is asked.

    Args:
        trial: A loaded trial, not yet narrowed.
        questions: Ids of questions.
        arms: Names of arms.
        agents: Names of agents (all of their variants) or of single variants.
        reps: Repetitions instead of the spec's.

    Raises:
        UsageError: A name is not in the spec, or reps is below 1 or makes too many runs.
        SpecError: The oracle is asked a question that has no solution.
    """
    if reps is not None and reps < 1:
        raise UsageError(f"reps must be at least 1, got {reps}")
    if reps is not None and (problem := size_problem(trial.whole, reps)) is not None:
        raise UsageError(f"{problem}; lower --reps")
    _known("question", questions, [question.id for question in trial.spec.questions])
    _known("arm", arms, [arm.name for arm in trial.spec.arms])
    _known("agent", agents, [name for agent in trial.agents for name in (agent.base, agent.name)])
    variants = tuple(v for v in trial.agents if not agents or v.name in agents or v.base in agents)
    chosen = Selection(questions=tuple(questions), arms=tuple(arms), agents=tuple(agents), reps=reps)
    narrowed = replace(trial, spec=_narrow(trial.spec, chosen, variants), agents=variants, selection=chosen)
    if problems := unsolvable(narrowed):
        raise SpecError(problems)
    return narrowed


def _known(what: str, wanted: Sequence[str], names: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise UsageError(
                f'no {what} is called "{name}"; {did_you_mean(name, names, f"{what.capitalize()}s")}'
            )


def _narrow(spec: TrialSpec, chosen: Selection, variants: tuple[AgentVariant, ...]) -> TrialSpec:
    questions = tuple(q for q in spec.questions if not chosen.questions or q.id in chosen.questions)
    ids = {question.id for question in questions}
    inside = ((c, tuple(name for name in c.questions if name in ids)) for c in spec.capabilities)
    bases = {variant.base for variant in variants}
    reps = spec.defaults.reps if chosen.reps is None else chosen.reps
    return spec.model_copy(
        update={
            "questions": questions,
            "arms": tuple(arm for arm in spec.arms if not chosen.arms or arm.name in chosen.arms),
            "agents": tuple(agent for agent in spec.agents if agent.name in bases),
            "capabilities": tuple(c.model_copy(update={"questions": names}) for c, names in inside if names),
            "defaults": spec.defaults.model_copy(update={"reps": reps}),
        }
    )


def unsolvable(trial: Trial) -> tuple[Problem, ...]:
    """The questions that the oracle is asked and has no solution to."""
    kinds = {agent.under(arm).kind for agent in trial.agents for arm in trial.spec.arms}
    if "oracle" not in kinds:
        return ()
    hint = "add solution, or leave the question out of the oracle's runs"
    return tuple(
        trial.source.problem(
            ("questions", trial.whole.questions.index(question)),
            f'the oracle agent needs a solution to "{question.id}"',
            hint,
        )
        for question in trial.spec.questions
        if question.solution is None
    )
