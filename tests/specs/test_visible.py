"""What a terminal would obey is shown, all else is kept."""

import pytest

from tiltyard_specs.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\x00b\x07\x7f", "a\\x00b\\x07\\x7f"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        ("\u202eevil\u202a", "\\u202eevil\\u202a"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\ud800 and \udcff", "\\ud800 and \\udcff"),
        ("a\nb\tc\r\nd", "a\\x0ab\\x09c\\x0d\\x0ad"),
    ],
)
def test_what_a_terminal_obeys_is_escaped(text: str, shown: str) -> None:
    """C0, DEL, C1, bidirectional overrides and isolates, surrogates, line ends."""
    assert visible(text) == shown


def test_ordinary_text_is_kept() -> None:
    """Blanks, backslashes, letters of any script, no-break spaces, emoji, neighbours of the ranges stay."""
    text = "~ \\x1b é\u00a0ß שלום 漢字 😀 \u2029 \u202f \u2065 \u206a \ud7ff \ue000"

    assert visible(text) == text
    assert visible(text, one_line=True) == text


def test_one_line_has_spaces_for_breaks_and_tabs() -> None:
    """A line end is one space, whichever kind it is; other control characters are escaped still."""
    assert visible("a\nb\r\nc\td\re\x1b\x0bf", one_line=True) == "a b c d e\\x1b\\x0bf"


@pytest.mark.slow
def test_every_result_can_be_printed() -> None:
    """Whatever goes in, what comes out encodes and holds no control character."""
    everything = "".join(map(chr, range(0x10FFFF + 1)))

    shown = visible(everything)

    shown.encode()
    assert not any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in shown)
