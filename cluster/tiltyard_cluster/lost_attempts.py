"""What is recorded of an attempt from which nobody came back."""

from datetime import UTC, datetime

from tiltyard_cluster.executor import OpenRun
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord, Spend


def lost_record(
    run: OpenRun, attempt: int, node: str, reason: str, began: datetime, spend: Spend | None = None
) -> RunRecord:
    """The record of a lost attempt.

    Args:
        run: The run.
        attempt: The attempt's ordinal.
        node: Where it ran.
        reason: What became of it.
        began: When it was sent there.
        spend: What is known of its model calls.
    """
    planned, job = run.planned, run.job
    return RunRecord(
        run_id=planned.run_id,
        trial=job.identity.trial,
        capability=planned.capability,
        question=planned.question,
        arm=planned.arm,
        agent=planned.agent,
        rep=planned.rep,
        attempt=attempt,
        outcome=Outcome.INFRA,
        reason=reason,
        usage=spend.usage if spend is not None else None,
        metered=spend,
        seconds=round((datetime.now(UTC) - began).total_seconds(), 3),
        started_at=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        node=node,
        images=dict(job.images),
        versions=dict(job.versions),
        position=planned.position,
        block=planned.block,
        model=job.task.model,
        effort=job.effort,
        kind=job.kind,
        edits=job.task.edits,
    )
