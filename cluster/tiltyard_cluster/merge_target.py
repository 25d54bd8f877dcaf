"""Where a merged result goes: nowhere that holds anything else."""

from collections.abc import Callable
from pathlib import Path

from tiltyard_cluster.addresses import Address, open_store
from tiltyard_cluster.compacted import read_manifest
from tiltyard_cluster.layout import ATTEMPTS_FILE, MANIFEST, RECORDS_FILE, TABLE_FILE, TRIAL
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import DataError, UsageError
from tiltyard_specs.plan_file import PlanFile
from tiltyard_specs.visible import visible

OWN = frozenset({TRIAL, MANIFEST, RECORDS_FILE, ATTEMPTS_FILE, TABLE_FILE})
"""What stands in a merged result."""


def open_target(
    where: Address, plan: PlanFile, endpoint: str | None = None, tell: Callable[[str], None] | None = None
) -> Store:
    """Open a place for a merged result.

    Args:
        where: Its address.
        plan: The plan that is merged.
        endpoint: Address of the S3 service.
        tell: Told of outages of a service.

    Raises:
        UsageError: It holds something else than an earlier merge of the plan.
        UnavailableError: It cannot be written.
    """
    if isinstance(where, Path) and where.is_file():
        raise UsageError(f"{visible(str(where))} is a file; give a folder with --out")
    store = open_store(where, endpoint, tell)
    _require_own(store, visible(str(where)), plan)
    if isinstance(where, Path):
        # It comes into being with its first file: a merge that is refused leaves nothing.
        FolderStore.create(next(folder for folder in (where, *where.absolute().parents) if folder.exists()))
    return store


def _require_own(store: Store, name: str, plan: PlanFile) -> None:
    other = next((key for key in store.list("") if key not in OWN), None)
    if other is not None:
        raise UsageError(
            f"{name} holds {visible(other)}, so it is no merged result; give a new or empty place with --out"
        )
    try:
        manifest = read_manifest(store, name)
    except DataError:
        # A merge of it was broken off, or it was damaged: it is written anew.
        return
    if manifest is not None and not (manifest.merged and manifest.plan_id == plan.plan_id):
        raise UsageError(
            f"{name} holds the result of plan {manifest.plan_id}; give a new or empty place with --out"
        )
