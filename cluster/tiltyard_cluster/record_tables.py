"""Writes and joins record tables: Parquet, sorted by run id, the same bytes for the same rows."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
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
_REPEATED: Any = [
    *(f"{column.name}.list.element" for column in COLUMNS if column.kind == "texts"),
    *(column.name for column in COLUMNS if column.kind in {"label", "json", "flag"}),
    PLACE,
]
"""Written once for all rows that have the value; a column of many values grows by that."""
_ROWS = 16384
"""Rows of a group: how much is held in memory."""
_COLUMNS = 4
"""Columns that are read at once of large parts: each reading costs, but what is read is held twice."""
_FEW = 4 * _ROWS
"""Rows up to which all columns are read at once."""


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


def join_tables(tables: Sequence[tuple[Path, str]], target: Path, runs: Sequence[str]) -> None:
    """Write the rows of several tables as one. Of rows of one run the one with the least place stays.

    Args:
        tables: Parquet files, and where the files of their runs lie.
        target: The new file.
        runs: The runs that it is to hold, sorted.

    Raises:
        DataError: One is no table of records, or together they hold other runs.
    """
    import pyarrow.compute as pc  # noqa: PLC0415

    with ExitStack() as stack:
        stack.enter_context(_frugal())
        parts = [(_open(path, stack), place) for path, place in tables]
        fields = list(schema())
        small = sum(file.metadata.num_rows for file, _ in parts) <= _FEW
        step = len(fields) if small else _COLUMNS
        ids, places = _joined(parts, [schema().field(name) for name in ("run_id", PLACE)])
        order = _order(ids, places)
        if not ids.take(order).equals(_texts(runs)):
            names = ", ".join(str(path) for path, _ in tables)
            raise DataError(f"the tables of the parts hold other runs than their records: {names}")
        columns: list[Any] = []
        for start in range(0, len(fields), step):
            for column in _joined(parts, fields[start : start + step]):
                # Half of all columns are empty: these are not held for so many rows.
                empty = column.null_count == len(column)
                columns.append(None if empty else pc.take(column, order))
        _write(columns, fields, len(order), target)


@contextmanager
def _frugal() -> Iterator[None]:
    """Within the block memory goes back to the system when it is free: Arrow's own pool keeps a good part."""
    import pyarrow as pa  # noqa: PLC0415

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def _write(columns: Sequence[Any], fields: Sequence["pa.Field[Any]"], rows: int, target: Path) -> None:
    """Write columns of so many rows; None stands for an empty one."""
    import pyarrow as pa  # noqa: PLC0415

    names = [field.name for field in fields]
    types = [
        field.type if column is None else column.type for column, field in zip(columns, fields, strict=True)
    ]
    with _writer(target, pa.schema(list(zip(names, types, strict=True)))) as writer:
        for start in range(0, max(1, rows), _ROWS):
            count = min(_ROWS, rows - start)
            group = [
                pa.nulls(count, kind) if column is None else column.slice(start, count)
                for column, kind in zip(columns, types, strict=True)
            ]
            writer.write_table(pa.table(group, names=names))


def _order(ids: Any, places: Any) -> Any:
    """The indices of the first row of each run, by run id."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    # Sorting is stable, and twice by one column is far quicker than once by two.
    order = pc.sort_indices(places)
    order = order.take(pc.sort_indices(ids.take(order)))
    ids = ids.take(order)
    if len(ids) < 2:  # noqa: PLR2004  # a pair
        return order
    first = pc.not_equal(ids[1:], ids[:-1])
    return order.filter(pa.concat_arrays([pc.is_valid(ids[:1]), first]))


def _open(path: Path, stack: ExitStack) -> "pq.ParquetFile":
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        return stack.enter_context(pq.ParquetFile(path, read_dictionary=_LABELS, memory_map=True))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is no table of records: {error}") from error


def _joined(parts: Sequence[tuple["pq.ParquetFile", str]], fields: Sequence["pa.Field[Any]"]) -> list[Any]:
    """Columns of all parts, each in one piece; the rows of a part that name no place lie where it does."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    chunks: dict[str, list[Any]] = {field.name: [] for field in fields}
    for file, place in parts:
        known = [field.name for field in fields if field.name in file.schema_arrow.names]
        table = file.read(columns=known, use_threads=False)
        for field in fields:
            column = table[field.name] if field.name in known else _unknown(field, file.metadata.num_rows)
            if field.name == PLACE:
                column = pc.coalesce(column, _texts([place])[0])
            chunks[field.name] += column.chunks
    return [_canonical(pa.chunked_array(chunks[field.name], _held_as(field))) for field in fields]


def _texts(values: Sequence[str]) -> Any:
    """An array of texts. `pa.array` imports pandas, where there is one, which takes longer than the rest."""
    import pyarrow as pa  # noqa: PLC0415

    data = [value.encode() for value in values]
    offsets = array("i", accumulate(map(len, data), initial=0))
    return pa.StringArray.from_buffers(len(data), pa.py_buffer(offsets), pa.py_buffer(b"".join(data)))


def _unknown(field: "pa.Field[Any]", rows: int) -> Any:
    """A column that the version which wrote a part did not know."""
    import pyarrow as pa  # noqa: PLC0415

    empty = pa.nulls(rows, field.type)
    return pa.chunked_array([empty.dictionary_encode() if field.name in _LABELS else empty])


def _held_as(field: "pa.Field[Any]") -> Any:
    """The type in which a column is read: labels once each."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.dictionary(pa.int32(), pa.string()) if field.name in _LABELS else field.type


def _canonical(column: Any) -> Any:
    """The column in one piece. The values of its dictionary are sorted: it stands in the file as it is."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    whole = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        return whole
    order = pc.sort_indices(whole.dictionary)
    rank = pc.sort_indices(order).cast(pa.int32())
    return pa.DictionaryArray.from_arrays(rank.take(whole.indices), whole.dictionary.take(order))


def _writer(path: Path, columns: "pa.Schema") -> "pq.ParquetWriter":
    import pyarrow.parquet as pq  # noqa: PLC0415

    # Without Arrow's own schema in the file: labels are texts to every reader.
    return pq.ParquetWriter(path, columns, compression="zstd", store_schema=False, use_dictionary=_REPEATED)


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
