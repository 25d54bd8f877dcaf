"""A start says which earlier results it sets aside, and what they cost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard_cluster import FolderStore, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.superseded import superseded_note
from tiltyard_specs import Outcome, RunRecord, TrialReceipt

MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def store(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> FolderStore:
    """A run with an earlier attempt."""
    store = FolderStore.create(tmp_path)
    store.put("runs/q/a/g/1/run.json", record(planned, attempt=2).to_json().encode())
    lost = record(planned, outcome=Outcome.INFRA, attempt=1)
    store.put("runs/q/a/g/1/attempts/1/attempt.json", lost.to_json().encode())
    return store


@pytest.mark.parametrize(("read_only", "words"), [(True, "would be set aside"), (False, "set aside")])
def test_what_is_set_aside_is_told_with_its_spend(
    store: FolderStore,
    planned: PlannedRun,
    *,
    read_only: bool,
    words: str,
) -> None:
    publisher = Publisher(store, read_only=read_only)
    assert publisher.done(replace(planned, run_id="e" * 32)) is None

    assert superseded_note(publisher) == (
        f"results of an older spec {words} in superseded/: 1 (200 tokens, $1.00); "
        "they come back when the spec is changed back"
    )


def test_nothing_is_told_of_records_that_stand(store: FolderStore, planned: PlannedRun) -> None:
    publisher = Publisher(store)
    assert publisher.done(planned) is not None

    assert superseded_note(publisher) is None


def test_scripted_results_cost_nothing(store: FolderStore, planned: PlannedRun) -> None:
    receipt = TrialReceipt(trial="t", plan_id="p", seed=1, spec={}, policy={"models": "scripted"})
    store.put("trial.json", receipt.to_json().encode())
    publisher = Publisher(store)
    publisher.done(replace(planned, run_id="e" * 32))

    assert "1 (200 tokens, would be $1.00)" in str(superseded_note(publisher))
