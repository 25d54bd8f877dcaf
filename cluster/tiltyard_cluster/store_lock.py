"""One driver at a time on a prefix in S3: a lock object, renewed while its holder lives.

Whether a holder lives is told by its renewals alone, and by the service's clock: those of machines differ.
Two drivers could not spoil records, which are put only where there is none, but would pay for runs twice.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from tiltyard_cluster.s3_store import S3Store, Tagged
from tiltyard_runner.owner import Owner
from tiltyard_specs.errors import UnavailableError

LOCK = ".lock.json"
RENEWED = 30.0
"""Seconds between two signs of life."""
STALE = 120.0
"""Seconds without one after which the holder counts as dead."""
_PAUSE = 1.0
_LAST = 5.0
"""Seconds that the end of a trial waits for a renewal under way."""


class StoreLock:
    """The lock of a result in S3. A context manager.

    Args:
        store: Where the result lies.
        tell: Told why it takes long, in one line.
        on_lost: Called, in another thread, when another driver has taken the lock over.
        renewed: Seconds between two renewals.
        stale: Seconds after which a lock that was not renewed is taken over.
    """

    def __init__(
        self,
        store: S3Store,
        *,
        tell: Callable[[str], None],
        on_lost: Callable[[], None],
        renewed: float = RENEWED,
        stale: float = STALE,
    ) -> None:
        self._store = store
        self._tell = tell
        self._on_lost = on_lost
        self._renewed = renewed
        self._stale = stale
        self._me = {"owner": asdict(Owner.current()), "nonce": secrets.token_hex(8)}
        self._count = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="store-lock", daemon=True)
        self.lost = False

    def __enter__(self) -> Self:
        self._tag = self._acquire()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(_LAST)
        if not self.lost and not self._thread.is_alive():
            with suppress(UnavailableError):
                self._store.remove(LOCK)

    def _acquire(self) -> str:
        first: Tagged | None = None
        while True:
            text = self._text()
            if self._store.put_if_absent(LOCK, text):
                there = self._store.tagged(LOCK)
                if there is not None and there.data == text:
                    return there.tag
            there = self._store.tagged(LOCK)
            if there is None:
                continue
            if _is_dead(there, self._stale):
                tag = self._store.replace(LOCK, text, there.tag)
                if tag is not None:
                    return tag
                continue
            self._require_unsigned(there, first)
            if first is None:
                self._tell(
                    f"{self._store} is locked by {_holder(there)}, last heard of {there.age:.0f} s ago; "
                    "waiting to see whether it is alive"
                )
            first = there
            time.sleep(_PAUSE)

    def _require_unsigned(self, there: Tagged, first: Tagged | None) -> None:
        """See that the holder has given no sign of life."""
        owner = _owner(there)
        here = owner is not None and owner.machine == Owner.current().machine
        if here or (first is not None and first.tag != there.tag):
            raise UnavailableError(
                f"another tiltyard ({_holder(there)}) is running a trial in {self._store}; wait for it, "
                "or choose another place with --out"
            )

    def _keep(self) -> None:
        while not self._ended.wait(self._renewed):
            try:
                tag = self._store.replace(LOCK, self._text(), self._tag)
            except UnavailableError:
                # An outage ends the trial by itself, once its patience is over.
                continue
            if tag is None:
                self.lost = True
                self._on_lost()
                return
            self._tag = tag

    def _text(self) -> bytes:
        self._count += 1
        return json.dumps(self._me | {"renewed": self._count}).encode()


def holder(store: S3Store) -> str | None:
    """Who works on a result in S3, in words; None where nobody does."""
    there = store.tagged(LOCK)
    return None if there is None or _is_dead(there, STALE) else _holder(there)


def _is_dead(there: Tagged, stale: float) -> bool:
    owner = _owner(there)
    return there.age > stale or (owner is not None and owner.is_dead())


def _owner(there: Tagged) -> Owner | None:
    try:
        data: Any = json.loads(there.data)["owner"]
        return Owner(str(data["machine"]), int(data["pid"]), str(data["started"]))
    except (ValueError, TypeError, KeyError):
        return None


def _holder(there: Tagged) -> str:
    owner = _owner(there)
    return "unknown" if owner is None else f"{owner.machine.partition(':')[0]}, process {owner.pid}"
