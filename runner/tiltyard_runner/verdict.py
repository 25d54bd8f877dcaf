"""Decides how a run ended: facts in, outcome and reason out. Nothing here touches a container."""

from dataclasses import dataclass

from tiltyard_runner.agent_process import AgentEnd
from tiltyard_runner.agents import AgentResult
from tiltyard_runner.disk_watch import written
from tiltyard_runner.grading.grade import Grade
from tiltyard_runner.meter_facts import MeterFacts
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import Score, VerifyResult

BUDGET_SPENT = "the trial's budget does not cover the next call"
"""How the reason of an attempt begins that the meter cut short; the amounts follow."""
UNPRICED = "a limit in USD cannot be kept"
"""How the reason begins of an attempt that called a model without a price; the model follows."""
_FILE_TOO_BIG = 128 + 25
"""Ended by SIGXFSZ."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that bears on the outcome of an attempt."""

    end: AgentEnd
    result: AgentResult
    grade: Grade
    score: Score | None
    """The answer key's verdict; None without a key."""
    unscored: str | None
    """Why the key has no verdict, when it should have one."""
    missing: tuple[str, ...]
    """What of the arm never reached the agent."""
    must_be_metered: bool
    meter: MeterFacts


def decide(facts: Facts) -> tuple[Outcome, str | None]:
    """The outcome and, unless it passed, the reason in one phrase.

    The order matters: what makes a run void comes before what the agent did, and what ended the agent
    comes before what its work is worth.
    """
    for rule in (_void, _unserved, _ended_by_force, _not_compared, _graded):
        decided = rule(facts)
        if decided is not None:
            return decided
    raise AssertionError("the last rule always decides")


def _void(facts: Facts) -> tuple[Outcome, str] | None:
    if facts.end.cancelled:
        return Outcome.CANCELLED, "stopped by the user"
    if facts.end.broken:
        return Outcome.INFRA, facts.end.broken
    if facts.meter.stopped_by == "trial budget":
        return Outcome.CANCELLED, _with(BUDGET_SPENT, facts.meter.refusal)
    if facts.meter.stopped_by == "unpriced":
        return Outcome.CANCELLED, _with(UNPRICED, facts.meter.refusal)
    return None


def _with(sentence: str, more: str | None) -> str:
    return f"{sentence}: {more}" if more else sentence


def _unserved(facts: Facts) -> tuple[Outcome, str] | None:
    error, failure = facts.result.error, facts.meter.provider_failure
    # Both must say so: an agent can print an error, and a call that failed may not have mattered.
    if failure is not None and error is not None and error.kind not in {"no_answer", "limit"}:
        return Outcome.INFRA, f"{failure}: {error.message}"
    # A run whose model never spoke says nothing of its arm, whatever a command of the user's own made of it.
    if facts.meter.never_served is not None:
        return Outcome.INFRA, facts.meter.never_served
    return None


def _ended_by_force(facts: Facts) -> tuple[Outcome, str] | None:
    end, error = facts.end, facts.result.error
    if end.disk_bytes is not None:
        return Outcome.LIMIT, f"disk limit: the run had written {written(end.disk_bytes)}"
    if facts.meter.stopped_by is not None:
        return Outcome.LIMIT, f"the run's own limit of {facts.meter.stopped_by} was reached"
    if facts.grade.overrun is not None:
        return Outcome.LIMIT, facts.grade.overrun
    if end.timed_out:
        return Outcome.TIMEOUT, f"ended after {end.seconds:.0f} s"
    if error is not None and error.kind == "limit":
        return Outcome.LIMIT, error.message
    return _ended_by_kernel(end)


def _ended_by_kernel(end: AgentEnd) -> tuple[Outcome, str] | None:
    if end.flooded:
        return Outcome.LIMIT, "connections: the run flooded its way to the meter until that broke"
    if end.oom_killed and end.exit_code:
        return Outcome.LIMIT, "memory limit: the kernel ended a process of the run"
    if end.exit_code == _FILE_TOO_BIG:
        return Outcome.LIMIT, "disk limit: the kernel ended the agent at a file that passed it"
    return None


def _not_compared(facts: Facts) -> tuple[Outcome, str] | None:
    # A CLI that waits for a broken MCP server calls no model at all: the missing treatment is the cause.
    if facts.missing:
        return Outcome.UNDELIVERED, "never reached the agent: " + ", ".join(facts.missing)
    if facts.must_be_metered and facts.meter.answered == 0:
        return Outcome.UNMETERED, f"no model call reached the meter; the agent {_how_it_ended(facts)}"
    if facts.grade.tampered:
        return Outcome.TAMPERED, "touched protected paths: " + ", ".join(facts.grade.tampered[:5])
    return None


def _graded(facts: Facts) -> tuple[Outcome, str | None]:
    if facts.grade.unusable is not None:
        return Outcome.NO_ANSWER, facts.grade.unusable
    error = facts.result.error
    if error is not None and error.kind != "no_answer":
        return Outcome.NO_ANSWER, f"{error.kind}: {error.message}"
    if facts.end.exit_code and not facts.result.complete:
        return Outcome.NO_ANSWER, f"the agent {_how_it_ended(facts)}"
    verify = facts.grade.verify
    if verify is not None:
        # A change task is judged by its verify command, whatever the agent said or did not say.
        if verify.passed:
            return Outcome.PASSED, None
        return Outcome.FAILED, f"verify {_how_verify_ended(verify)}"
    return _by_key(facts)


def _by_key(facts: Facts) -> tuple[Outcome, str | None]:
    if facts.unscored is not None:
        return Outcome.NO_ANSWER, f"the answer could not be scored: {facts.unscored}"
    if facts.score is None or not (facts.result.answer or "").strip():
        return Outcome.NO_ANSWER, "the agent ended without an answer"
    if facts.score.correct:
        return Outcome.PASSED, None
    if facts.score.forbidden:
        return Outcome.FAILED, "the answer holds what is forbidden: " + ", ".join(facts.score.forbidden)
    return Outcome.FAILED, "the answer lacks: " + ", ".join(facts.score.missing)


def _how_it_ended(facts: Facts) -> str:
    code = facts.end.exit_code
    message = f" ({facts.result.error.message})" if facts.result.error else ""
    return f"ended with exit code {code}{message}" if code is not None else f"did not end{message}"


def _how_verify_ended(verify: VerifyResult) -> str:
    if verify.timed_out:
        return "did not end in time"
    return (
        "was ended at the disk limit"
        if verify.exit_code is None
        else f"ended with exit code {verify.exit_code}"
    )
