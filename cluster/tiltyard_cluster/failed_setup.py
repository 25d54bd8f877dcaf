"""Records the runs of an arm whose setup failed while its image was built."""

from datetime import UTC, datetime

from tiltyard_cluster.arm_images import FailedArm
from tiltyard_cluster.events import AttemptEnded, Listener
from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_runner.recording import NOTHING_SPENT
from tiltyard_specs import AgentVariant, Trial
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord
from tiltyard_specs.redact import Redactor


def record_failed_setup(  # one argument for each fact of the record
    publisher: Publisher,
    trial: Trial,
    run: PlannedRun,
    agent: AgentVariant,
    image: FailedArm,
    attempt: int,
    listen: Listener,
    redactor: Redactor,
) -> None:
    """Settle one run as `setup_failed`; the reason quotes the setup's log, in which a key may stand."""
    record = RunRecord(
        run_id=run.run_id,
        trial=trial.spec.name,
        capability=run.capability,
        question=run.question,
        arm=run.arm,
        agent=run.agent,
        rep=run.rep,
        attempt=attempt,
        outcome=Outcome.SETUP_FAILED,
        reason=redactor.text(image.reason),
        usage=NOTHING_SPENT.usage,
        metered=NOTHING_SPENT,
        seconds=0.0,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        node="",
        images=dict(image.facts),
        versions=dict(image.versions),
        position=run.position,
        block=run.block,
        model=agent.model,
        effort=agent.effort,
        kind=agent.kind,
        edits=agent.edits,
    )
    publisher.final(run, record)
    listen(AttemptEnded(record, final=True, told=True))
