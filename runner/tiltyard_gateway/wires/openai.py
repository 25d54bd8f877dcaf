"""What both APIs of OpenAI have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from tiltyard_gateway.wires.base import BodyWire, as_count
from tiltyard_specs.usage import Usage

_ERROR_TYPES = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
_CACHE_KEYS = ("prompt_cache_key", "prompt_cache_retention")
_LIST_PRICE_TIERS = frozenset({None, "auto", "default", "flex"})
"""flex costs less."""


class OpenAIWire(BodyWire, ABC):
    """Keys, errors and caching."""

    provider: str = "openai"

    def key_headers(self, key: str) -> dict[str, str]:
        """A bearer token."""
        return {"Authorization": f"Bearer {key}"}

    def error_body(self, status: int, message: str, reason: str | None = None) -> dict[str, Any]:
        """`{"error": {...}}`."""
        kind = _ERROR_TYPES.get(status, "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": reason}}

    def forbid_cache(self, body: dict[str, Any], nonce: str) -> None:
        """No switch turns it off, but nothing is found for a prompt that begins differently."""
        for key in _CACHE_KEYS:
            body.pop(key, None)
        self.add_nonce(body, nonce)

    @abstractmethod
    def add_nonce(self, body: dict[str, Any], nonce: str) -> None:
        """Make the prompt begin as no other run's does."""


def is_premium(body: Mapping[str, Any]) -> bool:
    """A tier that costs more than the list price."""
    tier = body.get("service_tier")
    return not (tier is None or isinstance(tier, str)) or tier not in _LIST_PRICE_TIERS


def split_usage(
    entered: Any, left: Any, cached: Any, details: Mapping[str, Any], output_details: Mapping[str, Any]
) -> Usage | None:
    """Input includes what the cache served and took; the canonical form keeps them apart."""
    total, output = as_count(entered), as_count(left)
    if total is None and output is None:
        return None
    read, written = as_count(cached), as_count(details.get("cache_write_tokens"))
    fresh = None if total is None else total - (read or 0) - (written or 0)
    return Usage(
        input=as_count(fresh),
        cache_read=read,
        cache_write=written,
        output=output,
        reasoning=as_count(output_details.get("reasoning_tokens")),
    )
