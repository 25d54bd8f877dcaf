"""What agents say of their checks is counted against the checks, by arm and agent, and marked as such."""

import json
from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import analyse, render_json, render_markdown
from tiltyard_specs.errors import DataError


def _stated(result: str, **notes: Any) -> dict[str, Any]:
    return {"state": "stated", "result": result, **notes}


@pytest.mark.parametrize(
    ("outcome", "claim", "counts"),
    [
        ("passed", _stated("passed"), "agreed"),
        ("failed", _stated("failed"), "agreed"),
        ("failed", _stated("not-run"), "agreed"),
        ("failed", _stated("passed"), "false_pass"),
        ("passed", _stated("failed"), "false_fail"),
        ("passed", _stated("not-run"), "false_fail"),
        ("passed", {"state": "absent"}, "absent"),
        ("failed", {"state": "malformed", "problem": "no JSON"}, "malformed"),
        ("timeout", _stated("passed"), "unchecked"),
        ("tampered", _stated("passed"), "unchecked"),
        ("infra", _stated("passed"), "unchecked"),
        ("timeout", {"state": "absent"}, "absent"),
    ],
)
def test_each_claim_counts_once(make: ModuleType, outcome: str, claim: dict[str, Any], counts: str) -> None:
    """Among the claims of its own arm and agent alone."""
    other = make.record("q", "plain", "claude", 1, claim=_stated("passed"))
    records = [other, make.record("q", "docs", "codex", 1, outcome=outcome, claim=claim)]
    found = analyse(records).claims

    assert found is not None
    assert [(row.agent, row.arm) for row in found.rows] == [("claude", "plain"), ("codex", "docs")]
    names = ("agreed", "false_pass", "false_fail", "absent", "malformed", "unchecked")
    assert {name: getattr(found.rows[1], name) for name in names} == {n: int(n == counts) for n in names}
    assert found.rows[0].agreed == 1


def test_who_was_not_asked_has_no_row(make: ModuleType) -> None:
    """Nor has the oracle, which answers nobody."""
    report = analyse([make.record("q", "plain", "codex", 1)])
    oracle = make.record("q", "plain", "oracle", 1, kind="oracle", claim={"state": "absent"})

    assert report.claims is None
    assert "claimed" not in render_markdown(report)
    assert analyse([oracle]).claims is None


def test_repeated_notes_are_listed_and_marked_as_self_reported(make: ModuleType) -> None:
    """A note that one run makes twice is made once; how it is written does not matter."""
    notes = [["No  docs.", "no docs"], ["no docs"], ["No docs"], ["alone"], []]
    records = [
        make.record("q", "plain", "codex", rep, claim=_stated("passed", missing=missing))
        for rep, missing in enumerate(notes, 1)
    ]
    report = analyse(records)
    text = render_markdown(report)

    assert report.claims is not None
    assert [(note.text, note.runs) for note in report.claims.missing] == [("no docs", 3)]
    assert "self-reported" in text
    assert "- missing, 3 runs: `no docs`" in text
    assert "alone" not in text


def test_a_note_is_shown_and_never_obeyed(make: ModuleType) -> None:
    bad = "\x1b[2J\u202e`| x\n# heading <script>"
    claim = _stated("passed", could_not_verify=[bad])
    report = analyse([make.record("q", "plain", "codex", rep, claim=claim) for rep in (1, 2)])
    text, plain = render_markdown(report), render_json(report)

    assert "- could not verify, 2 runs: `\\x1b[2J\\u202e'| x # heading <script>`" in text
    assert "\x1b" not in text + plain
    assert "\u202e" not in text + plain
    assert json.loads(plain)["claims"]["could_not_verify"][0]["runs"] == 2


def test_a_claim_that_cannot_be_counted_is_refused(make: ModuleType) -> None:
    record = make.record("q", "plain", "codex", 1, claim={"state": "stated", "result": "great"})
    with pytest.raises(DataError, match=r"claim\.result is 'great'"):
        analyse([record])
