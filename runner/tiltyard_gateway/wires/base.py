"""What the gateway must know of an API: its routes, and where requests and responses say what matters.

One file per wire implements `Wire`; `wires/__init__.py` lists them. Nothing else in the gateway knows
a provider.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tiltyard_specs.calls import Wire as WireName
from tiltyard_specs.usage import Usage


@dataclass(frozen=True, slots=True)
class Route:
    """A path that may pass."""

    method: str
    pattern: re.Pattern[str]
    """Matches the whole path; the group `rest` is what follows the version segment and is sent on."""
    kind: Literal["billable", "free"]
    marker: str | None = None
    """A header that must be there, where two providers share a path."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What a request asks for."""

    role: str | None
    """The model that the agent names."""
    stream: bool
    tools: tuple[str, ...]
    output_cap: int | None = None
    """Most output tokens, all choices together, if the request says so."""
    choices: int = 1
    """Answers that are asked for at once."""
    refusal: str | None = None
    """Why such a request cannot be metered."""
    premium: bool = False
    """Billed at another price than the list's: a faster tier, or output that is no text."""


Hidden = Callable[[bytes], bool]
"""Whether an event's data is not for the agent, which did not ask for it."""


class Reading(Protocol):
    """Reads one response as it passes. All attributes are as of now."""

    model: str | None
    error: str | None
    """The provider's own words, when the response says that the call failed."""

    @property
    def finished(self) -> bool:
        """A stream has said that it is complete."""

    @property
    def usage(self) -> Usage | None:
        """As far as reported; None when nothing was."""

    def on_event(self, name: str, data: bytes) -> None:
        """Take one server-sent event."""

    def on_body(self, body: Mapping[str, Any]) -> None:
        """Take a whole JSON response, of success or failure."""


class Wire(Protocol):
    """One API of one provider."""

    name: WireName
    provider: str
    routes: tuple[Route, ...]
    session_headers: tuple[str, ...]
    """Headers in which known agents send their session id."""
    stop_status: int
    """The status at which this API's agents give up at once, found by trying them."""

    def inquire(self, path: str, body: Mapping[str, Any]) -> Inquiry:
        """Read a request."""

    def key_headers(self, key: str) -> dict[str, str]:
        """The header that carries the real key."""

    def reading(self) -> Reading:
        """A fresh reader for one response."""

    def error_body(self, status: int, message: str, reason: str | None = None) -> dict[str, Any]:
        """An error as this API's clients expect it; `reason` goes where the API has a place for it."""

    def set_model(self, rest: str, body: dict[str, Any], model: str) -> str:
        """Ask for another model: in the body, or in the path, which is returned."""

    def report_usage(self, body: dict[str, Any]) -> Hidden | None:
        """Have a stream report its usage. If the agent had not asked for that: what it must not see."""

    def forbid_cache(self, body: dict[str, Any], nonce: str) -> None:
        """Keep the provider from caching; `nonce` differs from call to call, where nothing else helps."""

    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Make the prompt begin as no other run's does."""

    def strip_hosted(self, body: dict[str, Any]) -> list[str]:
        """Remove tools by which the provider would reach the web or bill beside tokens; names them."""


class BodyWire:
    """What holds for most APIs."""

    def set_model(self, rest: str, body: dict[str, Any], model: str) -> str:
        """The body names it."""
        body["model"] = model
        return rest

    def report_usage(self, body: dict[str, Any]) -> Hidden | None:
        """It always does."""
        del body
        return None


UNREADABLE_CHOICES = "the number of answers that it asks for cannot be read"
"""Some providers take it as a text all the same, and a reserve for one would be too small."""


TWO_SPELLINGS = "the request body gives one key twice, in two spellings"


def in_two_spellings(names: Iterable[str]) -> bool:
    """Whether a name comes twice: protobuf reads maxTokens and max_tokens as one, Go ignores case."""
    given = list(names)
    return len({name.replace("_", "").casefold() for name in given}) != len(given)


_MOST = 10**12
"""More tokens than a call can have: a provider's garbage."""


def parse_object(data: bytes) -> dict[str, Any]:
    """A JSON object, or an empty one where it is none: a provider's garbage must not stop the relay."""
    return as_object(_parsed(data))


def parse_objects(data: bytes) -> list[dict[str, Any]]:
    """A JSON object, or those in a list, which is how a stream looks that is no event stream."""
    value = _parsed(data)
    return [as_object(item) for item in value] if isinstance(value, list) else [as_object(value)]


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The value if it is a string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def as_count(value: Any) -> int | None:
    """The value if it is a whole number that can count tokens, else None: unknown, never 0."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if is_count else None


def largest(*values: Any) -> int | None:
    """The largest of the counts that are given."""
    return max((count for count in map(as_count, values) if count is not None), default=None)


def error_text(body: Mapping[str, Any]) -> str | None:
    """The message of an error body in any of the usual shapes."""
    error = body.get("error")
    if isinstance(error, str):
        return error
    found = as_object(error)
    return as_text(found.get("message")) or as_text(found.get("type")) or as_text(body.get("message"))
