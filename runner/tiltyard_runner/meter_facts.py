"""What the meter says about how a run ended. It is the truth: an agent can print any error that it likes."""

from dataclasses import dataclass
from typing import Self

from tiltyard_gateway.config import RunMeter, StopReason
from tiltyard_specs.calls import Call

_NOT_SENT = frozenset({"free", "refused"})
_TOO_MANY = 429
_LONGEST_NAME = 100
_SERVER_ERROR = 500
_NO_ACCESS = frozenset({401, 402, 403, 404, 408})
"""Statuses that speak of the key, the account or the model's name, not of what the agent sent."""
_NO_SERVICE = frozenset({401, 402, 408, _TOO_MANY})
"""Statuses that no request of an agent can provoke."""


def _refusal(call: Call) -> str | None:
    if call.reason == "unpriced":
        return f"{(call.asked or call.role or 'the model')[:_LONGEST_NAME]} has no row in prices"
    if call.reason == "budget" and call.message:
        return call.message.partition(": ")[2]
    return None


@dataclass(frozen=True, slots=True)
class MeterFacts:
    """The calls of one attempt, boiled down."""

    answered: int = 0
    """Calls that were sent on to a provider."""
    succeeded: int = 0
    last_status: int | None = None
    """HTTP status of the last call that was not broken off by the agent."""
    last_cut: bool = False
    """Whether the provider broke that call's answer off."""
    stopped_by: StopReason | None = None
    """Which limit made the meter refuse further calls."""
    refusal: str | None = None
    """Why, in the meter's words, where money made it."""
    keyless: str | None = None
    """The meter's words where it had no key for the first call that it refused for that."""

    @classmethod
    def of(cls, meter: RunMeter) -> Self:
        """The facts of a closed meter."""
        sent = [call for call in meter.calls if call.outcome not in _NOT_SENT]
        ended: list[Call] = [call for call in sent if call.outcome != "hung_up"]
        last = ended[-1] if ended else None
        return cls(
            answered=len(sent),
            succeeded=sum(call.outcome == "ok" for call in sent),
            last_status=last.status if last else None,
            last_cut=last is not None and last.outcome == "cut",
            stopped_by=meter.stopped_by,
            refusal=next(filter(None, map(_refusal, meter.calls)), None),
            keyless=next((call.message for call in meter.calls if call.reason == "key"), None),
        )

    @property
    def never_served(self) -> str | None:
        """How the provider failed where it served no call at all, and no agent can bring that about."""
        status = self.last_status
        if self.succeeded:
            return None
        if status is None:
            return self.keyless
        if status in _NO_SERVICE or status >= _SERVER_ERROR:
            return f"the provider answered {status} to every call"
        return None

    @property
    def provider_failure(self) -> str | None:
        """How the provider failed at the end, in words, or None.

        A status such as 400 is the request's fault. A missing key or model counts only where no call went
        through, because an agent can ask for a model that does not exist.
        """
        status = self.last_status
        if self.last_cut:
            return "the provider broke off its last answer"
        if status is None:
            return None
        if status == _TOO_MANY or status >= _SERVER_ERROR:
            return f"the provider answered {status} to the last call"
        if status in _NO_ACCESS and not self.succeeded:
            return f"the provider answered {status} to every call"
        return None
