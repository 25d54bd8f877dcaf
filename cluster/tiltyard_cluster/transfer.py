"""Copies whole results between places. Nothing is overwritten; what was broken off goes on."""

import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from tiltyard_cluster.addresses import Address, open_result, open_store, parse_address
from tiltyard_cluster.compaction import scratch_folder
from tiltyard_cluster.layout import ATTEMPT, MANIFEST, RECORD, RUNS, TRIAL
from tiltyard_cluster.outage import PATIENCE
from tiltyard_cluster.status import who_works_on
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError, UnavailableError

_THREADS = 8
"""More are slower: the client computes more than it waits."""
ResultT = TypeVar("ResultT")
_NAMED = 5
"""How many objects a message names."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to."""

    copied: int
    equal: int
    """Objects that were there already, with the same content."""


def transfer(
    source: Address | str,
    target: Address | str,
    *,
    endpoint: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Copied:
    """Copy every object of a result. Whatever is read from S3 is checked by the digest that it was put with.

    Args:
        source: A folder or `s3://bucket/prefix`.
        target: Likewise.
        endpoint: Address of the S3 service.
        tell: Told how far it is.

    Raises:
        DataError: There is no trial at the source, or an object at the target is another one.
        UnavailableError: A trial is running in one of them.
    """
    origin, goal = parse_address(source), parse_address(target)
    stores = open_result(origin, endpoint, tell, PATIENCE), open_store(goal, endpoint, tell)
    for where, store in zip((origin, goal), stores, strict=True):
        if (who := who_works_on(where, store)) is not None:
            raise UnavailableError(f"a trial is running in {where} ({who}); wait for its end")
    return _Transfer(str(origin), stores[0], str(goal), stores[1], tell).run()


class _Transfer:
    def __init__(
        self, origin: str, source: Store, goal: str, target: Store, tell: Callable[[str], None]
    ) -> None:
        self._origin = origin
        self._source = source
        self._goal = goal
        self._target = target
        self._tell = tell

    def run(self) -> Copied:
        keys = sorted(self._source.list(""), key=_rank)
        if not any(key == TRIAL or key.endswith(f"/{RECORD}") for key in keys):
            raise DataError(f"{self._origin} holds no trial")
        there = set(self._target.list(""))
        shared = [key for key in keys if key in there]
        self._require_equal(shared)
        left = [key for key in keys if key not in there]
        done = 0
        # The manifest says that all of it is there, and a record that its run's files are. The receipt says
        # what there should be, but in a merged result, which has no other files, that it is one.
        merged = not any(key.startswith(RUNS) for key in keys)
        ranks = {key: _LAST if merged and key == TRIAL else _rank(key)[0] for key in left}
        for group in ([key for key in left if ranks[key] == rank] for rank in range(_LAST + 1)):
            self._all(group, self._copy, f"copied {{}} of {len(left)} objects", done)
            done += len(group)
        return Copied(len(left), len(shared))

    def _require_equal(self, keys: list[str]) -> None:
        equal = self._all(keys, self._is_equal, f"compared {{}} of {len(keys)} objects")
        if others := [key for key, same in zip(keys, equal, strict=True) if not same]:
            named = ", ".join(others[:_NAMED])
            more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            raise DataError(
                f"{self._goal} holds other objects than {self._origin}: {named}{more}; nothing was copied: "
                "choose another place, or remove them"
            )

    def _all(
        self, keys: Iterable[str], work: Callable[[str], ResultT], words: str, before: int = 0
    ) -> list[ResultT]:
        done = []
        with ThreadPoolExecutor(_THREADS) as pool:
            for result in pool.map(work, keys):
                done.append(result)
                self._tell(words.format(before + len(done)))
        return done

    def _is_equal(self, key: str) -> bool:
        return _digest(self._source, key) == _digest(self._target, key)

    def _copy(self, key: str) -> None:
        with scratch_folder() as folder:
            path = folder / key.rpartition("/")[2]
            with path.open("wb") as file:
                file.writelines(self._source.stream(key))
            self._target.put_file(key, path)


_MANIFEST = 2
_LAST = 3


def _rank(key: str) -> tuple[int, str]:
    name = key.rpartition("/")[2]
    if key == MANIFEST:
        return _MANIFEST, key
    return int(name in {RECORD, ATTEMPT}), key


def _digest(store: Store, key: str) -> str:
    total = hashlib.sha256()
    for chunk in store.stream(key):
        total.update(chunk)
    return total.hexdigest()
