"""Text from records is shown and never obeyed: it moves no cursor, colours nothing, reorders nothing."""

import json
import re
from types import ModuleType

import pytest

from tiltyard_report import analyse, render_json, render_markdown
from tiltyard_report._table import code, escape, table
from tiltyard_specs.errors import DataError

OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
BAD = "\x1b[2J\x07\x9b31m\u202e\u2066\n| x"


def test_the_markdown_holds_none(trials: ModuleType) -> None:
    """Names, reasons, warnings, versions, hosts and the title are all in it, and all are shown as escapes."""
    text = render_markdown(analyse(**trials.hostile()))

    assert not OBEYED.search(text)
    for start in ("t", "a", "g", "m", "q", "host", "i", "v", "1", "w", "because", "audit"):
        assert f"{start}\\x1b\\[2J\\x07\\x9b31m\\u202e\\u2066 \\| x" in text
    assert "`r\\x1b[2J\\x07\\x9b31m\\u202e\\u2066 | x`" in text


def test_no_line_begins_with_what_a_record_says(trials: ModuleType) -> None:
    """A line end in a name would start a line, and so a table or a heading, of its own."""
    lines = render_markdown(analyse(**trials.hostile())).splitlines()

    assert not [line for line in lines if line.startswith("| x")]


def test_the_json_holds_none_and_gives_them_back(trials: ModuleType) -> None:
    """Escaped as JSON does, so nothing is lost."""
    report = analyse(**trials.hostile())
    text = render_json(report)

    assert not OBEYED.search(text)
    assert json.loads(text)["headline"] == report.headline
    assert json.loads(text)["baseline"] == f"a{BAD}"


def test_every_control_character() -> None:
    """One by one, in a cell, a sentence and code."""
    every = [chr(number) for number in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F))]
    every += [chr(number) for number in (*range(0x2066, 0x206A), 0x2028, 0x2029, 0xD800)]
    for character in every:
        text = f"{escape(f'a{character}b')}{code(f'a{character}b')}{table(['h'], [[f'a{character}b']])}"
        assert character == "\n" or character not in text
        text.encode()


def test_a_literal_backslash_is_told_apart() -> None:
    """Text that spells an escape is not taken for the character."""
    assert (escape("\x1b"), escape("\\x1b")) == ("\\x1b", "\\\\x1b")


def test_errors_hold_none(make: ModuleType) -> None:
    """What is wrong with a record reaches a terminal too."""
    record = make.record(f"q{BAD}", "plain", "codex", 1, run_id=BAD)
    for records, wanted in (([record, record], []), ([record | {"outcome": BAD}], []), ([record], ["b"])):
        with pytest.raises(DataError) as caught:
            analyse(records, questions=wanted)
        assert not OBEYED.search(str(caught.value))
        assert "\n" not in str(caught.value)
