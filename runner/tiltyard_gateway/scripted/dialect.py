"""What the scripted server needs of an API: to read a request, and to say a reply in its words.

One file per API implements `Dialect`; `server.py` lists them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tiltyard_specs.usage import Usage

_PIECE = 24


class Offer(NamedTuple):
    """A tool that a request offers."""

    name: str
    schema: dict[str, Any]
    namespace: str | None = None

    @property
    def full_name(self) -> str:
        """With its namespace, as scripts name it."""
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Request:
    """A request, whatever API it came by."""

    model: str
    stream: bool
    prompt: str
    """All text of the user's messages."""
    opening: str
    """What the conversation began with: it tells conversations of one run apart."""
    length: int
    """Characters of all messages."""
    turn: int
    """How often the model has spoken so far."""
    tools: tuple[Offer, ...]
    structured: bool
    """It asks for JSON by a schema, as agents' side calls (titles) do."""
    wants_usage: bool = True
    """A stream reports usage; some APIs do so only when asked."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says, whatever API it goes by."""

    model: str
    text: str | None
    call: "ToolCall | None"
    usage: Usage | None
    number: str
    """Unique among the replies of one conversation; part of all ids."""


class ToolCall(NamedTuple):
    """A tool call as the API needs it."""

    name: str
    namespace: str | None
    arguments: dict[str, Any]


class Piece(NamedTuple):
    """Bytes of a stream; `paced` ones wait for the turn's chunk delay."""

    data: bytes
    paced: bool = False


class Dialect(Protocol):
    """One API."""

    paths: tuple[str, ...]
    """Of requests, as aiohttp writes routes."""

    def read(self, path: str, body: Mapping[str, Any]) -> Request:
        """Understand a request."""

    def whole(self, reply: Reply) -> dict[str, Any]:
        """A reply that is not streamed."""

    def stream(self, reply: Reply) -> Iterator[Piece]:
        """A reply as server-sent events."""

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error body."""


def sse(body: Mapping[str, Any], *, paced: bool = False) -> Piece:
    """A server-sent event, named by its type."""
    return Piece(
        f"event: {body['type']}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n".encode(), paced
    )


def data_only(body: Mapping[str, Any], *, paced: bool = False) -> Piece:
    """A server-sent event without a name."""
    return Piece(f"data: {json.dumps(body, separators=(',', ':'))}\n\n".encode(), paced)


def pieces(text: str) -> list[str]:
    """Text cut as a stream brings it; an empty text has one empty piece."""
    return [text[start : start + _PIECE] for start in range(0, max(len(text), 1), _PIECE)]
