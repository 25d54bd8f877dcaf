"""A node's word with the ledger, every moment: what it has spent and wants, and who is overloaded."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from tiltyard_cluster.ledger import SHORTEST, NodeReport, Share
from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import LeaseOrder, LeaseState

_PATIENCE = 30.0
_DETAILS_EVERY = 2.0
"""Seconds between two reports of what each attempt has used: longer, because all of its calls are read."""


class LedgerCalls(Protocol):
    """The ledger from afar."""

    def call(self, method: str, *args: object) -> "Future[Any]":
        """Call a method of it."""
        ...


@dataclass(slots=True)
class LeaseSync:
    """A thread that talks to the ledger as long as the `with` lasts.

    Attributes:
        node: Who reports.
        ledger: To whom.
        gateway: Whose spend and holds.
        leased: Whether there is a budget.
        running: What each attempt under way has used so far.
    """

    node: str
    ledger: LedgerCalls
    gateway: GatewayProcess
    leased: bool
    running: Callable[[], Mapping[str, str]]
    _granted: int = 0
    _keeps: int | None = None
    _details_at: float = 0.0
    _told: int = 0
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._talk, name="ledger", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _talk(self) -> None:
        pause = 0.0
        while not self._over.wait(pause):
            try:
                pause = self.once()
            except Exception:  # noqa: BLE001  # a ledger or gateway that does not answer: spend nothing more, ask again
                pause = 4 * SHORTEST

    def once(self) -> float:
        """One report and its answer; how long until the next."""
        share: Share = self.ledger.call("sync", self._report()).result(_PATIENCE)
        self._keeps = None
        if share.hold:
            self.gateway.hold(dict(share.hold))
        if not self.leased or share.lost:
            return share.pause
        order = LeaseOrder(granted=share.granted, refused=share.refused, give_back=share.give_back)
        self._granted = self.gateway.lease(order).granted
        if share.give_back:
            self._keeps = self._granted
        return share.pause

    def _report(self) -> NodeReport:
        # An order that changes nothing: how the gateway stands now.
        state = self.gateway.lease(LeaseOrder(granted=self._granted)) if self.leased else LeaseState()
        details = None
        if state.spent != self._told or time.monotonic() >= self._details_at:
            # Read after the sum, so that whatever is in it has an attempt to stand in.
            details = self.running()
            self._told = state.spent
            self._details_at = time.monotonic() + _DETAILS_EVERY
        return NodeReport(
            self.node,
            spent=state.spent,
            wants=state.wants,
            # Said again until the ledger has heard it.
            keeps=self._keeps,
            held=self.gateway.held(),
            running=details,
        )
