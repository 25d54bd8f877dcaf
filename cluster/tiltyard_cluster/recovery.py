"""Saves what a killed driver left in its staging folder: calls that were paid for are never lost."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from tiltyard_cluster.plan import PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_specs.calls import Call
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RunRecord, Spend
from tiltyard_specs.usage import total_usage


def recover(staging: Path, runs: Mapping[str, PlannedRun], trial: str, publisher: Publisher) -> int:
    """Turn attempts that were under way into attempt records, where they had made calls; remove the rest.

    Returns:
        How many attempts were kept.
    """
    kept = 0
    for folder in sorted(staging.glob("*.*")):
        run_id, _, number = folder.name.rpartition(".")
        planned = runs.get(run_id)
        calls = _calls(folder / "calls.jsonl")
        if planned is not None and calls:
            record = _record(planned, trial, int(number), calls)
            publisher.earlier(planned, record, folder)
            kept += 1
        shutil.rmtree(folder, ignore_errors=True)
    return kept


def _calls(path: Path) -> list[Call]:
    if not path.exists():
        return []
    return list(_valid(path.read_text(encoding="utf-8", errors="replace").splitlines()))


def _valid(lines: Iterable[str]) -> Iterable[Call]:
    for line in lines:
        try:
            yield Call.model_validate_json(line)
        except ValidationError:
            # The last line may have been cut by the kill.
            continue


def _record(run: PlannedRun, trial: str, attempt: int, calls: list[Call]) -> RunRecord:
    usage = total_usage([call.usage for call in calls if call.usage is not None])
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    spend = Spend(usage=usage, cost_usd=sum(costs) if costs else None, calls=len(calls))
    return RunRecord(
        run_id=run.run_id,
        trial=trial,
        capability=run.capability,
        question=run.question,
        arm=run.arm,
        agent=run.agent,
        rep=run.rep,
        attempt=attempt,
        outcome=Outcome.INFRA,
        reason="the process that drove the trial ended before this attempt did",
        usage=usage,
        metered=spend,
        seconds=0.0,
        started_at=calls[0].started_at,
        node="",
        position=run.position,
        block=run.block,
    )
