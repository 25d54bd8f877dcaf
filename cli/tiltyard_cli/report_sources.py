"""What a report is made from: results in any state, read as records or as a table, and row files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltyard_cli.given_twice import without_copies
from tiltyard_cli.told import tell
from tiltyard_specs.errors import DataError
from tiltyard_specs.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from tiltyard_cluster import Store
    from tiltyard_cluster.reading import ReadResult

_ROWS = frozenset({".jsonl", ".ndjson"})
_SPECS = frozenset({".yaml", ".yml", ".toml"})
_MANY = 5000
"""Runs above which the table of compacted records is read."""
_BATCH = 16384


@dataclass(frozen=True)
class Source:
    """One result."""

    name: str
    records: "Sequence[dict[str, Any]] | Iterable[pa.RecordBatch]"
    receipt: dict[str, Any] | None = None
    attempts: Sequence[dict[str, Any]] = ()
    problems: tuple[str, ...] = ()
    """What of it could not be read: the report ends with 65."""
    notes: tuple[str, ...] = ()
    result: "ReadResult | None" = None
    """Where it was read record by record."""
    store: "Store | None" = None
    runs: Mapping[str, str | None] | None = None
    """The ids of its runs with the digests of their records, where it was read as a table."""


@contextmanager
def sources(names: Sequence[str], endpoint: str | None, *, by_record: bool) -> Iterator[list[Source]]:
    """The results, for as long as the block lasts.

    Args:
        names: Folders, `s3://` addresses and row files.
        endpoint: Of the S3 service.
        by_record: Whether every record is wanted as such.

    Raises:
        DataError: None of them can be read.
    """
    found: list[Source] = []
    problems: list[str] = []
    with ExitStack() as stack:
        for name in names:
            try:
                found.append(_source(name, endpoint, stack, by_record=by_record))
            except DataError as error:
                if len(names) == 1:
                    raise
                problems.append(str(error))
        if not found:
            raise DataError("; ".join(problems))
        if len(found) > 1:
            found = _each_once(found, endpoint, stack)
        kept, foreign = _of_one_trial(found)
        first = replace(kept[0], problems=(*problems, *foreign, *kept[0].problems))
        yield [first, *kept[1:]]


def receipt_of(found: Sequence[Source]) -> dict[str, Any] | None:
    """One receipt of all: that of the first, with what was planned in all of them."""
    receipts = [each.receipt for each in found if each.receipt is not None]
    if not receipts:
        return None
    if len(found) == 1:
        return receipts[0]
    planned = [each.get("runs_expected") or len(each.get("order") or ()) for each in receipts]
    shards = [each["shard"] for each in receipts if each.get("shard")]
    return receipts[0] | {
        "order": [],
        "runs_expected": sum(planned),
        "missing": sum(each.get("missing") or 0 for each in receipts),
        "shard": shards[0] if shards else None,
    }


def of_trial(result: "ReadResult") -> "ReadResult":
    """Without records that say of themselves that they are of another trial: somebody copied them there."""
    if result.receipt is None:
        return result
    name = result.receipt.trial
    foreign = [record.trial for record in result.records if record.trial != name]
    if not foreign:
        return result
    names = " and ".join(sorted(map(repr, set(foreign))))
    count = f"{len(foreign)} record{'s' * (len(foreign) > 1)}"
    problem = f"left out {count} of {names}: trial.json is that of {name!r}"
    kept = tuple(record for record in result.records if record.trial == name)
    return replace(result, records=kept, problems=(*result.problems, problem))


def _each_once(found: list[Source], endpoint: str | None, stack: ExitStack) -> list[Source]:
    """The results without runs that an earlier one holds too; tables that share none stay tables."""
    found = _same_tables(found)
    ids = [set(each.runs or (record["run_id"] for record in each.records)) for each in found]
    if len(set().union(*ids)) == sum(map(len, ids)):
        return found
    return without_copies(
        [each if each.runs is None else _source(each.name, endpoint, stack, by_record=True) for each in found]
    )


def _same_tables(found: Sequence[Source]) -> list[Source]:
    """Without tables of the very records of an earlier one, as their manifests say: none is read twice."""
    kept: list[Source] = []
    for source in found:
        at = next((at for at, each in enumerate(kept) if each.runs and each.runs == source.runs), None)
        if at is None:
            kept.append(source)
        else:
            note = f"{source.name} holds the runs of {kept[at].name} once more: they are counted once"
            kept[at] = replace(kept[at], notes=(*kept[at].notes, note))
    return kept


def _of_one_trial(found: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """The results of the first one's trial; those of another are named."""
    name = _trial(found[0])
    kept = [each for each in found if _trial(each) in {name, None} or name is None]
    foreign = [
        f"{each.name} is of trial {_trial(each)!r} and not of {name!r}, so it is left out: "
        "several results are several runs of one trial"
        for each in found
        if each not in kept
    ]
    return kept, foreign


def _trial(source: Source) -> str | None:
    return str(source.receipt["trial"]) if source.receipt else None


def _source(name: str, endpoint: str | None, stack: ExitStack, *, by_record: bool) -> Source:
    path = Path(name)
    if path.suffix in _ROWS and not path.is_dir():
        return _rows(path)
    if path.suffix in _SPECS and path.is_file():
        raise DataError(f"{name} is a spec and no result: give the folder that `tiltyard run` wrote")
    from tiltyard_cluster import open_result  # noqa: PLC0415
    from tiltyard_cluster.reading import read_result  # noqa: PLC0415

    store = open_result(name, endpoint, tell)
    if not by_record:
        table = _table(visible(name), store, stack)
        if table is not None:
            return table
    result = of_trial(read_result(store, visible(name)))
    return Source(
        name=name,
        records=[record.to_data() for record in result.records],
        receipt=result.receipt.to_data() if result.receipt else None,
        attempts=[record.to_data() for record in result.attempts],
        problems=result.problems,
        notes=result.notes,
        result=result,
        store=store,
    )


def _rows(path: Path) -> Source:
    from tiltyard_formats import read_rows, row_records  # noqa: PLC0415

    if not path.exists():
        raise DataError(f"{path} does not exist")
    problems: list[str] = []
    records, left_out = row_records(read_rows(path, problems))
    notes = (f"{path}: left out {left_out} rows that say nothing on a pass",) if left_out else ()
    return Source(str(path), records, problems=tuple(problems), notes=notes)


def _table(name: str, store: "Store", stack: ExitStack) -> Source | None:
    """The table of a large result; None where there is none, or where it is not what the manifest names."""
    from tiltyard_cluster.compacted import compacted_records, fetched, read_manifest  # noqa: PLC0415
    from tiltyard_cluster.layout import ATTEMPTS_FILE, TABLE_FILE, TRIAL  # noqa: PLC0415
    from tiltyard_specs.receipt import parse_receipt  # noqa: PLC0415

    manifest = read_manifest(store, name)
    text = store.get(TRIAL)
    if manifest is None or text is None or TABLE_FILE not in manifest.files or manifest.present <= _MANY:
        return None
    try:
        path = stack.enter_context(fetched(name, store, manifest, TABLE_FILE))
        attempts = [item.to_data() for item in compacted_records(name, store, manifest, ATTEMPTS_FILE)]
    except DataError:
        # The record files are read one by one then, and what is wrong with them is told.
        return None
    receipt = parse_receipt(text, f"{name}/{TRIAL}").to_data()
    if receipt["plan_id"] != manifest.plan_id:
        # A start has written its receipt; what was compacted before is out of date.
        return None
    return Source(name, _batches(path, stack), receipt, attempts, store=store, runs=manifest.runs)


def _batches(path: Path, stack: ExitStack) -> "Iterable[pa.RecordBatch]":
    import pyarrow.parquet as pq  # noqa: PLC0415

    from tiltyard_report.table_columns import LABELS, USED_COLUMNS  # noqa: PLC0415

    # A table of an earlier version may lack columns.
    there = set(pq.read_schema(path).names)
    columns = [name for name in USED_COLUMNS if name in there]
    labels = [name for name in LABELS if name in there]
    file = stack.enter_context(pq.ParquetFile(path, read_dictionary=labels))
    batches: Iterable[pa.RecordBatch] = file.iter_batches(
        batch_size=_BATCH, columns=columns, use_threads=False
    )
    return batches
