"""One attempt of one run, from its ticket to its meter: the calls that settled and those in flight."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from tiltyard_gateway.amounts import Amount
from tiltyard_gateway.budget import Budget
from tiltyard_gateway.config import RunMeter, RunTicket, Upstream
from tiltyard_gateway.journal import Journal
from tiltyard_gateway.pending import Charged, Outcome, Pending
from tiltyard_gateway.prices import cost_usd, find_price
from tiltyard_gateway.purse import Purse
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.waiting import Waiting
from tiltyard_gateway.wires import Inquiry, Wire
from tiltyard_gateway.writable import writable
from tiltyard_specs.calls import Call
from tiltyard_specs.redact import Redactor
from tiltyard_specs.trial import PriceRow

_MESSAGE_LENGTH = 500
_PATH_LENGTH = 500
_BREAK_OFF_SECONDS = 5.0
_NEVER_SETTLED = "the gateway was killed before the answer was whole"


class _Paid(NamedTuple):
    """How a call was charged."""

    row: PriceRow | None
    amount: Amount
    charged: Charged | None


class Run:
    """The run that owns a slot now."""

    def __init__(
        self,
        ticket: RunTicket,
        upstreams: Mapping[str, Upstream],
        prices: Mapping[str, PriceRow],
        budget: Budget,
    ) -> None:
        self.ticket = ticket
        self.purse = Purse(ticket.limits, budget)
        self.upstreams = {**upstreams, **ticket.upstreams}
        self.placebo = ticket.placebo_key.get_secret_value()
        self._secrets = {up.key.get_secret_value() for up in self.upstreams.values() if up.key}
        self.redactor = Redactor(self._secrets)
        self.journal = Journal(ticket.calls_path)
        self.calls: list[Call] = []
        self.unrecorded = 0
        self.body_bytes = 0
        """Of requests in memory."""
        self.waiting = Waiting()
        self.thinking = asyncio.Lock()
        """One request of a run at a time is understood: a flood of them takes no other run's turn."""
        self._prices = prices
        self._unbilled = 0
        self._next = 1
        self._pending: dict[int, Pending] = {}

    def take_in(self, pending: Pending, size: int) -> None:
        """More of a request's body has come."""
        if not pending.settled.is_set():
            pending.body_size += size
            self.body_bytes += size

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

    def price(self, model: str | None, role: str | None, inquiry: Inquiry | None) -> PriceRow | None:
        """The row of a model, unless the call was asked for at another price than the row's."""
        return None if inquiry and inquiry.premium else find_price(self._prices, model, role)

    async def reserve(self, pending: Pending) -> None:
        """Set the worst case of a request aside, or refuse it."""
        if pending.worst is None or pending.wire is None:
            return
        began = monotonic()
        try:
            with self.waiting.one():
                reservation = await self.purse.reserve(pending.worst, stop_status=pending.wire.stop_status)
        finally:
            pending.held += monotonic() - began
        if pending.settled.is_set():
            self.purse.settle(reservation, Amount())
            raise RefusedError(403, "the run has ended")
        pending.reservation = reservation

    def send(self, pending: Pending) -> None:
        """A request is about to go on: from here on it may be billed, whether or not anybody settles it."""
        pending.sent = True
        if pending.worst is None:
            return
        call = self._call(pending, "hung_up", self._paid(pending, "hung_up"), message=_NEVER_SETTLED)
        if not self.journal.begin(call):
            pending.sent = False
            raise RefusedError(503, f"calls can no longer be recorded: {self.journal.error}")

    def settle(
        self,
        pending: Pending,
        outcome: Outcome,
        *,
        message: str | None = None,
        reason: str | None = None,
        keep: int | None = None,
    ) -> None:
        """A request is over; a second word on it is ignored. `keep` bounds the refused and free ones."""
        if self._pending.pop(pending.index, None) is None:
            return
        pending.settled.set()
        self.body_bytes -= pending.body_size
        paid = self._paid(pending, outcome)
        if pending.reservation:
            self.purse.settle(pending.reservation, paid.amount)
        if outcome in {"refused", "free"}:
            self._unbilled += 1
            if keep is not None and self._unbilled > keep:
                self.unrecorded += 1
                return
        call = self._call(pending, outcome, paid, message=message, reason=reason)
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
            outcome: Outcome = "hung_up" if pending.sent else "refused"
            self.settle(pending, outcome, message="broken off at the end of the run")
        self.journal.close()
        return self.meter()

    def meter(self) -> RunMeter:
        """What the run has used so far, in the order of the requests."""
        calls = tuple(sorted(self.calls, key=lambda call: call.index))
        return RunMeter(
            calls=calls,
            unrecorded=self.unrecorded,
            journal_error=self.journal.error,
            stopped_by=self.purse.stopped_by,
        )

    def _paid(self, pending: Pending, outcome: Outcome) -> _Paid:
        model = pending.reading.model if pending.reading else None
        row = self.price(model, pending.asked or pending.role, pending.inquiry)
        return _Paid(row, *pending.charge(outcome, row))

    def _call(
        self,
        pending: Pending,
        outcome: Outcome,
        paid: _Paid,
        *,
        message: str | None,
        reason: str | None = None,
    ) -> Call:
        reading, inquiry = pending.reading, pending.inquiry
        usage = reading.usage if reading else None
        text = message or (reading.error if reading else None)
        model = reading.model if reading else None
        return Call(
            index=pending.index,
            started_at=pending.started_at,
            wire=pending.wire.name if pending.wire else None,
            method=pending.method,
            path=self.redactor.text(pending.path),
            role=pending.role,
            model=None if model is None else writable(model)[:_MESSAGE_LENGTH],
            stream=inquiry.stream if inquiry else False,
            status=pending.status,
            outcome=outcome,
            usage=usage,
            cost_usd=cost_usd(usage, paid.row),
            seconds=round(monotonic() - pending.started, 6),
            first_byte_seconds=None if pending.first_byte is None else round(pending.first_byte, 6),
            tools=inquiry.tools if inquiry else (),
            session=pending.session,
            message=None if text is None else self.redactor.text(writable(text))[:_MESSAGE_LENGTH],
            asked=pending.asked,
            stripped=pending.edited.stripped if pending.edited else (),
            imputed=self.ticket.auth == "passthrough" and outcome not in {"free", "refused"},
            reason=reason,
            held_seconds=round(pending.held, 6),
            sent_bytes=pending.sent_bytes,
            received_bytes=pending.received_bytes,
            charged=paid.charged,
            over_reserve=paid.charged == "usage" and self.purse.passed(pending.worst, paid.amount),
            charged_usd=paid.amount.usd if paid.charged and paid.row else None,
            charged_tokens=paid.amount.tokens if paid.charged else None,
        )
