"""How many runs a spec asks for: a slip of the keyboard must not lay out a plan that fills the memory."""

from tiltyard_specs.draft import Draft
from tiltyard_specs.trial import TrialSpec
from tiltyard_specs.variants import expand

MOST_RUNS = 10_000_000
"""Runs of one trial: a plan of so many takes minutes and gigabytes."""


def size_problem(spec: TrialSpec, reps: int) -> str | None:
    """What is wrong with the number of runs, or None.

    Args:
        spec: The spec before any selection: all of it is laid out.
        reps: Repetitions of each cell.
    """
    placed = {question for capability in spec.capabilities for question in capability.questions}
    questions = sum(len(capability.questions) for capability in spec.capabilities)
    questions += sum(question.id not in placed for question in spec.questions)
    agents = sum(1 for agent in spec.agents for _ in expand(agent))
    runs = questions * len(spec.arms) * agents * reps
    if runs <= MOST_RUNS:
        return None
    return (
        f"{questions:,} x {len(spec.arms):,} x {agents:,} x {reps:,} (questions, arms, agents, reps) are "
        f"{runs:,} runs, and a trial has at most {MOST_RUNS:,}"
    )


def check_size(draft: Draft) -> None:
    """The trial is not too large to be laid out."""
    reps = draft.sound.defaults.reps
    if (problem := size_problem(draft.sound, reps)) is not None:
        draft.report(("defaults", "reps"), problem, "lower reps, or make several trials of it")
