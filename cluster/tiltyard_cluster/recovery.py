"""Finishes what a killed driver left in its staging folder: calls that were paid for are never lost."""

import shutil
from pathlib import Path

from tiltyard_cluster.layout import ATTEMPT, RECORD
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.staging import Begun, left_behind
from tiltyard_gateway import RunMeter, settle_journal
from tiltyard_runner.recording import metered_spend
from tiltyard_runner.redaction import redact_attempt
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord, parse_record

_FREE = frozenset({"free", "refused"})


def recover(staging: Path, trial: str, publisher: Publisher, secrets: tuple[str, ...] = ()) -> int:
    """Settle the attempts that were under way when a driver was killed.

    One that had come to a record is published as it was about to be. One that had only made calls becomes an
    attempt record with their spend. The rest is removed.

    Args:
        staging: The staging folder, which may be missing.
        trial: Name of the trial.
        publisher: Where attempts go.
        secrets: Keys that must not stand in the files of an attempt that was broken off.

    Returns:
        How many attempts were kept.
    """
    kept = 0
    for folder, begun in left_behind(staging):
        kept += begun is not None and _settle(begun, trial, publisher, secrets)
        shutil.rmtree(folder)
    return kept


def _settle(begun: Begun, trial: str, publisher: Publisher, secrets: tuple[str, ...]) -> bool:
    if (text := begun.written_down(RECORD)) is not None:
        _finish(begun, parse_record(text, str(begun.folder / RECORD)), publisher)
        return True
    if (record := _kept(begun)) is not None:
        publisher.earlier(begun.run, record, begun.folder)
        return True
    calls = settle_journal(begun.folder / "calls.jsonl")
    if all(call.outcome in _FREE for call in calls):
        return False
    # The killed driver had no time to mask them.
    record = redact_attempt(_broken_off(begun, trial, calls), begun.folder, secrets)
    publisher.earlier(begun.run, record, begun.folder)
    return True


def _finish(begun: Begun, record: RunRecord, publisher: Publisher) -> None:
    try:
        publisher.finish(begun.run, record, begun.folder)
    except DataError:
        # Settled in another way meanwhile, by hand or by another machine: its spend still counts.
        # A start before this one may have come so far, and have given it another number.
        publisher.earlier(begun.run, _kept(begun) or record, begun.folder)
        # First of all: a kill while the folder is removed must not leave it alone.
        (begun.folder / RECORD).unlink()


def _kept(begun: Begun) -> RunRecord | None:
    """What was written down of an attempt that settles nothing."""
    text = begun.written_down(ATTEMPT)
    return None if text is None else parse_record(text, str(begun.folder / ATTEMPT))


def _broken_off(begun: Begun, trial: str, calls: tuple[Call, ...]) -> RunRecord:
    run = begun.run
    spend = metered_spend(RunMeter(calls))
    return RunRecord(
        run_id=run.run_id,
        trial=trial,
        capability=run.capability,
        question=run.question,
        arm=run.arm,
        agent=run.agent,
        rep=run.rep,
        attempt=begun.attempt,
        outcome=Outcome.INFRA,
        reason="the process that drove the trial, or its gateway, ended before this attempt did",
        usage=spend.usage if spend is not None and not spend.incomplete else None,
        metered=spend,
        seconds=0.0,
        started_at=calls[0].started_at,
        node="",
        position=run.position,
        block=run.block,
    )
