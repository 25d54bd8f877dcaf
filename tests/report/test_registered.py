"""A report says whether the spec is what it was before the first run."""

from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import analyse, render_markdown
from tiltyard_specs.errors import DataError

FIRST = {"hash": "abcdef0123456789" * 4, "at": "2026-01-01T00:00:00Z", "parts": {}}


def _report(make: ModuleType, **receipt: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    report = analyse([make.record("q", "plain", "codex", 1)], receipt=receipt)
    assert render_markdown(report)
    return report.alerts, report.notes


def test_as_registered(make: ModuleType) -> None:
    alerts, notes = _report(make, registration=FIRST, amendments=[])

    assert alerts == ()
    assert notes[0] == ("The spec is what it was at the first start (pre-registration hash abcdef012345).")


def test_amended(make: ModuleType) -> None:
    """The latest change counts: it is told against the first start."""
    parts = [f"questions.q{n}.expect" for n in range(8)]
    earlier = {"hash": "1", "at": "2026-01-02T00:00:00Z", "changed": ["defaults.reps"]}
    alerts, notes = _report(make, registration=FIRST, amendments=[earlier, earlier | {"changed": parts}])

    assert alerts[0].startswith("AMENDED: the spec is not what it was when the trial was first started: ")
    assert alerts[0].endswith(f"{', '.join(parts[:6])} and 2 more.")
    assert "is not what it was at the first start" in notes[0]


def test_changed_back(make: ModuleType) -> None:
    alerts, notes = _report(make, registration=FIRST, amendments=[{"hash": "1", "at": "", "changed": []}])

    assert alerts == ()
    assert notes[0].endswith("in between it was changed, and changed back.")


def test_a_receipt_that_knows_of_none(make: ModuleType) -> None:
    assert _report(make, trial="t") == ((), ())


@pytest.mark.parametrize("amendments", [{"a": 1}, ["x"], 3])
def test_a_receipt_that_cannot_be_read(make: ModuleType, amendments: Any) -> None:
    with pytest.raises(DataError, match="Receipt: amendments is"):
        _report(make, registration=FIRST, amendments=amendments)
