"""The places that a merge reads from and writes to: each once, under one name, and none inside another."""

import os
from collections.abc import Sequence

from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import UsageError
from tiltyard_specs.visible import visible


def place_of(store: Store) -> str:
    """The one name of a place, however it was spelled: of a folder, its path without symbolic links."""
    return os.path.realpath(store.root) if isinstance(store, FolderStore) else str(store)


def distinct(parts: Sequence[tuple[str, Store]]) -> list[tuple[str, Store]]:
    """The parts without those that are one of the others once more, each under a name that can be printed."""
    once: dict[str, tuple[str, Store]] = {}
    for name, store in parts:
        once.setdefault(place_of(store), (visible(name), store))
    return list(once.values())


def require_apart(parts: Sequence[tuple[str, Store]], target: Store) -> None:
    """See that a merged result neither lies in a part nor takes one in; it may replace one.

    Raises:
        UsageError: It does.
    """
    goal = place_of(target)
    for name, store in parts:
        place = place_of(store)
        if isinstance(store, FolderStore) is not isinstance(target, FolderStore):
            continue
        if _inside(goal, place):
            raise UsageError(f"{visible(goal)} lies inside {name}, a part: give another place with --out")
        if _inside(place, goal):
            raise UsageError(f"{name} lies inside {visible(goal)}: give a place of its own with --out")


def _inside(place: str, other: str) -> bool:
    return place.startswith(other.rstrip("/") + "/") and place != other
