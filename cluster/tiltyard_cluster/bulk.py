"""Many objects of a store at once: from a service several are asked for at a time, in a bounded number."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from tiltyard_cluster.store import FolderStore, Store

THREADS = 8
"""More are slower: the client computes more than it waits."""
_BATCH = 500
"""Objects that are asked for before the first of them is used."""
ResultT = TypeVar("ResultT")


def map_keys(store: Store, work: Callable[[str], ResultT], keys: Iterable[str]) -> Iterator[ResultT]:
    """What some work on each key gives, in the order of the keys.

    Args:
        store: Where the objects lie: a folder is read by one thread, a service by several.
        work: Done for each key.
        keys: Of the objects.
    """
    if isinstance(store, FolderStore):
        yield from map(work, keys)
        return
    left = iter(keys)
    with ThreadPoolExecutor(THREADS) as pool:
        while batch := list(islice(left, _BATCH)):
            yield from pool.map(work, batch)


def get_all(store: Store, keys: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
    """Each key with its object; None where there is none."""
    return map_keys(store, lambda key: (key, store.get(key)), keys)
