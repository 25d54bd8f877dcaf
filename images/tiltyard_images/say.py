"""Progress for a person: at most one line a second from a chatty build, and none lost at its ends."""

import re
import time
from collections.abc import Callable

Say = Callable[[str], None]
INTERVAL = 1.0
"""Least seconds between two lines of one build."""
WIDTH = 150
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Throttled:
    """Passes on a line only when the last one is a second old."""

    def __init__(self, say: Say, prefix: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._prefix, self._clock = say, prefix, clock
        self._last = clock()

    def __call__(self, line: str) -> None:
        """Offer a line; it may be dropped."""
        text, now = COLOUR.sub("", re.split(r"[\r\n]", line.strip())[-1]), self._clock()
        if text and now - self._last >= INTERVAL:
            self._last = now
            # Between words: half of one may be half a key, which nobody could mask any more.
            short = text if len(text) <= WIDTH else text[: WIDTH + 1].rpartition(" ")[0] or text[:WIDTH]
            self._say(f"{self._prefix}: {short}")
