"""Runs priced by different tables: the report says so."""

from types import ModuleType

import pytest

from tiltyard_report import analyse


def _notes(make: ModuleType, plain: tuple[str, str], docs: tuple[str, str]) -> str:
    records = [
        make.record("q", arm, "codex", rep, versions={"prices": table})
        for arm, tables in (("plain", plain), ("docs", docs))
        for rep, table in enumerate(tables, 1)
    ]
    return "\n".join(analyse(records, baseline="plain").notes)


@pytest.mark.parametrize(
    ("plain", "docs", "where"),
    [
        (("old", "old"), ("new", "new"), "it differs between arms, so a difference may be its doing"),
        (("old", "new"), ("old", "new"), "each arm has the same mix"),
    ],
)
def test_another_price_table_is_told(
    make: ModuleType, plain: tuple[str, str], docs: tuple[str, str], where: str
) -> None:
    expected = f"The price table is not the same in all runs ({where}): new, old. USD differ with it."

    assert expected in _notes(make, plain, docs)


def test_one_table_needs_no_note(make: ModuleType) -> None:
    assert "price table" not in _notes(make, ("old", "old"), ("old", "old"))
