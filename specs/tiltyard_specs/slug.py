"""The one function that makes a folder name of an arm's, a question's or an agent's name.

The folder is safe on every file system (also where case is folded and where CON is a device) and in object
keys, and different names never share one: a name that had to be changed ends in `--` and ten hash digits.
"""

import hashlib
import re
import unicodedata

_SAFE = re.compile(r"[a-z0-9_@][a-z0-9._@-]*", re.ASCII)
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\..*)?")
_HASHED = re.compile(r".*--[0-9a-f]{10}")
_MAX_PLAIN = 80
_MAX_STEM = 60


def fold(name: str) -> str:
    """What is left of a name without case and blanks; names alike in this are too alike to be told apart."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[^\w.@-]+", "-", text)


def slug(name: str) -> str:
    """A folder name for the name: the name itself where that is safe, else a readable stem and a hash."""
    if not name:
        raise ValueError("an empty name has no folder")
    if _is_safe(name):
        return name
    ascii_text = unicodedata.normalize("NFKD", fold(name)).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^a-z0-9._@-]+|-{2,}", "-", ascii_text)[:_MAX_STEM].strip("-.") or "x"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{stem}--{digest}"


def _is_safe(name: str) -> bool:
    return (
        len(name) <= _MAX_PLAIN
        and _SAFE.fullmatch(name) is not None
        and not name.endswith(".")
        and _DEVICES.fullmatch(name) is None
        and _HASHED.fullmatch(name) is None
    )
