"""Whether a trial can be believed: what makes it UNHEALTHY, and what looks like a mistake in its spec."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tiltyard_cluster.words import one_line
from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.outcomes import MAX_LOST

_NOT_RUNNABLE = frozenset({126, 127})
"""Exit codes of a shell that cannot run, or cannot find, a command."""
_SHOWN = 3
_LONGEST = 600


def unhealthy_because(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """Why the trial is unhealthy, a sentence for each reason; empty when it is not."""
    return (*_broken_treatments(records), *_too_many_lost(records))


def alarms(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """What a user should look at before believing a result that is healthy by its outcomes."""
    return (*_silent_agents(records), *_broken_verifies(records))


def _broken_treatments(records: Sequence[RunRecord]) -> Iterator[str]:
    found = Counter((r.outcome, r.arm, r.reason or "no reason") for r in records if r.outcome.unhealthy)
    for (outcome, arm, reason), count in found.most_common(_SHOWN):
        yield f"{_runs(count)} of arm {arm} {outcome}: {one_line(reason, _LONGEST)}"
    if len(found) > _SHOWN:
        yield f"and for {len(found) - _SHOWN} further reasons, which the records name"


def _too_many_lost(records: Sequence[RunRecord]) -> Iterator[str]:
    lost = [record for record in records if record.outcome.lost]
    if len(lost) <= MAX_LOST * len(records):
        return
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in _count(r.outcome for r in lost))
    reason = _count(one_line(r.reason or "no reason") for r in lost)[0][0]
    yield (
        f"{len(lost)} of {_runs(len(records))} lost ({outcomes}), most often because: {reason}; "
        "do them again with --retry-failed"
    )


def _silent_agents(records: Sequence[RunRecord]) -> Iterator[str]:
    # The agent that does nothing has no answer by design.
    for agent, runs in _groups((r.agent, r) for r in records if r.outcome.counted and r.kind != "nop"):
        if all(run.outcome is Outcome.NO_ANSWER for run in runs):
            reason = _count(one_line(run.reason or "no reason") for run in runs)[0][0]
            yield (
                f"every run of agent {agent} ended as no_answer ({_runs(len(runs))}, most often: {reason}); "
                "its command is likely broken: see raw.err of a run"
            )


def _broken_verifies(records: Sequence[RunRecord]) -> Iterator[str]:
    for question, runs in _groups((r.question, r) for r in records if r.verify is not None):
        codes = {run.verify.exit_code for run in runs if run.verify is not None}
        if codes <= _NOT_RUNNABLE:
            code = " or ".join(str(code) for code in sorted(codes, key=str))
            yield (
                f"verify of question {question} exited with {code} in every run ({_runs(len(runs))}); "
                "its command is likely broken: see verify.log of a run"
            )


def _groups(pairs: Iterable[tuple[str, RunRecord]]) -> list[tuple[str, list[RunRecord]]]:
    groups: dict[str, list[RunRecord]] = {}
    for name, record in pairs:
        groups.setdefault(name, []).append(record)
    return sorted(groups.items())


def _count(items: Iterable[str]) -> list[tuple[str, int]]:
    """The most frequent first; of equally frequent ones the order is that of the alphabet."""
    return sorted(Counter(items).items(), key=lambda item: (-item[1], item[0]))


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
