"""Reserve, then settle: what is spent and what is in flight together never pass a budget.

A call reserves its worst case in the account of its run and in that of the trial, both or none. What cannot
fit even when everything in flight turns out to cost nothing is refused at once; what may still fit waits, in
order of arrival, for calls in flight to settle. One event loop runs all of this, and between looking and
reserving nothing else runs.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from tiltyard_gateway.amounts import Amount, Cap, Resource

Whose = Literal["limit", "budget"]


class OverBudgetError(Exception):
    """A call does not fit."""

    def __init__(self, whose: Whose, resource: Resource, room: "Room | None" = None) -> None:
        super().__init__(f"{whose}: {resource}")
        self.whose = whose
        """limit: the run's own; budget: the trial's."""
        self.resource = resource
        self.room = room
        """None where it is not known here."""


@dataclass(frozen=True, slots=True)
class Room:
    """What an account has left beside all that is in flight."""

    left: Amount
    cap: Cap


class Account:
    """What one owner may use, has used, and has in flight."""

    def __init__(self, whose: Whose, cap: Cap, *, spent: Amount | None = None, reserves: bool = True) -> None:
        self.whose = whose
        self.cap = cap
        self.spent = spent or Amount()
        self.reserved = Amount()
        self._reserves = reserves

    def hopeless(self, amount: Amount) -> Resource | None:
        """Of which resource there would be too little even if all in flight turned out to cost nothing."""
        return self.cap.passed_by(self.spent + self._weight(amount))

    def lacks(self, amount: Amount) -> Resource | None:
        """Of which resource there is too little beside everything in flight."""
        return self.cap.passed_by(self.spent + self._weight(self.reserved) + self._weight(amount))

    @property
    def room(self) -> Room:
        """What is left, for words."""
        free = Amount(self.cap.pico or 0, self.cap.tokens or 0) - self.spent - self._weight(self.reserved)
        return Room(Amount(max(0, free.pico), max(0, free.tokens)), self.cap)

    def _weight(self, amount: Amount) -> Amount:
        """Without reserves a call needs its cap not to be reached, whatever it may cost."""
        return amount if self._reserves else Amount(min(amount.pico, 1), min(amount.tokens, 1), amount.turns)


@dataclass(slots=True, eq=False)
class Reservation:
    """A worst case that is set aside until the call settles."""

    account: Account
    amount: Amount


def _future() -> asyncio.Future[Reservation]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class _Waiter:
    account: Account
    amount: Amount
    granted: asyncio.Future[Reservation] = field(default_factory=_future)


class Budget:
    """The trial's account and the queue of calls that wait for room.

    Args:
        cap: What the trial may use.
        spent: What it has used before.
        max_wait: Seconds that a call may wait for room.
        leased: Whether the cap may still grow, so that no call is beyond hope by it.
    """

    def __init__(self, cap: Cap, spent: Amount, *, max_wait: float, leased: bool = False) -> None:
        self.trial = Account("budget", cap, spent=spent)
        self.refused = 0
        """Calls that the trial's budget turned away."""
        self._max_wait = max_wait
        self._leased = leased
        self._waiters: list[_Waiter] = []

    async def reserve(self, account: Account, amount: Amount) -> Reservation:
        """Set a worst case aside, waiting for room if there may be some, or raise `OverBudgetError`."""
        waiter = _Waiter(account, amount)
        self._waiters.append(waiter)
        self._serve()
        try:
            async with asyncio.timeout(self._max_wait):
                reservation = await waiter.granted
        except BaseException as error:
            self._give_back(waiter)
            if not isinstance(error, TimeoutError):
                raise
            raise self._over(*self._tight(waiter)) from None
        finally:
            self._waiters.remove(waiter)
            self._serve()
        return reservation

    def settle(self, reservation: Reservation, charge: Amount) -> None:
        """Give a reserve back and take what the call has used instead."""
        for account in (reservation.account, self.trial):
            account.reserved -= reservation.amount
            account.spent += charge
        self._serve()

    def extend(self, cap: Cap) -> None:
        """Change the trial's cap, as leases do."""
        self.trial.cap = cap
        self._serve()

    def needs(self) -> Amount | None:
        """The cap with which the first call that waits for the trial's money would fit; None if none does."""
        waiter = self._first()
        return None if waiter is None else self.trial.spent + self.trial.reserved + waiter.amount

    def refuse(self) -> None:
        """The cap will not grow for the call that waits first: unless calls in flight leave room, it ends."""
        waiter = self._first()
        if waiter is not None and self.trial.reserved == Amount():
            waiter.granted.set_exception(self._over(self.trial, self.trial.lacks(waiter.amount) or "usd"))
            self._serve()

    def _first(self) -> _Waiter | None:
        waiting = (waiter for waiter in self._waiters if not waiter.granted.done())
        return next((waiter for waiter in waiting if self.trial.lacks(waiter.amount)), None)

    def _give_back(self, waiter: _Waiter) -> None:
        """Whoever hangs up or gives up may have been served in the same moment."""
        granted = waiter.granted
        if granted.done() and not granted.cancelled() and granted.exception() is None:
            self.settle(granted.result(), Amount())
        granted.cancel()

    def _tight(self, waiter: _Waiter) -> tuple[Account, Resource]:
        found = waiter.account.lacks(waiter.amount)
        if found:
            return waiter.account, found
        return self.trial, self.trial.lacks(waiter.amount) or "usd"

    def _serve(self) -> None:
        """Grant in order of arrival. One that waits for the trial's money holds back those behind it."""
        for waiter in self._waiters:
            if waiter.granted.done():
                continue
            account, amount = waiter.account, waiter.amount
            final = (account,) if self._leased else (account, self.trial)
            hopeless = next(((each, found) for each in final if (found := each.hopeless(amount))), None)
            if hopeless:
                waiter.granted.set_exception(self._over(*hopeless))
            elif self.trial.lacks(amount):
                return
            elif not account.lacks(amount):
                for each in (account, self.trial):
                    each.reserved += amount
                waiter.granted.set_result(Reservation(account, amount))

    def _over(self, account: Account, resource: Resource) -> OverBudgetError:
        if account is self.trial:
            self.refused += 1
        # The cap of a lease is not the trial's.
        known = not (self._leased and account is self.trial)
        return OverBudgetError(account.whose, resource, account.room if known else None)
