"""The rule by which an answer key decides, for whoever scores an answer and whoever checks a key.

Patterns come from a spec, but what they search may come from an agent. A pattern that can backtrack is
therefore tried in a process of its own with a time limit: Python's `re` holds the interpreter's lock, so
nothing could end such a search in this process.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from tiltyard_specs.errors import DataError
from tiltyard_specs.record import Score

MAX_SCORED_CHARS = 1_000_000
"""Of a longer answer its end is scored: what an agent says last is its answer."""
RECALL_SLACK = 5e-4
"""A `min_recall` of 0.667 means two of three: half a unit of the third decimal is forgiven.

Fractions of fewer than 2,000 patterns lie further apart, so this never forgives a missing pattern.
"""
SEARCH_SECONDS = 10.0
"""How long the patterns of one answer may take together."""

_CHILD = """
import json, re, sys
job = json.load(sys.stdin)
for pattern in job["patterns"]:
    found = any(re.search(pattern, text) for text in job["texts"])
    print("1" if found else "0", end="", flush=True)
"""


class SlowPatternError(DataError):
    """A pattern of the spec takes too long on an answer; the answer has no score."""


def score_answer(
    answer: str | None, expect: Sequence[str], forbid: Sequence[str] = (), min_recall: float = 1.0
) -> Score:
    """Correct when enough of the expected patterns match and no forbidden one does.

    Patterns are searched as written, without flags: write `(?i)` or `(?m)` into a pattern where it is meant.
    Of an answer longer than `MAX_SCORED_CHARS` only the end is searched. No answer is never correct.

    Raises:
        SlowPatternError: The patterns take longer than `SEARCH_SECONDS`.
    """
    if answer is None:
        return Score(correct=False, recall=0.0 if expect else None, missing=tuple(expect))
    found = search_all([*expect, *forbid], [answer[-MAX_SCORED_CHARS:]])
    missing = tuple(pattern for pattern, hit in zip(expect, found, strict=False) if not hit)
    forbidden = tuple(pattern for pattern, hit in zip(forbid, found[len(expect) :], strict=True) if hit)
    recall = 1 - len(missing) / len(expect) if expect else None
    enough = not missing or (recall is not None and 1 > min_recall <= recall + RECALL_SLACK)
    return Score(correct=enough and not forbidden, recall=recall, missing=missing, forbidden=forbidden)


def search_all(patterns: Sequence[str], texts: Sequence[str]) -> list[bool]:
    """For each pattern, whether it is found in any of the texts."""
    if any(_can_backtrack(pattern) for pattern in patterns):
        return _search_apart(patterns, texts)
    return [any(re.search(pattern, text) for text in texts) for pattern in patterns]


def _can_backtrack(pattern: str) -> bool:
    # Without a repetition a search is linear; an escaped one costs a needless process, no more.
    return any(sign in pattern for sign in "*+?{")


def _search_apart(patterns: Sequence[str], texts: Sequence[str]) -> list[bool]:
    job = json.dumps({"patterns": list(patterns), "texts": list(texts)})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=job.encode(),
            capture_output=True,
            timeout=SEARCH_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as slow:
        pattern = patterns[len(slow.stdout or b"")]
        raise SlowPatternError(
            f"The pattern {pattern!r} took more than {SEARCH_SECONDS:g} s on {sum(map(len, texts))} "
            "characters; write it without a repetition inside a repetition."
        ) from None
    return [hit == ord("1") for hit in done.stdout]
