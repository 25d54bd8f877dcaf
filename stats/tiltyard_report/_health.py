"""Whether the trial is fit to be read: lost runs, and signs that something other than an agent failed."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._measures import counted
from tiltyard_report._run import Run
from tiltyard_specs.outcomes import MAX_LOST, Outcome

_UNHEALTHY = {
    Outcome.SETUP_FAILED: "the arm's own setup failed",
    Outcome.UNDELIVERED: "the arm's server, skill or tool never reached the agent",
}
_SHELL_ERRORS = {126: "cannot be executed", 127: "command not found"}


def healthy(runs: Sequence[Run], audits: Sequence[Run]) -> bool:
    """No failed setup, nothing undelivered, few runs lost, and something left to read."""
    every = (*runs, *audits)
    if any(run.outcome.unhealthy for run in every) or _too_many_lost(every):
        return False
    return bool(counted(runs) or not runs)


def all_lost(runs: Sequence[Run], *, partial: bool) -> str:
    """The headline where no run counts."""
    so_far = " so far" if partial else ""
    if len(runs) == 1:
        return (
            f"The only run{so_far} was lost ({_kinds(runs)}): there is nothing to compare. "
            "Do it again with --retry-failed."
        )
    return (
        f"All {len(runs):,} runs{so_far} were lost ({_kinds(runs)}): there is nothing to compare. "
        "Do them again with --retry-failed."
    )


def alerts(runs: Sequence[Run], audits: Sequence[Run]) -> Iterable[str]:
    """What must be read before any number."""
    every = (*runs, *audits)
    yield from _arm_faults(every)
    # Where nothing counts at all, the headline says so.
    if _too_many_lost(every) and (counted(runs) or not runs):
        yield _loss(_lost(every), len(every))
    yield from _silent_agents(runs)
    yield from _broken_verify(every)


def _loss(lost: Sequence[Run], total: int) -> str:
    were, them = ("was", "it") if len(lost) == 1 else ("were", "them")
    return (
        f"UNHEALTHY: {len(lost):,} of {total:,} runs ({fmt.percent(len(lost) / total)}%) {were} lost "
        f"({_kinds(lost)}), more than the {fmt.percent(MAX_LOST)}% that a trial may lose. "
        f"Do {them} again with --retry-failed."
    )


def _lost(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.outcome.lost]


def _too_many_lost(runs: Sequence[Run]) -> bool:
    return len(_lost(runs)) > MAX_LOST * len(runs)


def _kinds(runs: Sequence[Run]) -> str:
    """How many were lost to what, and the most frequent reason."""
    kinds = Counter(run.outcome for run in runs)
    text = ", ".join(f"{kinds[outcome]} {outcome}" for outcome in Outcome if kinds[outcome])
    reason = fmt.most_frequent(Counter(run.reason for run in runs if run.reason))
    if not reason:
        return text
    return f"{text}: {reason}" if len(kinds) == 1 else f"{text}; most often: {reason}"


def _arm_faults(runs: Sequence[Run]) -> Iterable[str]:
    for outcome, meaning in _UNHEALTHY.items():
        by_arm = Counter(run.arm for run in runs if run.outcome is outcome)
        if by_arm:
            where = ", ".join(f"{arm} {count}" for arm, count in sorted(by_arm.items()))
            total = fmt.plural(sum(by_arm.values()), "run")
            yield f"UNHEALTHY: {meaning} in {total} ({where}); excluded."


def _silent_agents(runs: Sequence[Run]) -> Iterable[str]:
    """An agent that never answers is more likely broken than bad."""
    by_agent: dict[str, list[Run]] = {}
    for run in counted(runs):
        by_agent.setdefault(run.agent, []).append(run)
    for agent, mine in sorted(by_agent.items()):
        if mine and all(run.outcome is Outcome.NO_ANSWER for run in mine):
            reason = fmt.most_frequent(Counter(run.reason for run in mine if run.reason))
            because = f" (most often: {reason})" if reason else ""
            total = "its only run" if len(mine) == 1 else f"all {len(mine):,} runs"
            yield (
                f"WARNING: {agent} gave no answer in {total}{because}: "
                "it may not work at all, so see raw.err of a run before you compare it."
            )


def _broken_verify(runs: Sequence[Run]) -> Iterable[str]:
    """A verify command that the shell cannot run fails every agent alike."""
    by_question: dict[str, list[Run]] = {}
    for run in runs:
        if run.verified:
            by_question.setdefault(run.question, []).append(run)
    for question, ran in sorted(by_question.items()):
        codes = {run.verify_exit for run in ran}
        if ran and all(code in _SHELL_ERRORS for code in codes):
            meaning = " or ".join(f"{code}: {text}" for code, text in _SHELL_ERRORS.items() if code in codes)
            total = "its only run" if len(ran) == 1 else f"all {len(ran):,} runs"
            yield (
                f"WARNING: the verify command of {question} could not run in {total} "
                f"(exit code {meaning}): its failures say nothing about an agent."
            )
