"""One attempt of one run, from its ticket to its meter: the calls that settled and those in flight."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Literal

from tiltyard_gateway.config import RunMeter, RunTicket, Upstream
from tiltyard_gateway.editing import Edited
from tiltyard_gateway.journal import Journal
from tiltyard_gateway.prices import cost_usd, find_price
from tiltyard_gateway.wires import Inquiry, Reading, Wire
from tiltyard_specs.calls import Call
from tiltyard_specs.redact import Redactor
from tiltyard_specs.trial import PriceRow

Outcome = Literal["ok", "error", "cut", "hung_up", "refused", "free"]
_MESSAGE_LENGTH = 500
_PATH_LENGTH = 500
_BREAK_OFF_SECONDS = 5.0


@dataclass(slots=True)
class Pending:
    """A request that has not settled yet."""

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
    session: str | None = None
    reading: Reading | None = None
    status: int | None = None
    first_byte: float | None = None
    sent: bool = False
    """The request went on to the provider: from here on it may be billed."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def mark_first_byte(self) -> None:
        """The first byte of the response's body has come."""
        if self.first_byte is None:
            self.first_byte = monotonic() - self.started


class Run:
    """The run that owns a slot now."""

    def __init__(
        self, ticket: RunTicket, upstreams: Mapping[str, Upstream], prices: Mapping[str, PriceRow]
    ) -> None:
        self.ticket = ticket
        self.upstreams = {**upstreams, **ticket.upstreams}
        self.placebo = ticket.placebo_key.get_secret_value()
        self._secrets = {up.key.get_secret_value() for up in self.upstreams.values() if up.key}
        self.redactor = Redactor(self._secrets)
        self.journal = Journal(ticket.calls_path)
        self.calls: list[Call] = []
        self.unrecorded = 0
        self._prices = prices
        self._unbilled = 0
        self._next = 1
        self._pending: dict[int, Pending] = {}

    def keep_secret(self, keys: Iterable[str]) -> None:
        """Let keys of the agent's own stand in no record."""
        new = set(keys) - self._secrets
        if new:
            self._secrets |= new
            self.redactor = Redactor(self._secrets)

    def start(self, method: str, path: str, wire: Wire | None, break_off: Callable[[], None]) -> Pending:
        """A request has come in."""
        pending = Pending(self._next, method[:20], path[:_PATH_LENGTH], wire, break_off)
        self._next += 1
        self._pending[pending.index] = pending
        return pending

    def settle(
        self, pending: Pending, outcome: Outcome, *, message: str | None = None, keep: int | None = None
    ) -> None:
        """A request is over; a second word on it is ignored. `keep` bounds the refused and free ones."""
        if self._pending.pop(pending.index, None) is None:
            return
        pending.settled.set()
        if outcome in {"refused", "free"}:
            self._unbilled += 1
            if keep is not None and self._unbilled > keep:
                self.unrecorded += 1
                return
        call = self._call(pending, outcome, message)
        self.calls.append(call)
        self.journal.append(call)

    async def close(self) -> RunMeter:
        """Break off what is in flight, wait until it has settled, and say what the run used."""
        for pending in list(self._pending.values()):
            pending.break_off()
        with suppress(TimeoutError):
            async with asyncio.timeout(_BREAK_OFF_SECONDS):
                for pending in list(self._pending.values()):
                    await pending.settled.wait()
        for pending in list(self._pending.values()):
            self.settle(pending, "hung_up", message="broken off at the end of the run")
        self.journal.close()
        return self.meter()

    def meter(self) -> RunMeter:
        """What the run has used so far, in the order of the requests."""
        calls = tuple(sorted(self.calls, key=lambda call: call.index))
        return RunMeter(calls=calls, unrecorded=self.unrecorded, journal_error=self.journal.error)

    def _call(self, pending: Pending, outcome: Outcome, message: str | None) -> Call:
        reading, inquiry = pending.reading, pending.inquiry
        usage = reading.usage if reading else None
        role = inquiry.role if inquiry else None
        edited = pending.edited
        asked = edited.model if edited else None
        model = reading.model if reading else None
        text = message or (reading.error if reading else None)
        return Call(
            index=pending.index,
            started_at=pending.started_at,
            wire=pending.wire.name if pending.wire else None,
            method=pending.method,
            path=self.redactor.text(pending.path),
            role=role,
            model=model,
            stream=inquiry.stream if inquiry else False,
            status=pending.status,
            outcome=outcome,
            usage=usage,
            cost_usd=cost_usd(usage, find_price(self._prices, model, asked or role)),
            seconds=round(monotonic() - pending.started, 6),
            first_byte_seconds=None if pending.first_byte is None else round(pending.first_byte, 6),
            tools=inquiry.tools if inquiry else (),
            session=pending.session,
            asked=asked,
            stripped=edited.stripped if edited else (),
            imputed=self.ticket.auth == "passthrough" and outcome not in {"free", "refused"},
            message=None if text is None else self.redactor.text(text)[:_MESSAGE_LENGTH],
        )
