"""The APIs that the gateway speaks, as data. A new one is a file here and a line in `WIRES`."""

from collections.abc import Mapping
from typing import NamedTuple

from tiltyard_gateway.wires import anthropic, gemini, openai_chat, openai_responses
from tiltyard_gateway.wires.base import Hidden, Inquiry, Reading, Route, Wire

__all__ = ["WIRES", "Hidden", "Inquiry", "Match", "Reading", "Route", "Wire", "find_route", "likely_wire"]

WIRES: tuple[Wire, ...] = (anthropic.WIRE, gemini.WIRE, openai_responses.WIRE, openai_chat.WIRE)


class Match(NamedTuple):
    """A request's place in the route table."""

    wire: Wire
    route: Route
    rest: str
    """The path after the version segment."""


def find_route(method: str, path: str, headers: Mapping[str, str]) -> Match | None:
    """The route of a request, or None where it must not pass."""
    for wire in WIRES:
        for route in wire.routes:
            found = route.pattern.fullmatch(path) if route.method == method else None
            if found and (route.marker is None or route.marker in headers):
                return Match(wire, route, found["rest"])
    return None


def likely_wire(headers: Mapping[str, str]) -> Wire:
    """In whose words to refuse a request that has no route."""
    if "anthropic-version" in headers:
        return anthropic.WIRE
    return gemini.WIRE if "x-goog-api-key" in headers else openai_responses.WIRE
