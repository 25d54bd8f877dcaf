"""A request that has not settled yet."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Literal

from tiltyard_gateway.amounts import Amount
from tiltyard_gateway.budget import Reservation
from tiltyard_gateway.editing import Edited
from tiltyard_gateway.wires import Inquiry, Reading, Wire
from tiltyard_gateway.worst_case import WorstCase
from tiltyard_specs.trial import PriceRow

Outcome = Literal["ok", "error", "cut", "hung_up", "refused", "free"]
Charged = Literal["usage", "reserve"]


@dataclass(slots=True)
class Pending:
    """All that is known of a request so far."""

    index: int
    method: str
    path: str
    wire: Wire | None
    break_off: Callable[[], None]
    """Drops the agent's connection, which cancels the request."""
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    started: float = field(default_factory=monotonic)
    inquiry: Inquiry | None = None
    edited: Edited | None = None
    worst: WorstCase | None = None
    reservation: Reservation | None = None
    body_size: int = 0
    """Bytes of its body that are in memory."""
    held: float = 0.0
    """Seconds in which it waited before it was sent on."""
    session: str | None = None
    reading: Reading | None = None
    status: int | None = None
    first_byte: float | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None
    """Through a tunnel."""
    sent: bool = False
    """The request went on to the provider: from here on it may be billed."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def mark_first_byte(self) -> None:
        """The first byte of the response's body has come."""
        if self.first_byte is None:
            self.first_byte = monotonic() - self.started

    @property
    def error(self) -> str | None:
        """The provider's words of failure."""
        return self.reading.error if self.reading else None

    @property
    def role(self) -> str | None:
        """The model that the agent named."""
        return self.inquiry.role if self.inquiry else None

    @property
    def asked(self) -> str | None:
        """The model that the provider was asked for, where it is another one."""
        return self.edited.model if self.edited else None

    def charge(self, outcome: Outcome, row: PriceRow | None) -> tuple[Amount, Charged | None]:
        """What counts against budgets once it is over.

        An error is not billed, unless the provider reports usage with it. Any other call that went on may be
        billed in full: what its usage leaves open is charged as reserved.
        """
        usage = self.reading.usage if self.reading else None
        if not self.sent or self.worst is None or (outcome == "error" and usage is None):
            return Amount(), None
        amount, reported = self.worst.charge(usage, row)
        if outcome == "error":
            amount -= Amount(turns=1)
        return amount, "usage" if reported else "reserve"
