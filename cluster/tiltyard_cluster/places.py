"""Where the files of the runs of a merged result lie: in the results that it was put together from."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from tiltyard_cluster.addresses import open_store
from tiltyard_cluster.compacted import fetched, read_manifest
from tiltyard_cluster.layout import TABLE_FILE, run_key
from tiltyard_cluster.reading import ReadResult
from tiltyard_cluster.record_tables import PLACE
from tiltyard_cluster.store import Store


class Files(Protocol):
    """Objects by key, to be read."""

    def stream(self, key: str) -> Iterator[bytes]:
        """The object in chunks.

        Raises:
            FileNotFoundError: There is none.
        """
        ...


def run_files(store: Store, name: str, result: ReadResult, endpoint: str | None = None) -> Files:
    """The files of a result's runs, wherever they lie.

    Args:
        store: Where the result lies.
        name: What to call it in messages.
        result: What was read from it.
        endpoint: Address of the S3 service, for places in S3.
    """
    manifest = read_manifest(store, name) if result.merged else None
    if manifest is None:
        return store
    import pyarrow.parquet as pq  # noqa: PLC0415  # 0.2 s that only merged results need

    with fetched(name, store, manifest, TABLE_FILE) as path:
        table = pq.read_table(path, columns=["run_id", PLACE])
    place_of = dict(zip(table["run_id"].to_pylist(), table[PLACE].to_pylist(), strict=True))
    places = {run_key(record): place_of.get(record.run_id) for record in result.records}
    return _Elsewhere(places, endpoint)


class _Elsewhere:
    def __init__(self, places: Mapping[str, str | None], endpoint: str | None) -> None:
        self._places = places
        self._endpoint = endpoint
        self._stores: dict[str, Store] = {}

    def stream(self, key: str) -> Iterator[bytes]:
        place = self._places.get(key.rpartition("/")[0])
        if place is None:
            raise FileNotFoundError(key)
        if place not in self._stores:
            self._stores[place] = open_store(place, self._endpoint)
        return self._stores[place].stream(key)
