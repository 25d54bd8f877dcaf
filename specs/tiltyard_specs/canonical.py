"""One text for one value, so that content can be hashed.

The form is that of RFC 8785 (JSON Canonicalization Scheme): keys sorted by UTF-16 code units, no blanks,
numbers as ECMAScript writes them, text as it is in UTF-8. It differs in one point: integers keep all their
digits, beyond 2**53 too. A golden test holds it: a change here would change the id of every plan and run.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_MAX_PLAIN = 21
_MIN_PLAIN = -6


def canonical_json(value: Any) -> str:
    """The canonical JSON text of plain data: dict, list, tuple, str, int, float, bool, None."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def content_id(value: Any, length: int = 16) -> str:
    """The first `length` hex digits of the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def compact_json(value: Any) -> str:
    """One text for one value as `canonical_json`, but for floats and keys beyond U+FFFF: quick at any size.

    For files that need equal bytes for equal content, and no id.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _write(value: Any, parts: list[str]) -> None:
    if value is None or isinstance(value, bool):
        parts.append("null" if value is None else str(value).lower())
    elif isinstance(value, str):
        parts.append(_string(value))
    elif isinstance(value, int):
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        parts.append(_number(value))
    elif isinstance(value, Mapping):
        _write_object(value, parts)
    elif isinstance(value, list | tuple):
        _write_array(value, parts)
    else:
        raise TypeError(f"canonical JSON holds plain data only, not {type(value).__name__}")


def _write_object(value: Mapping[Any, Any], parts: list[str]) -> None:
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"a key of canonical JSON must be text, not {key!r}")
    separator = "{"
    for key in sorted(value, key=_utf16):
        parts.append(f"{separator}{_string(key)}:")
        _write(value[key], parts)
        separator = ","
    parts.append("}" if value else "{}")


def _write_array(value: list[Any] | tuple[Any, ...], parts: list[str]) -> None:
    separator = "["
    for item in value:
        parts.append(separator)
        _write(item, parts)
        separator = ","
    parts.append("]" if value else "[]")


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _string(text: str) -> str:
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ValueError(f"canonical JSON cannot hold half of a surrogate pair: {text[:60]!a}")
    return json.dumps(str(text), ensure_ascii=False)


def _number(value: float) -> str:
    """As ECMAScript's Number::toString: the shortest digits that read back as the same number."""
    if not math.isfinite(value):
        raise ValueError(f"canonical JSON cannot hold {value}")
    if value == 0:
        return "0"
    _, digits, exponent = Decimal(float.__repr__(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    sign = "-" if value < 0 else ""
    if len(text) <= point <= _MAX_PLAIN:
        return sign + text + "0" * (point - len(text))
    if 0 < point <= _MAX_PLAIN:
        return f"{sign}{text[:point]}.{text[point:]}"
    if _MIN_PLAIN < point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{sign}{text[0]}{fraction}e{point - 1:+d}"
