"""What one run may spend: its own limits within the trial's budget."""

from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_gateway.budget import Account, Budget, OverBudgetError, Reservation
from tiltyard_gateway.config import RunLimits, StopReason
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.worst_case import WorstCase


class Purse:
    """Pays for the calls of one run. Once it has refused one, it refuses all."""

    def __init__(self, limits: RunLimits, budget: Budget) -> None:
        cap = Cap.of(limits.usd, limits.tokens, limits.turns)
        self.stopped_by: StopReason | None = None
        self._account = Account("limit", cap, reserves=limits.reserve)
        self._budget = budget
        self._last_word: tuple[str, str] | None = None

    async def reserve(self, worst: WorstCase, *, stop_status: int) -> Reservation:
        """Set the worst case of a call aside, or raise `RefusedError`, now and for every later call."""
        try:
            return await self._reserve(worst)
        except _StopError as stop:
            raise RefusedError(stop_status, f"this call is not made: {stop.sentence}", stop.reason) from stop

    def settle(self, reservation: Reservation, charge: Amount) -> None:
        """A call is over and has used this much."""
        self._budget.settle(reservation, charge)

    def passed(self, worst: WorstCase | None, charge: Amount) -> bool:
        """Whether a call used more than was set aside for it, where something bounds the spend."""
        bounded = any(each.cap.limits_spend for each in (self._account, self._budget.trial))
        if worst is None or not bounded:
            return False
        return charge.pico > worst.amount.pico or charge.tokens > worst.amount.tokens

    async def _reserve(self, worst: WorstCase) -> Reservation:
        if self._last_word:
            raise _StopError(*self._last_word)
        if worst.row is None and any(
            each.cap.pico is not None for each in (self._account, self._budget.trial)
        ):
            raise self._stop("unpriced", "unpriced", "its price is unknown and there is a limit in USD")
        try:
            return await self._budget.reserve(self._account, worst.amount)
        except OverBudgetError as over:
            stopped_by: StopReason = "trial budget" if over.whose == "budget" else over.resource
            raise self._stop(over.whose, stopped_by, _sentence(over, worst)) from over

    def _stop(self, reason: str, stopped_by: StopReason, sentence: str) -> "_StopError":
        if self._last_word is None:
            self.stopped_by = stopped_by
            self._last_word = reason, sentence
        return _StopError(*self._last_word)


class _StopError(Exception):
    """The run may buy nothing more."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


def _sentence(over: OverBudgetError, worst: WorstCase) -> str:
    whose = "the trial's budget" if over.whose == "budget" else "the run's own limit"
    if over.resource == "turns":
        return f"it may take up to one more turn, for which {whose} has no room"
    room = over.room
    if over.resource == "usd":
        amounts = [worst.amount.usd] + ([room.left.usd, Amount(room.cap.pico or 0).usd] if room else [])
        most, *rest = _dollars(amounts)
    else:
        counts = [worst.amount.tokens] + ([room.left.tokens, room.cap.tokens or 0] if room else [])
        most, *rest = [f"{count} tokens" for count in counts]
    if not rest:
        return f"it may take up to {most}, for which {whose} has no room"
    return f"it may take up to {most}, and {rest[0]} of {whose} of {rest[1]} is left"


def _dollars(amounts: list[float]) -> list[str]:
    """To the cent, or finer where cents would show two of them alike, or one as nothing."""
    cents = [f"${amount:.2f}" for amount in amounts]
    hidden = any(amount > 0 and float(text[1:]) == 0 for text, amount in zip(cents, amounts, strict=True))
    return [f"${amount:.6f}" for amount in amounts] if hidden or cents[0] in cents[1:] else cents
