"""Proves the compacted files of a result, and gets from them what its files of runs are compared with."""

from tiltyard_cluster.beside import Beside, attempt_digests
from tiltyard_cluster.compacted import fetch_file
from tiltyard_cluster.compaction import scratch_folder
from tiltyard_cluster.layout import ATTEMPTS_FILE, RECORDS_FILE
from tiltyard_cluster.lines import Key, keyed, read_lines
from tiltyard_cluster.run_names import label
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.record import parse_record


def beside_of(
    name: str, store: Store, manifest: Manifest, *, keep_lines: bool
) -> tuple[Beside, tuple[str, ...]]:
    """What files of runs are compared with, and what is wrong with the compacted files.

    Args:
        name: What to call the result.
        store: Where it lies.
        manifest: Its manifest.
        keep_lines: Whether to hold all records, which makes comparing quick.
    """
    lines: dict[str, bytes] = {}
    attempts: dict[Key, str] | None = None
    wrong = []
    with scratch_folder() as folder:
        for file in manifest.files:
            try:
                path = fetch_file(name, store, manifest, file, folder)
                if file == ATTEMPTS_FILE:
                    attempts = attempt_digests(path, f"{name}/{file}")
                elif file == RECORDS_FILE and keep_lines:
                    where = f"{name}/{file}"
                    lines = {key[0]: line for key, line in keyed(read_lines(path, where), where)}
            except DataError as error:
                wrong.append(str(error))
    return Beside(name, manifest, lambda run: _label(run, lines), attempts, lines), tuple(wrong)


def _label(run: str, lines: dict[str, bytes]) -> str:
    return label(parse_record(lines[run], run)) if run in lines else run
