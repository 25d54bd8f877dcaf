r"""Text from an agent, a spec or a file, made safe to print: it cannot move the cursor or reorder a line.

What a terminal would obey is shown as `\xNN` or `\uNNNN`; all other text stays as it is, backslashes too:
the result is to be read, not to be turned back.
"""

import re

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LAST_BYTE = 0xFF
_BREAKS = re.compile("\r\n|[\t\n\r]")


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Show control characters, bidirectional overrides and lone surrogates of a text as escapes.

    Args:
        text: Any text, well-formed or not.
        one_line: Turn line ends and tabs into spaces, as for a table cell; otherwise they are escaped.

    Returns:
        Text that can always be encoded and holds no control character, not even a newline.
    """
    if one_line:
        text = _BREAKS.sub(" ", text)
    return _OBEYED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code <= _LAST_BYTE else f"\\u{code:04x}"
