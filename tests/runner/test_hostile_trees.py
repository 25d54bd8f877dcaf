"""Trees that are meant to do harm: each is carried or refused within bounds, and named in the record."""

import resource
from typing import Any

import pytest

from tiltyard_runner.container import Bounds
from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine, pytest.mark.slow]
MIB = 1 << 20
ROOM = Bounds(cpus=2, memory=512 * MIB, pids=128, disk=2048 * MIB)


def _peak() -> int:
    """Largest memory that this process has had so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_hundred_thousand_new_files_are_carried_in_bounded_memory(bench: Any) -> None:
    script = """
import os
for folder in range(100):
    os.mkdir(f"d{folder}")
    for file in range(1000):
        open(f"d{folder}/{file}", "w").close()
print("ok")
"""
    before = _peak()
    result = bench.python(script, key=Key(verify="find d[0-9]* -type f | wc -l"), bounds=ROOM, timeout=300.0)
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert len(result.files) == 100_000
    assert result.text("verify.log").strip() == "100000"
    assert _peak() - before < 128 * MIB


def test_a_file_of_a_gigabyte_is_the_agents_limit_and_takes_no_memory_here(bench: Any) -> None:
    before = _peak()
    result = bench.run("truncate -s 1g big; echo ok", key=Key(verify="true"), bounds=ROOM, timeout=60.0)
    assert result.record.outcome is Outcome.LIMIT, result.record.reason
    assert result.record.reason == "memory limit: what the agent left is too big to be compared"
    assert _peak() - before < 64 * MIB


def test_output_of_half_a_gigabyte_is_drained_in_bounded_memory(bench: Any) -> None:
    before = _peak()
    result = bench.run("head -c 500000000 /dev/zero; echo end >&2", edits=False, timeout=300.0)
    kept = (result.folder / "raw.out").stat().st_size + (result.folder / "raw.err").stat().st_size
    assert kept == MIB
    assert any("bytes of output beyond the limit were dropped" in text for text in result.record.warnings)
    assert result.record.exit_code == 0
    assert _peak() - before < 64 * MIB


NAMES = r"""
import os
os.symlink("loop-a", "loop-b"); os.symlink("loop-b", "loop-a"); os.symlink("self", "self")
os.symlink("x" * 4095, "far"); os.symlink(".", "dot"); os.symlink("/proc/self/root", "root")
os.rename("crlf.txt", "CRLF.txt")
open("Calc.py", "w").write("other case\n")
for letter in b"a", b"\xff":
    open(letter * 255, "w").write("long name\n")
os.truncate(os.open("sparse", os.O_RDWR | os.O_CREAT), 30 << 20)
os.utime("calc.py", (1e11, 1e11)); os.utime("run.sh", (-1e11, -1e11))
refused = 0
for target in "/etc/passwd", "/usr/bin/python3", "/etc/hostname", "/proc/self/environ":
    try:
        os.link(target, "stolen" + os.path.basename(target))
    except OSError:
        refused += 1
print(refused)
"""


def test_links_cases_and_names_at_their_limits(bench: Any) -> None:
    verify = """
test "$(readlink loop-a)" = loop-b && test "$(readlink self)" = self &&
test "$(readlink root)" = /proc/self/root &&
test "$(readlink far | wc -c)" = 4096 && test ! -e crlf.txt && test -s CRLF.txt && grep -q other Calc.py &&
test "$(stat -c %s sparse)" = 31457280 && grep -q add calc.py
"""
    result = bench.python(NAMES, key=Key(verify=verify))
    assert result.record.outcome is Outcome.PASSED, (result.record.reason, result.text("verify.log"))
    assert {"loop-a", "loop-b", "self", "far", "CRLF.txt", "crlf.txt", "Calc.py", "sparse"} <= result.files
    assert {"a" * 255, "\\xff" * 255} <= result.files
    assert int(result.record.answer) >= 2, "what is not on the same file system, or not the agent's"
    assert "calc.py" not in result.files, "a time that no clock shows is no change"


STEERING = """
mkdir -p .git/hooks
printf '#!/bin/sh\\ntouch /tmp/hooked\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
git config core.fsmonitor 'touch /tmp/hooked'; git config filter.x.smudge 'touch /tmp/hooked'
git config filter.x.clean 'touch /tmp/hooked'; git config core.hooksPath .git/hooks
printf '* filter=x diff=x\\n' > .gitattributes; git config diff.x.command 'touch /tmp/hooked'
git config diff.x.textconv 'touch /tmp/hooked'; git config include.path /workspace/mine
"""


def test_no_hook_filter_or_driver_of_the_agent_runs_while_it_is_graded(bench: Any) -> None:
    result = bench.run(f"{STEERING}\n{bench.FIX}", key=Key(verify="ls -a /tmp .git/hooks; cat .git/config"))
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    log = result.text("verify.log")
    assert "hooked" not in log
    assert "filter" not in log


def test_an_ignored_file_of_the_setup_that_is_protected_may_not_change(bench: Any, workspace: Any) -> None:
    """The patch does not show it, and verify would not see it; it is tampering all the same."""
    image = workspace(setup=("echo expected > tests/data.log; chown 1000 tests/data.log",))
    key = Key(verify="true", protect=("tests/**",))
    for change in ("echo other > tests/data.log", "rm tests/data.log", "ln -sf ../calc.py tests/data.log"):
        record = bench.run(f"{change}; echo ok", image=image, key=key).record
        assert record.outcome is Outcome.TAMPERED, (change, record.reason)
        assert record.tampered == ("tests/data.log",)
    assert bench.run("touch tests/data.log; echo ok", image=image, key=key).record.outcome is Outcome.PASSED


def test_runner_configuration_is_named_when_it_is_touched(bench: Any) -> None:
    script = "echo > conftest.py; mkdir sub; echo > sub/x.pth; echo '[pytest]' > pytest.ini; echo ok"
    (warning,) = bench.run(script, key=Key(verify="true")).record.warnings
    assert warning == "the agent changed what can steer the tests: conftest.py, pytest.ini, sub/x.pth"
    assert bench.run("echo > other.py; echo ok", key=Key(verify="true")).record.warnings == ()
