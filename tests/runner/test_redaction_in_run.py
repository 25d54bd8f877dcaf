"""Keys that an agent prints, writes and hands to tools, in a run in real containers."""

import hashlib
from typing import Any

import pytest

from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]

CUSTOM = "plain-words-as-a-key-77"
AWS = "AK" + "IAIOSFODNN7EXAMPLE"
FILES = ("prompt.txt", "raw.out", "raw.err", "setup.log", "verify.log", "patch.diff")


def test_keys_are_masked_after_grading(bench: Any) -> None:
    result = bench.run(
        f"echo {CUSTOM} > found.txt; echo {AWS} > aws.txt; echo 'it is {CUSTOM}'; echo {AWS} >&2",
        task={"prompt": f"Use {CUSTOM}."},
        setup=(f"echo {AWS}",),
        key=Key(expect=(CUSTOM,), verify=f"cat found.txt && grep -q {CUSTOM} found.txt"),
        secrets=(CUSTOM,),
    )
    record = result.record
    assert record.outcome is Outcome.PASSED, "the verdict rests on what was there before"
    assert record.answer == "it is [redacted]"
    assert CUSTOM not in record.to_json()
    for name in FILES:
        assert CUSTOM not in result.text(name), name
        assert (AWS in result.text(name)) == (name == "patch.diff"), name
    assert record.patch.sha256 == hashlib.sha256(result.patch).hexdigest()
    assert any("secrets were masked" in warning for warning in record.warnings)


def test_a_failed_setup_is_masked_too(bench: Any) -> None:
    result = bench.run("true", setup=(f"echo {AWS} {CUSTOM}; exit 3",), secrets=(CUSTOM,))
    assert result.record.outcome is Outcome.SETUP_FAILED
    assert "ended with exit code 3" in result.record.reason
    for text in (result.record.to_json(), result.text("setup.log")):
        assert CUSTOM not in text
        assert AWS not in text
