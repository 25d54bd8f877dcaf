"""The meter between an agent and its model provider, and the driver's handle on it.

The gateway is a process of its own: real keys never enter a container, and a stuck driver never stops the
meter. This package's front holds only what the driver needs; the server side (aiohttp) is imported by the
gateway process alone.
"""

from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import (
    GatewayConfig,
    RunLimits,
    RunMeter,
    RunTicket,
    Spent,
    Timeouts,
    Upstream,
    scripted_upstreams,
)
from tiltyard_gateway.journal import read_journal, settle_journal

__all__ = [
    "GatewayConfig",
    "GatewayProcess",
    "RunLimits",
    "RunMeter",
    "RunTicket",
    "Spent",
    "Timeouts",
    "Upstream",
    "read_journal",
    "scripted_upstreams",
    "settle_journal",
]
