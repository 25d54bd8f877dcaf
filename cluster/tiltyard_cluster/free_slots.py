"""The slots of all nodes: which are free, and which nodes rest because everything fails there."""

from collections.abc import Iterator
from dataclasses import dataclass

STRIKES = 3
"""Failed attempts in a row, of whatever runs, after which a node rests."""
REST = 60.0
"""Seconds of a node's first rest; each further one is twice as long, up to `LONGEST_REST`."""
LONGEST_REST = 960.0


@dataclass(slots=True, eq=False)
class _Node:
    slots: int
    free: list[int]
    strikes: int = 0
    rests: int = 0
    rests_until: float = 0.0


class FreeSlots:
    """Pure: without a clock."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._with_room: dict[str, _Node] = {}

    def up(self, name: str, slots: int) -> None:
        """A node has come, or has come back."""
        if name in self._nodes:
            raise ValueError(f"node {name} is up already")
        self._nodes[name] = self._with_room[name] = _Node(slots, list(range(slots)))

    def down(self, name: str) -> None:
        """A node has gone, and its slots with it."""
        self._nodes.pop(name)
        self._with_room.pop(name, None)

    def take(self, avoid: str | None, now: float) -> tuple[str, int] | None:
        """A slot of the emptiest node; None where none is free.

        Args:
            avoid: A node that is taken only if there is no other.
            now: The time.
        """
        awake = [name for name, node in self._with_room.items() if node.rests_until <= now]
        if not awake:
            return None
        best = min(awake, key=lambda name: self._rank(name, avoid))
        node = self._nodes[best]
        slot = node.free.pop()
        if not node.free:
            del self._with_room[best]
        return best, slot

    def give(self, name: str, slot: int) -> None:
        """A slot is free again."""
        node = self._nodes[name]
        node.free.append(slot)
        self._with_room[name] = node

    def strike(self, name: str, now: float) -> None:
        """An attempt has failed there."""
        node = self._nodes[name]
        if node.rests_until > now:
            # What was under way fails with the rest: one trouble, however many slots it meets.
            return
        node.strikes += 1
        if node.strikes >= STRIKES:
            node.strikes = 0
            node.rests_until = now + min(REST * 2**node.rests, LONGEST_REST)
            node.rests += 1

    def well(self, name: str) -> None:
        """An attempt has ended as it should there."""
        node = self._nodes[name]
        node.strikes = node.rests = 0

    def rests(self, name: str, now: float) -> bool:
        """Whether nothing further is to begin there yet."""
        return self._nodes[name].rests_until > now

    def ends_of_rests(self, now: float) -> Iterator[float]:
        """When nodes with free slots may be used again."""
        return (node.rests_until for node in self._with_room.values() if node.rests_until > now)

    def _rank(self, name: str, avoid: str | None) -> tuple[bool, float]:
        node = self._nodes[name]
        return name == avoid, -len(node.free) / node.slots
