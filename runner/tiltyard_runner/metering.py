"""The time in which one attempt owns its slot at the gateway."""

from types import TracebackType
from typing import Self

from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import RunMeter, RunTicket


class Metering:
    """Opens the meter for an attempt; `end` closes it and may be called again for the same answer."""

    def __init__(self, gateway: GatewayProcess, slot: str, ticket: RunTicket) -> None:
        self._gateway = gateway
        self._slot = slot
        self._ticket = ticket
        self._meter: RunMeter | None = None

    def __enter__(self) -> Self:
        self._gateway.begin(self._slot, self._ticket)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> RunMeter:
        """Close the attempt's meter and read it."""
        if self._meter is None:
            self._meter = self._gateway.end(self._slot)
        return self._meter
