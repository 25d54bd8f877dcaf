"""Requests to an overloaded provider are held back, for all runs of the gateway.

The answer that says so is passed on as it is; nothing is sent twice. What the provider asks for (Retry-After)
is respected, else the pause doubles from 1 to 60 seconds. After a pause one request goes first, and the
others follow when the provider has taken it. No request is held for longer than agents are ready to wait.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic

LONGEST_PAUSE = 60.0
_STATUSES = frozenset({429, 529})
_SERVER_ERROR = 500
_CLIENT_ERROR = 400
_WORDS = re.compile(r"overloaded|rate.?limit|too many requests|resource.?exhausted", re.IGNORECASE)


def is_overload(status: int, text: str | None) -> bool:
    """Whether an answer says that there are too many requests: by status, or in words of a failure."""
    if status in _STATUSES:
        return True
    in_words = _WORDS.search(text or "") is not None
    return in_words and (status >= _SERVER_ERROR or status < _CLIENT_ERROR)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The pause in seconds that a provider asks for, if it does so in a readable way."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("Retry-After", "")
        if re.fullmatch(r"[\d.]+", value):
            return float(value)
        until = parsedate_to_datetime(value)
        return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError):
        return None


@dataclass(slots=True)
class _Hold:
    """The state of one provider."""

    until: float = 0.0
    since: float = 0.0
    level: int = 0
    """Pauses in a row."""
    probing: bool = False
    """One request is on its way to find out; the others wait for what it finds."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def change(self) -> None:
        """Wake all who wait."""
        self.changed.set()
        self.changed = asyncio.Event()


class Holds:
    """Who must wait for which provider."""

    def __init__(self, *, longest: float, clock: Callable[[], float] = monotonic) -> None:
        self._longest = longest
        self._clock = clock
        self._holds: dict[str, _Hold] = {}

    async def wait(self, provider: str) -> None:
        """Return when a request may go."""
        hold = self._holds.get(provider)
        if hold is None:
            return
        deadline = self._clock() + self._longest
        while (now := self._clock()) < deadline:
            if now < hold.until:
                await _first_of(hold.changed, min(hold.until, deadline) - now)
            elif hold.probing:
                await _first_of(hold.changed, deadline - now)
            else:
                hold.probing = hold.level > 0
                return

    def limited(self, provider: str, *, sent_at: float, pause: float | None) -> None:
        """A request that was sent at a moment was turned away. Those of one burst count once."""
        hold = self._holds.setdefault(provider, _Hold())
        now = self._clock()
        if sent_at >= hold.since:
            hold.level += 1
            hold.since = now
        own = min(LONGEST_PAUSE, 2.0 ** (min(hold.level, 10) - 1))
        hold.until = max(hold.until, now + (own if pause is None else pause))
        hold.probing = False
        hold.change()

    def taken(self, provider: str, *, sent_at: float) -> None:
        """A request was not turned away; if it went after the pause began, that is over."""
        hold = self._holds.get(provider)
        if hold is not None and sent_at >= hold.since:
            hold.level = 0
            hold.probing = False
            hold.change()

    def abandon(self, provider: str) -> None:
        """A request that might have found out was not sent after all, or not answered."""
        hold = self._holds.get(provider)
        if hold is not None and hold.probing:
            hold.probing = False
            hold.change()

    def pause(self, provider: str, seconds: float) -> None:
        """Hold requests back on the word of another node."""
        hold = self._holds.setdefault(provider, _Hold())
        hold.until = max(hold.until, self._clock() + seconds)

    def left(self) -> dict[str, float]:
        """Providers that are held back now, and for how many seconds yet."""
        now = self._clock()
        return {name: hold.until - now for name, hold in self._holds.items() if hold.until > now}


async def _first_of(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


@dataclass(slots=True)
class Passage:
    """One request's way past the holds: first it waits, then it tells what it found."""

    holds: Holds
    provider: str
    sent_at: float | None = None
    _status: int | None = None
    _pause: float | None = None

    async def wait(self) -> None:
        """Return when the request may go."""
        await self.holds.wait(self.provider)

    def send(self) -> None:
        """The request goes now."""
        self.sent_at = monotonic()

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer has come."""
        self._status, self._pause = status, retry_after(headers)
        if status < _CLIENT_ERROR and self.sent_at is not None:
            self.holds.taken(self.provider, sent_at=self.sent_at)

    def ended(self, error: str | None) -> None:
        """It is over, perhaps with the provider's words of failure."""
        if self.sent_at is None or self._status is None:
            self.holds.abandon(self.provider)
        elif is_overload(self._status, error):
            self.holds.limited(self.provider, sent_at=self.sent_at, pause=self._pause)
        else:
            self.holds.taken(self.provider, sent_at=self.sent_at)
