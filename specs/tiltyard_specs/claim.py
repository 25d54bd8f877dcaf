"""What an agent says it did to check its answer: the line VERIFICATION that `defaults.claim` asks for.

The line is the agent's word and no evidence. It is read leniently where it stands (a code fence, bold type,
text before and after it) and strictly in what it says, because a claim that had to be guessed is no claim.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiltyard_specs.claim_record import Claim, ClaimResult

MAX_CLAIM_CHARS = 16 * 1024
"""Characters of the JSON of a claim; a longer one is malformed."""
MAX_NOTES = 50
"""Entries kept of each list."""
MAX_NOTE_CHARS = 500
"""Characters kept of each entry."""
_SEARCHED = 1_000_000
"""Characters at the end of an answer in which a claim is looked for: it stands at the end."""
_RESULTS: tuple[ClaimResult, ...] = ("passed", "failed", "not-run")
_WORD = r"VERIFICATION[*_`]{0,3}:"
_LABEL = re.compile(
    # At the beginning of a line it is meant as the line, whatever follows; elsewhere only with its JSON.
    rf"(?:^[ \t]{{0,8}}[>*_`#-]{{0,8}}[ \t]{{0,8}}[*_`]{{0,3}}{_WORD}|\b{_WORD}(?=[ \t*_`]{{0,4}}\{{))"
    r"[*_`]{0,3}[ \t]{0,8}(?P<open>\s{0,4}`{1,3}(?:json)?\s{0,4})?",
    re.MULTILINE,
)
_CLOSE = re.compile(r"[ \t]{0,8}\n?`{1,3}|\*{1,2}")


@dataclass(frozen=True, slots=True)
class _Line:
    """One place where a claim stands."""

    start: int
    end: int
    claim: Claim


class _ClaimError(ValueError):
    """Why a line is no claim."""


def read_claim(answer: str | None) -> Claim:
    """The last claim of an answer: `absent` when there is none, `malformed` when it cannot be read."""
    claims = [line.claim for line in _lines(answer or "")]
    return claims[-1] if claims else Claim(state="absent")


def without_claims(answer: str) -> str:
    """The answer as an answer key scores it: without the lines in which the agent speaks of its checks.

    A list of commands or of what is missing may hold any word that the key looks for, or forbids.
    """
    parts, begin = [], 0
    for line in _lines(answer):
        parts.append(answer[begin : line.start])
        begin = line.end
    return "".join([*parts, answer[begin:]])


def _lines(answer: str) -> Iterator[_Line]:
    done = max(0, len(answer) - _SEARCHED)
    for label in _LABEL.finditer(answer, done):
        # What looks like a label within the claim before it belongs to that one.
        if label.start() < done:
            continue
        line = _line(answer, label)
        done = line.end
        yield line


def _line(answer: str, label: re.Match[str]) -> _Line:
    begin = label.end()
    try:
        data, length = _decode(answer[begin : begin + MAX_CLAIM_CHARS])
    except _ClaimError as error:
        stop = answer.find("\n", begin)
        return _Line(label.start(), len(answer) if stop < 0 else stop, _malformed(str(error)))
    end = begin + length
    if label["open"] and (fence := _CLOSE.match(answer, end)):
        end = fence.end()
    try:
        return _Line(label.start(), end, _claim(data))
    except _ClaimError as error:
        return _Line(label.start(), end, _malformed(str(error)))


def _malformed(problem: str) -> Claim:
    return Claim(state="malformed", problem=problem)


def _decode(text: str) -> tuple[Any, int]:
    if not text.startswith("{"):
        raise _ClaimError("no JSON object follows VERIFICATION:")
    try:
        data: tuple[Any, int] = _DECODER.raw_decode(text)
    except RecursionError:
        raise _ClaimError("its JSON is too deep") from None
    except json.JSONDecodeError as error:
        if len(text) == MAX_CLAIM_CHARS:
            raise _ClaimError(f"its JSON is longer than {MAX_CLAIM_CHARS} characters, or broken") from None
        raise _ClaimError(f"its JSON is broken: {error.msg} at character {error.pos + 1}") from None
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise _ClaimError("its JSON gives a key twice")
    return data


def _no_constant(name: str) -> None:
    raise _ClaimError(f"its JSON holds {name}, which JSON does not know")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _claim(data: dict[str, Any]) -> Claim:
    result = data.get("result")
    if result not in _RESULTS:
        raise _ClaimError(f"result is not one of {', '.join(_RESULTS)}")
    return Claim(
        state="stated",
        result=result,
        ran=_notes(data, "ran"),
        could_not_verify=_notes(data, "could_not_verify"),
        missing=_notes(data, "missing"),
    )


def _notes(data: dict[str, Any], name: str) -> tuple[str, ...]:
    value = data.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _ClaimError(f"{name} is not a list of texts")
    whole = (item.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for item in value[:MAX_NOTES])
    return tuple(
        item if len(item) <= MAX_NOTE_CHARS else f"{item[: MAX_NOTE_CHARS - 3]}..." for item in whole
    )
