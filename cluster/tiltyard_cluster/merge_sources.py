"""A part that is given to a merge: opened, and checked against its own manifest and the plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard_cluster.beside import Beside, attempt_digests
from tiltyard_cluster.broken_merge import broken_merge, is_broken_merge
from tiltyard_cluster.bulk import get_all
from tiltyard_cluster.compacted import fetch_file, read_manifest
from tiltyard_cluster.compaction import Share, compact_into
from tiltyard_cluster.layout import ATTEMPTS_FILE, MANIFEST, RUNS, TRIAL, is_attempt, is_record
from tiltyard_cluster.merge_parts import place_of
from tiltyard_cluster.run_names import label_in
from tiltyard_cluster.sharding import from_file
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.receipt import TrialReceipt, parse_receipt


@dataclass(frozen=True, slots=True)
class Source:
    """A part, ready to be read."""

    name: str
    """What messages call it."""
    place: str
    """Where merged rows point to."""
    folder: Path
    """Where its compacted files lie on this machine."""
    receipt: TrialReceipt
    """Without the order of its runs, which are those of the manifest."""
    present: Mapping[str, str]
    """The runs that have a record, and its digest, sorted."""


def open_source(name: str, store: Store, plan: PlanFile, scratch: Path, *, allow_partial: bool) -> Source:
    """Open a part and check it.

    Args:
        name: Its address, as the user gave it.
        store: Where it lies.
        plan: The plan that it should belong to.
        scratch: A folder of its own for files under way.
        allow_partial: Take one that has not ended: what it has is compacted now.

    Raises:
        DataError: It is no part of this plan, has not ended, or was altered.
    """
    manifest = _manifest(name, store)
    receipt = _receipt(name, store, merged=manifest is not None and manifest.merged)
    _require_plan(name, receipt.plan_id, plan)
    if manifest is None:
        if not allow_partial:
            raise DataError(
                f"{name} has no {MANIFEST}: its runs have not ended; start it again to go on, "
                "or merge what there is with --allow-partial"
            )
        share = _share(receipt, plan)
        return _source(name, store, scratch, compact_into(scratch, store, share), receipt)
    _require_plan(name, manifest.plan_id, plan)
    if manifest.runs.keys() != set(receipt.order):
        raise DataError(f"{name}/{MANIFEST} was altered: it does not name the runs that {TRIAL} does")
    paths = [fetch_file(name, store, manifest, file, scratch) for file in manifest.files]
    folder = paths[0].parent if paths else scratch
    _check_run_files(name, store, manifest, plan, folder)
    return _source(name, store, folder, manifest, receipt)


def _source(name: str, store: Store, folder: Path, manifest: Manifest, receipt: TrialReceipt) -> Source:
    present = {run: digest for run, digest in sorted(manifest.runs.items()) if digest is not None}
    return Source(name, place_of(store), folder, receipt.model_copy(update={"order": ()}), present)


def _manifest(name: str, store: Store) -> Manifest | None:
    manifest = read_manifest(store, name)
    if manifest is None and is_broken_merge(name, store):
        raise broken_merge(name)
    return manifest


def _receipt(name: str, store: Store, *, merged: bool) -> TrialReceipt:
    text = store.get(TRIAL)
    if text is None:
        if merged:
            raise broken_merge(name)
        raise DataError(f"{name} holds no trial: there is no {TRIAL} in it")
    return parse_receipt(text, f"{name}/{TRIAL}")


def _require_plan(name: str, found: str, plan: PlanFile) -> None:
    if found != plan.plan_id:
        raise DataError(
            f"{name} belongs to plan {found}, not to {plan.plan_id} of trial {plan.trial}: "
            "it is of an older plan or of another spec"
        )


def _share(receipt: TrialReceipt, plan: PlanFile) -> Share:
    wanted = set(receipt.order)
    runs = tuple(run for run in from_file(plan).runs if run.run_id in wanted)
    return Share(plan.plan_id, plan.trial, runs, receipt.shard)


def _check_run_files(name: str, store: Store, manifest: Manifest, plan: PlanFile, folder: Path) -> None:
    """See that every file of a run says what was compacted, to the last byte of its content."""
    attempts = attempt_digests(folder / ATTEMPTS_FILE, f"{name}/{ATTEMPTS_FILE}")
    beside = Beside(name, manifest, lambda run: label_in(plan, run), attempts)
    keys = (key for key in store.list(RUNS) if is_record(key) or is_attempt(key))
    for key, text in get_all(store, keys):
        wrong = None if text is None else beside.see(key, text)
        if wrong is not None:
            raise DataError(wrong)
    gone = next(beside.gone(), None)
    if gone is not None:
        raise DataError(gone)
