"""Reads the compacted form of a result: its files fetched, proven by their digests, and their records."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiltyard_cluster.compaction import scratch_folder
from tiltyard_cluster.layout import MANIFEST
from tiltyard_cluster.lines import file_sha256, read_lines
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.record import RunRecord, parse_record


def read_manifest(store: Store, name: str) -> Manifest | None:
    """The manifest of a result; None where it is under way, or was never compacted.

    Raises:
        DataError: It is damaged.
    """
    text = store.get(MANIFEST)
    return None if text is None else Manifest.parse(text, f"{name}/{MANIFEST}")


def fetch_file(name: str, store: Store, manifest: Manifest, file: str, scratch: Path) -> Path:
    """A compacted file on this machine, checked by its digest.

    Args:
        name: What to call the result.
        store: Where it lies.
        manifest: Its manifest.
        file: Which file.
        scratch: Where a file goes that lies elsewhere.

    Raises:
        DataError: It is missing, or not the one that the manifest names.
    """
    path = (store.root if isinstance(store, FolderStore) else scratch) / file
    try:
        if not isinstance(store, FolderStore):
            with path.open("wb") as writer:
                writer.writelines(store.stream(file))
        digest = file_sha256(path)
    except FileNotFoundError:
        raise DataError(f"{name}/{file} is missing, though the manifest names it") from None
    if digest != manifest.files[file].sha256:
        raise DataError(f"{name}/{file} was altered: it is not the file that the manifest names")
    return path


@contextmanager
def fetched(name: str, store: Store, manifest: Manifest, file: str) -> Iterator[Path]:
    """A compacted file on this machine for as long as the block lasts; see `fetch_file`."""
    with scratch_folder() as folder:
        yield fetch_file(name, store, manifest, file, folder)


def compacted_records(name: str, store: Store, manifest: Manifest, file: str) -> Iterator[RunRecord]:
    """The records in a compacted file, one after the other.

    Raises:
        DataError: The file was altered, or a record in it cannot be read.
    """
    where = f"{name}/{file}"
    if file not in manifest.files:
        return
    with fetched(name, store, manifest, file) as path:
        for line in read_lines(path, where):
            yield parse_record(line, where)
