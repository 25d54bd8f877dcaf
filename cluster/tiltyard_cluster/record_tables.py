"""Writes and joins record tables: Parquet, sorted by run id, the same bytes for the same rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tiltyard_specs.errors import DataError
from tiltyard_specs.record_table import COLUMNS, Column, cells

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

PLACE = "place"
"""The last column: where the run's files lie; null in the result whose run it is."""
_LABELS = [column.name for column in COLUMNS if column.kind in {"label", "json"}]
"""Few different values each: held once in memory."""
_ROWS = 16384
"""Rows of a group: how much is held in memory."""


def schema() -> "pa.Schema":
    """The types of a record table."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s that only tables need

    return pa.schema([*((column.name, _type(column)) for column in COLUMNS), (PLACE, pa.string())])


class TableWriter:
    """Writes rows to a new Parquet file. A context manager.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[list[Any]] = []

    def __enter__(self) -> Self:
        self._schema = schema()
        self._writer = _writer(self._path, self._schema)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def add(self, record: Mapping[str, Any]) -> None:
        """One more row; rows come sorted by run id."""
        self._rows.append([*cells(record), None])
        if len(self._rows) == _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415

        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in self._schema)
        arrays = [
            pa.array(list(column), type=field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        self._rows = []


def join_tables(tables: Sequence[tuple[Path, str]], target: Path) -> None:
    """Write the rows of several tables as one. Of rows of one run the one with the least place stays.

    Args:
        tables: Parquet files, and where the files of their runs lie.
        target: The new file.

    Raises:
        DataError: One is no table of records.
    """
    import pyarrow as pa  # noqa: PLC0415

    parts = [_placed(path, place) for path, place in tables]
    table = pa.concat_tables(parts).unify_dictionaries() if parts else schema().empty_table()
    order = _order(table)
    with _writer(target, schema()) as writer:
        for start in range(0, max(1, len(order)), _ROWS):
            # Plain text again: a dictionary would stand in the file in the order of the tables given.
            writer.write_table(table.take(order[start : start + _ROWS]).cast(schema()))


def _order(table: "pa.Table") -> "pa.UInt64Array":
    """The indices of the first row of each run, by run id."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    keys = pa.table({"run_id": table["run_id"], PLACE: table[PLACE].cast(pa.string())})
    order = pc.sort_indices(keys, sort_keys=[("run_id", "ascending"), (PLACE, "ascending")])
    ids = keys["run_id"].take(order)
    if len(ids) < 2:  # noqa: PLR2004  # a pair
        return order
    first = pc.not_equal(ids[1:].combine_chunks(), ids[:-1].combine_chunks())
    return order.filter(pa.concat_arrays([pa.array([True]), first]))


def _placed(path: Path, place: str) -> "pa.Table":
    """A table with the place of its rows filled in where they name none, and today's columns."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path, read_dictionary=[*_LABELS, PLACE], memory_map=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is no table of records: {error}") from error
    columns = [
        table[field.name] if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in schema()
    ]
    filled: Any = pc.coalesce(columns[-1].cast(pa.string()), pa.scalar(place))
    columns[-1] = filled.dictionary_encode()
    return pa.table(dict(zip(schema().names, columns, strict=True)))


def _writer(path: Path, columns: "pa.Schema") -> "pq.ParquetWriter":
    import pyarrow.parquet as pq  # noqa: PLC0415

    return pq.ParquetWriter(path, columns, compression="zstd")


def _type(column: Column) -> "pa.DataType":
    import pyarrow as pa  # noqa: PLC0415

    match column.kind:
        case "whole":
            return pa.int64()
        case "number":
            return pa.float64()
        case "flag":
            return pa.bool_()
        case "texts":
            return pa.list_(pa.string())
        case _:
            return pa.string()
