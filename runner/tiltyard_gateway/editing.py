"""What a run's ticket changes in a request before it is sent on, and what else the meter needs changed."""

import json
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tiltyard_gateway.config import RunTicket
from tiltyard_gateway.refused import RefusedError
from tiltyard_gateway.wires import Hidden, Inquiry, Match
from tiltyard_specs.rewrite import rewrite_model


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


def read_request(raw: bytes) -> dict[str, Any]:
    """The body, where it is unambiguous: of a key given twice the provider may read the other one."""
    try:
        body = json.loads(raw, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the request body is no JSON object") from error
    if not isinstance(body, dict) or not body:
        raise RefusedError(400, "the request body is no JSON object")
    return body


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
    stripped = tuple(wire.strip_web(body)) if ticket.web_tools == "strip" else ()
    model, rest = _rewritten(body, match, inquiry.role, ticket)
    if ticket.nonce:
        wire.add_nonce(body, ticket.nonce)
    if ticket.prompt_cache == "off":
        wire.forbid_cache(body, f"[{secrets.token_hex(8)}]")
    hidden = wire.report_usage(body)
    changed = stripped or model or ticket.nonce or hidden or ticket.prompt_cache == "off"
    return Edited(_dumped(body) if changed else raw, rest, model, stripped, hidden)


def edit_free(raw: bytes, path: str, match: Match, ticket: RunTicket) -> Edited:
    """A token count is asked of the model that the calls go to."""
    if not raw or not ticket.rewrite:
        return Edited(raw, match.rest)
    body = read_request(raw)
    model, rest = _rewritten(body, match, match.wire.inquire(path, body).role, ticket)
    return Edited(_dumped(body) if model else raw, rest, model)


def _rewritten(
    body: dict[str, Any], match: Match, role: str | None, ticket: RunTicket
) -> tuple[str | None, str]:
    model = role and rewrite_model(role, ticket.rewrite)
    if not model or model == role:
        return None, match.rest
    return model, match.wire.set_model(match.rest, body, model)


def _dumped(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
