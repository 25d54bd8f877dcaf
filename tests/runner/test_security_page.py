"""SECURITY.md names the tests behind each promise: one without a test, or a name without one, fails here."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PAGE = (ROOT / "SECURITY.md").read_text()
_PROMISES = _PAGE.partition("## What the sandbox promises")[2].partition("\n## ")[0]
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_each_promise_names_tests() -> None:
    promises = re.split(r"^- \*\*", _PROMISES, flags=re.MULTILINE)[1:]
    assert len(promises) > 10
    assert [promise.partition("**")[0] for promise in promises if not _NAMED.search(promise)] == []


def test_each_test_that_is_named_exists() -> None:
    named = _NAMED.findall(_PROMISES)
    assert len(named) == _PROMISES.count("::test_") > 30
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not re.search(rf"^ *(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE)
    ]
    assert missing == []
