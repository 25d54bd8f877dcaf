"""Builds the record that an attempt leaves."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from tiltyard_gateway.config import RunMeter
from tiltyard_runner.agent_process import AgentEnd
from tiltyard_runner.agents import AgentResult, adapter_for
from tiltyard_runner.differences import Circumstances, difference
from tiltyard_runner.grading.grade import Grade
from tiltyard_runner.history_reads import history_reads
from tiltyard_runner.job import Job
from tiltyard_runner.masking import Masking
from tiltyard_runner.recorded_calls import recorded_calls
from tiltyard_runner.tool_use import used_tool
from tiltyard_specs.answer_key import SlowPatternError
from tiltyard_specs.claim import read_claim
from tiltyard_specs.difference_record import Difference
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import AgentErrorFact, Delivery, DiskBound, Policy, RunRecord, Score, Spend
from tiltyard_specs.usage import Usage
from tiltyard_specs.visible import visible

NOTHING_SPENT = Spend(
    usage=Usage(input=0, cache_read=0, cache_write=0, output=0, reasoning=0, cache_write_1h=0),
    cost_usd=0.0,
    calls=0,
    charged_usd=0.0,
    charged_tokens=0,
)
"""Of an attempt of which no call was sent on: that is known, and not unknown."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What the agent's part of an attempt left behind."""

    end: AgentEnd
    result: AgentResult
    grade: Grade
    meter: RunMeter
    disk_bound: DiskBound | None = None


def build_record(  # noqa: PLR0913  # one argument for each fact that only the attempt knows
    job: Job,
    attempt: int,
    node: str,
    *,
    started: datetime,
    seconds: float,
    outcome: Outcome,
    reason: str | None,
    ran: Ran | None = None,
    meter: RunMeter | None = None,
    score: Score | None = None,
    missing: tuple[str, ...] = (),
) -> RunRecord:
    """The record of one attempt.

    Args:
        job: The run.
        attempt: Its ordinal, from 1.
        node: Name of the machine.
        started: When the attempt began, UTC.
        seconds: Wall time of the whole attempt, used when the agent never started.
        outcome: How it ended.
        reason: Why, in one phrase.
        ran: What the agent left; None when it never got that far.
        meter: What was metered all the same, when `ran` is None.
        score: The answer key's verdict.
        missing: What of the arm never reached the agent.
    """
    identity, task = job.identity, job.task
    result = ran.result if ran else AgentResult()
    metered = _metered(job, ran.meter if ran else meter, outcome)
    reported = _reported(result)
    end = ran.end if ran else None
    found = ran.grade if ran else Grade()
    history = _history_reads(job, result)
    return RunRecord(
        **asdict(identity),
        attempt=attempt,
        outcome=outcome,
        reason=None if reason is None else visible(reason, one_line=True),
        answer=result.answer,
        score=score,
        verify=found.verify,
        claim=read_claim(result.answer) if job.claim and ran else None,
        usage=_counted(metered, reported, sealed=_sealed(job)),
        metered=metered,
        reported=reported,
        difference=_difference(job, ran) if ran else None,
        delivered=_delivery(job, missing) if ran else None,
        tool_calls=recorded_calls(result.tool_calls, job.secrets),
        turns=_turns(result, metered),
        seconds=round(end.seconds, 3) if end else seconds,
        started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        node=node,
        images=dict(job.images),
        versions=dict(job.versions),
        model=visible(result.model, one_line=True) if result.model else task.model,
        effort=job.effort,
        kind=job.kind,
        edits=task.edits,
        used_tool=_used(job, result) if ran else None,
        exit_code=end.exit_code if end else None,
        timed_out=end.timed_out if end else False,
        history_reads=history,
        tampered=found.tampered,
        patch=found.patch,
        policy=Policy.model_validate({**job.policy, "disk_bound": ran.disk_bound if ran else None}),
        agent_error=_error(result),
        warnings=(*_warnings(ran), *_history_warning(job, history)),
    )


def _sealed(job: Job) -> bool:
    return job.policy.get("network", "sealed") == "sealed"


def _metered(job: Job, meter: RunMeter | None, outcome: Outcome) -> Spend | None:
    """What the meter saw. Where nothing could go around it, no request means no spend."""
    if meter is not None and meter.calls:
        return metered_spend(meter)
    if meter is None or outcome is Outcome.SETUP_FAILED:
        return NOTHING_SPENT  # no agent was ever started
    calls_models = adapter_for(job.kind).provider is not None or job.task.model is not None
    return NOTHING_SPENT if calls_models and _sealed(job) else None


def _counted(metered: Spend | None, reported: Spend | None, *, sealed: bool) -> Usage | None:
    """The usage that statistics take: the metered one where there is one, and none that is known in part."""
    if metered is None or not (metered.calls or sealed):
        return reported.usage if reported else None
    return None if metered.incomplete else metered.usage


def _used(job: Job, result: AgentResult) -> bool | None:
    """Whether the run used the arm's tool; None without a pattern, or when it takes too long."""
    try:
        return used_tool(job.uses, result.tool_calls) if job.uses else None
    except SlowPatternError:
        return None


def _history_reads(job: Job, result: AgentResult) -> tuple[str, ...]:
    reads = history_reads(result.tool_calls, Masking(job.secrets).text)
    return tuple(visible(read, one_line=True) for read in reads)


def _history_warning(job: Job, reads: tuple[str, ...]) -> Iterator[str]:
    """Without a history there is nothing to be found in it."""
    if reads and job.policy.get("history") == "full":
        yield "the agent read the repository's history, which may hold the answer"


def _turns(result: AgentResult, metered: Spend | None) -> int | None:
    """Model calls as the agent's stream shows them; codex does not, so the meter's count stands in."""
    if result.turns is not None or metered is None:
        return result.turns
    return metered.calls


def metered_spend(meter: RunMeter | None) -> Spend | None:
    """What the meter saw, as a record holds it; None where there was no call."""
    if meter is None or not meter.calls:
        return None
    billable = [call for call in meter.calls if call.outcome not in {"free", "refused"}]
    if meter.usage is None and not meter.incomplete:
        # Nothing was sent on, or all of it was answered with an error, which costs nothing.
        return NOTHING_SPENT.model_copy(
            update={"calls": len(billable), "held_seconds": meter.held_seconds or None}
        )
    cost = None if meter.incomplete else meter.cost_usd
    return Spend(
        usage=meter.usage,
        cost_usd=cost,
        least_usd=meter.least_usd if cost is None else None,
        calls=len(billable),
        incomplete=meter.incomplete or None,
        charged_usd=meter.charged_usd,
        charged_tokens=meter.charged_tokens,
        imputed=any(call.imputed for call in billable) or None,
        held_seconds=meter.held_seconds or None,
    )


def _reported(result: AgentResult) -> Spend | None:
    if result.usage is None and result.cost_usd is None:
        return None
    return Spend(usage=result.usage, cost_usd=result.cost_usd, calls=None)


def _difference(job: Job, ran: Ran) -> Difference | None:
    end, meter = ran.end, ran.meter
    stopped = end.timed_out or end.cancelled or end.disk_bytes is not None or meter.stopped_by is not None
    around = Circumstances(
        model=job.task.model,
        forced=stopped or end.oom_killed,
        sealed=_sealed(job),
    )
    return difference(meter, ran.result, around)


def _delivery(job: Job, missing: tuple[str, ...]) -> Delivery | None:
    task = job.task
    expected = [f"mcp:{name}" for name in task.mcp_servers] + [f"skill:{skill.name}" for skill in task.skills]
    if not expected:
        return None
    return Delivery(ok=not missing, expected=tuple(expected), missing=missing)


def _error(result: AgentResult) -> AgentErrorFact | None:
    error = result.error
    if error is None:
        return None
    return AgentErrorFact.model_validate(
        {"class": error.kind, "status": error.status, "message": visible(error.message)}
    )


def _warnings(ran: Ran | None) -> tuple[str, ...]:
    if ran is None:
        return ()
    warnings = list(ran.grade.warnings)
    if ran.end.dropped:
        warnings.append(f"{ran.end.dropped} bytes of output beyond the limit were dropped")
    if ran.end.oom_killed and not ran.end.exit_code:
        warnings.append("the kernel ended a child process at the memory limit")
    if any(call.imputed for call in ran.meter.calls):
        warnings.append("the agent's own login paid: its cost is what its tokens cost at list price")
    if calls := ran.meter.incomplete:
        warnings.append(f"the usage of {calls} model {'call' if calls == 1 else 'calls'} is not fully known")
    if over := sum(call.over_reserve for call in ran.meter.calls):
        calls_used = "1 call used" if over == 1 else f"{over} calls used"
        warnings.append(f"{calls_used} more than was set aside: a budget or limit may be passed by it")
    if ran.meter.journal_error:
        warnings.append(f"calls.jsonl is not complete: {ran.meter.journal_error}")
    if ran.meter.unrecorded:
        warnings.append(f"{ran.meter.unrecorded} refused or free requests were not recorded one by one")
    if not ran.result.complete:
        warnings.append("the agent's own account of the run is incomplete")
    return tuple(visible(warning, one_line=True) for warning in warnings)
