"""Whether the trial is fit to be read: lost runs, and signs that something other than an agent failed."""

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from tiltyard_report import _format as fmt
from tiltyard_report._sample import Sample
from tiltyard_specs.outcomes import MAX_LOST, Outcome

_UNHEALTHY = {
    Outcome.SETUP_FAILED: "the arm's own setup failed",
    Outcome.UNDELIVERED: "the arm's server, skill or tool never reached the agent",
}
_SHELL_ERRORS = {126: "cannot be executed", 127: "command not found"}


def healthy(runs: Sample, audits: Sample) -> bool:
    """No failed setup, nothing undelivered, few runs lost, and something left to read."""
    every = runs.followed_by(audits)
    if any(outcome.unhealthy for outcome in every.distinct("outcome")) or _too_many_lost(every):
        return False
    return bool(len(runs.counted) or not runs)


def all_lost(runs: Sample, *, partial: bool) -> str:
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


def alerts(runs: Sample, audits: Sample) -> Iterable[str]:
    """What must be read before any number."""
    every = runs.followed_by(audits)
    yield from _arm_faults(every)
    # Where nothing counts at all, the headline says so.
    if _too_many_lost(every) and (len(runs.counted) or not runs):
        yield _loss(_lost(every), len(every))
    yield from _silent_agents(runs)
    yield from _broken_verify(every)


def _loss(lost: Sample, total: int) -> str:
    were, them = ("was", "it") if len(lost) == 1 else ("were", "them")
    return (
        f"UNHEALTHY: {len(lost):,} of {total:,} runs ({fmt.percent(len(lost) / total)}%) {were} lost "
        f"({_kinds(lost)}), more than the {fmt.percent(MAX_LOST)}% that a trial may lose. "
        f"Do {them} again with --retry-failed."
    )


def _lost(runs: Sample) -> Sample:
    return runs.where(runs.having("outcome", lambda outcome: outcome.lost))


def _too_many_lost(runs: Sample) -> bool:
    return len(_lost(runs)) > MAX_LOST * len(runs)


def _kinds(runs: Sample) -> str:
    """How many were lost to what, and the most frequent reason."""
    kinds = _counter(runs, "outcome")
    text = ", ".join(f"{kinds[outcome]} {outcome}" for outcome in Outcome if kinds[outcome])
    reason = fmt.most_frequent(_counter(runs, "reason"))
    if not reason:
        return text
    return f"{text}: {reason}" if len(kinds) == 1 else f"{text}; most often: {reason}"


def _counter(runs: Sample, name: str) -> Counter[Any]:
    return Counter({labels[0]: count for labels, count in runs.counts(name)})


def _arm_faults(runs: Sample) -> Iterable[str]:
    for outcome, meaning in _UNHEALTHY.items():
        by_arm = _counter(_ended(runs, outcome), "arm")
        if by_arm:
            where = ", ".join(f"{arm} {count}" for arm, count in sorted(by_arm.items()))
            total = fmt.plural(sum(by_arm.values()), "run")
            yield f"UNHEALTHY: {meaning} in {total} ({where}); excluded."


def _ended(runs: Sample, wanted: Outcome) -> Sample:
    return runs.where(runs.having("outcome", lambda outcome: outcome is wanted))


def _silent_agents(runs: Sample) -> Iterable[str]:
    """An agent that never answers is more likely broken than bad."""
    for agent, mine in sorted(runs.counted.split("agent").items(), key=itemgetter(0)):
        if mine.distinct("outcome") == [Outcome.NO_ANSWER]:
            reason = fmt.most_frequent(_counter(mine, "reason"))
            because = f" (most often: {reason})" if reason else ""
            total = "its only run" if len(mine) == 1 else f"all {len(mine):,} runs"
            yield (
                f"WARNING: {agent} gave no answer in {total}{because}: "
                "it may not work at all, so see raw.err of a run before you compare it."
            )


def _broken_verify(runs: Sample) -> Iterable[str]:
    """A verify command that the shell cannot run fails every agent alike."""
    verified = runs.where(runs.column("verified"))
    broken = verified.where(verified.having("verify_exit", lambda code: code in _SHELL_ERRORS))
    every = {question: count for (question,), count in verified.counts("question")}
    for question, ran in sorted(broken.split("question").items(), key=itemgetter(0)):
        if len(ran) == every[question]:
            codes = ran.distinct("verify_exit")
            meaning = " or ".join(f"{code}: {text}" for code, text in _SHELL_ERRORS.items() if code in codes)
            total = "its only run" if len(ran) == 1 else f"all {len(ran):,} runs"
            yield (
                f"WARNING: the verify command of {question} could not run in {total} "
                f"(exit code {meaning}): its failures say nothing about an agent."
            )
