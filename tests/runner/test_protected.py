"""A touched protected path makes a run tampered; nothing else does."""

from typing import Any

import pytest

from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]
PROTECT = ("tests/**", "conftest.py", "*.cfg", "odd*")


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ("echo '#' >> tests/test_calc.py", "tests/test_calc.py"),
        ("chmod +x tests/test_calc.py", "tests/test_calc.py"),
        ("echo > tests/test_more.py", "tests/test_more.py"),
        ("rm -r tests", "tests/test_calc.py"),
        ("mv tests t2", "tests/test_calc.py"),
        ("ln -sf ../calc.py tests/test_calc.py", "tests/test_calc.py"),
        ("mv tests t2; ln -s t2 tests", "tests/test_calc.py"),
        ("touch tests/debug.log", "tests/debug.log"),
        ("printf '*\\n' > .gitignore; echo > tests/test_more.py", "tests/test_more.py"),
        ("echo 'import os' > conftest.py", "conftest.py"),
        ("mkdir -p a/b; echo x > a/b/c.cfg", "a/b/c.cfg"),
        ("touch \"$(printf 'odd\\377')\"", "odd\\xff"),
        # A line break in a folder's name must not hide what is in it.
        ('D="$(printf \'a\nb\')"; mkdir "$D"; echo x > "$D/conftest.py"', "a\nb/conftest.py"),
        ('D="$(printf \'a\nb\')"; mkdir "$D"; echo x > "$D/c.cfg"', "a\nb/c.cfg"),
        ("git mv tests/test_calc.py t.py; git commit -qm moved", "tests/test_calc.py"),
    ],
)
def test_touching_a_protected_path_is_tampering(bench: Any, change: str, touched: str) -> None:
    result = bench.run(f"{bench.FIX}; {change}; true", key=Key(verify="true", protect=PROTECT))
    assert result.record.outcome is Outcome.TAMPERED, result.record.reason
    assert touched in result.record.tampered
    assert touched.replace("\n", " ") in result.record.reason
    assert result.record.verify is None, "what is tampered is not verified"
    assert "calc.py" in result.files, "the patch is kept"


@pytest.mark.parametrize(
    "change",
    [
        "true",
        "touch tests/test_calc.py",
        "python3 -m pytest -q tests",
        "cp tests/test_calc.py /tmp/t; echo x > tests/test_calc.py; cp /tmp/t tests/test_calc.py",
        "mkdir tests/empty",
        "mkdir -p mytests; echo > mytests/x.py",
    ],
)
def test_what_leaves_protected_paths_as_they_were_is_not(bench: Any, change: str) -> None:
    result = bench.run(f"{bench.FIX}; {change}; true", key=Key(verify=bench.VERIFY, protect=PROTECT))
    assert result.record.outcome is Outcome.PASSED, (result.record.reason, result.record.tampered)
