"""What a run's ticket changes in a request before it is sent on, and what else the meter needs changed."""

import json
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from tiltyard_gateway.config import RunTicket
from tiltyard_gateway.contents import Body, Contents, look_through
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.wires import Hidden, Inquiry, Match
from tiltyard_gateway.wires.base import TWO_SPELLINGS, in_two_spellings
from tiltyard_specs.rewrite import rewrite_model

_NO_OBJECT = "the request body is no JSON object"


@dataclass(frozen=True, slots=True)
class Edited:
    """A request as it is sent on."""

    body: bytes
    rest: str
    """The path after the version segment."""
    model: str | None = None
    """The model that is asked for instead of the agent's choice."""
    stripped: tuple[str, ...] = ()
    """Tools that were taken out."""
    hidden: Hidden | None = None
    """Which events of the answer are not for the agent."""


def read_request(body: Body) -> Contents:
    """What the request says, unless it can be read in two ways: a name given twice, say."""
    try:
        contents = look_through(_as_object(from_json(body.raw)))
    except ValueError:
        # Half a surrogate pair, for one, which some clients send.
        return look_through(_as_object(_read_strictly(body.raw)))
    if contents.members != body.members:
        _read_strictly(body.raw)
        raise RefusedError(400, "the request body is ambiguous")
    return contents


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise RefusedError(400, _NO_OBJECT)
    if in_two_spellings(value):
        raise RefusedError(400, TWO_SPELLINGS)
    return value


def _read_strictly(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode(), object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, _NO_OBJECT) from error


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found = list(pairs)
    result = dict(found)
    if len(result) != len(found):
        twice, _ = Counter(name for name, _ in found).most_common(1)[0]
        raise RefusedError(400, f"the request body gives the key {twice[:40]!r} twice")
    return result


def edit(raw: bytes, body: dict[str, Any], match: Match, inquiry: Inquiry, ticket: RunTicket) -> Edited:
    """Apply the ticket. A request that nothing changes is sent on byte for byte."""
    wire = match.wire
    stripped = tuple(wire.strip_hosted(body)) if ticket.web_tools == "strip" else ()
    model, rest = _rewritten(body, match, inquiry.role, ticket)
    if ticket.nonce:
        wire.add_nonce(body, ticket.nonce)
    if ticket.prompt_cache == "off":
        wire.forbid_cache(body, f"[{secrets.token_hex(8)}]")
    hidden = wire.report_usage(body)
    changed = stripped or model or ticket.nonce or hidden or ticket.prompt_cache == "off"
    return Edited(_dumped(body) if changed else raw, rest, model, stripped, hidden)


def edit_free(given: Body, path: str, match: Match, ticket: RunTicket) -> Edited:
    """A token count is asked of the model that the calls go to."""
    if not given.raw or not ticket.rewrite:
        return Edited(given.raw, match.rest)
    body = read_request(given).body
    model, rest = _rewritten(body, match, match.wire.inquire(path, body).role, ticket)
    return Edited(_dumped(body) if model else given.raw, rest, model)


def _rewritten(
    body: dict[str, Any], match: Match, role: str | None, ticket: RunTicket
) -> tuple[str | None, str]:
    model = role and rewrite_model(role, ticket.rewrite)
    if not model or model == role:
        return None, match.rest
    return model, match.wire.set_model(match.rest, body, model)


def _dumped(body: dict[str, Any]) -> bytes:
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body, separators=(",", ":")).encode()
