"""`setup_scope: run`: setup runs in each container, before the agent and again before grading."""

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from tiltyard_runner.job import Key, Place
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]


def test_setup_prepares_the_run_and_its_grading_and_is_no_part_of_the_patch(bench: Any) -> None:
    setup = (
        'echo "$TRIAL_ARM $TRIAL_ID $(id -u) $(pwd)" > made-by-setup.txt',
        "echo 'SETUP = 1' >> calc.py; echo from setup",
    )
    result = bench.run(
        f"cat made-by-setup.txt; {bench.FIX} > /dev/null; env",
        setup=setup,
        key=Key(verify="cat made-by-setup.txt; tail -1 calc.py; grep -c 'a + b' calc.py"),
    )
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert result.record.answer.startswith("plain t_1 1000 /workspace\n")
    assert "TRIAL" not in result.record.answer, "the variables are for setup and verify, not for the agent"
    assert result.files == {"calc.py"}
    assert b"SETUP" not in b"".join(line for line in result.patch.splitlines() if line[:1] in b"+-")
    assert result.text("setup.log") == "from setup\n"
    assert result.text("verify.log").endswith("plain t_1 1000 /workspace\nSETUP = 1\n1\n")


def test_without_edits_setup_owns_the_tree_and_the_agent_cannot_write(bench: Any) -> None:
    result = bench.run(
        "cat made.txt; echo x >> made.txt || echo refused; id -u",
        edits=False,
        setup=("id -u > made.txt",),
        key=Key(expect=("refused",)),
    )
    assert result.record.outcome is Outcome.PASSED
    assert result.record.answer == "0\nrefused\n1000"


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        ("echo what went wrong >&2; exit 3", "ended with exit code 3: what went wrong"),
        ("sleep 60", "did not end within 2 s"),
        ("kill -9 $$", "ended with exit code 137"),
    ],
)
def test_a_failed_setup_is_recorded_and_the_agent_never_starts(bench: Any, setup: str, reason: str) -> None:
    result = bench.run("echo started", setup=("true", setup), timeout=2.0)
    assert result.record.outcome is Outcome.SETUP_FAILED
    assert reason in result.record.reason
    assert repr(setup) in result.record.reason
    assert not (result.folder / "raw.out").read_bytes()


def test_a_service_of_the_setup_lives_as_long_as_the_run(bench: Any) -> None:
    service = "(python3 -m http.server 9000 --bind 127.0.0.1 >/dev/null 2>&1 &) ; sleep 0.7"
    ask = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9000/run.sh\").status)'"
    result = bench.run(ask, setup=(service,), key=Key(verify=ask))
    assert result.record.answer == "200"
    assert result.text("verify.log") == "200\n"


def test_setup_is_as_sealed_as_the_run(bench: Any) -> None:
    look = "python3 -c 'import os; print(sorted(os.listdir(\"/sys/class/net\")))' > seen.txt"
    result = bench.run("cat seen.txt", setup=(look,), key=Key(verify="cat seen.txt"))
    assert result.record.answer == "['lo']"
    assert result.text("verify.log") == "['lo']\n"


def test_on_an_open_network_setup_has_it_while_grading_and_verify_has_not(
    bench: Any, open_place: Place
) -> None:
    look = "python3 -c 'import os; print(sorted(os.listdir(\"/sys/class/net\")))'"
    result = bench.run(
        "echo ok", setup=(f"{look} > seen.txt",), place=open_place, key=Key(verify=f"cat seen.txt; {look}")
    )
    assert result.text("verify.log") == "['eth0', 'lo']\n['lo']\n"


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, True])
def test_setups_wait_for_each_other_unless_the_arm_says_otherwise(
    bench: Any, place: Place, *, parallel: bool
) -> None:
    held = replace(place, setup_lock=threading.Lock())
    held.setup_lock.acquire()
    began = time.monotonic()
    threading.Timer(2.0, held.setup_lock.release).start()
    result = bench.run("echo ok", edits=False, setup=("true",), parallel_setup=parallel, place=held)
    assert result.record.answer == "ok"
    assert (time.monotonic() - began > 2.0) is not parallel
    if parallel:
        time.sleep(max(0.0, 2.2 - (time.monotonic() - began)))


def test_the_agent_is_interrupted_and_killed_after_a_setup_too(bench: Any) -> None:
    script = "trap 'echo last word; exit 3' INT; (setsid sleep 300 &); while :; do sleep 0.1; done"
    result = bench.run(script, edits=False, setup=("true",), timeout=1.5)
    assert (result.record.outcome, result.record.exit_code) == (Outcome.TIMEOUT, 3)
    assert result.text("raw.out") == "last word\n"


def test_an_agent_after_a_setup_cannot_end_its_container(bench: Any) -> None:
    """A signal to everything it may signal: its container would be gone, and the run lost without a cause."""
    script = "trap '' TERM; kill -TERM -1; sleep 0.5; echo still here; exit 4"
    result = bench.run(script, edits=False, setup=("true",))
    assert (result.record.outcome, result.record.exit_code) == (Outcome.NO_ANSWER, 4)
    assert result.text("raw.out") == "still here\n"


def test_an_agent_that_used_up_its_pids_still_ends_as_timed_out(bench: Any) -> None:
    """The engine then cannot start the process that would interrupt it."""
    from tiltyard_runner.container import Bounds  # noqa: PLC0415

    bounds = Bounds(cpus=1, memory=256 << 20, pids=24, disk=64 << 20)
    script = "import os, time\ntry:\n  while os.fork() == 0: pass\nexcept OSError: pass\ntime.sleep(300)"
    result = bench.python(script, edits=False, setup=("true",), timeout=2.0, bounds=bounds)
    assert result.record.outcome is Outcome.TIMEOUT


def test_memory_and_exit_codes_count_after_a_setup_too(bench: Any) -> None:
    from tiltyard_runner.container import Bounds  # noqa: PLC0415

    bounds = Bounds(cpus=1, memory=64 << 20, pids=128, disk=64 << 20)
    big = "exec python3 -c 'x = bytearray(300 << 20)'"
    assert bench.run(big, edits=False, setup=("true",), bounds=bounds).record.outcome is Outcome.LIMIT
    assert bench.run("echo x; exit 9", edits=False, setup=("true",)).record.exit_code == 9
    held = bench.run("sleep 300 & echo ok", edits=False, setup=("true",), key=Key(expect=("ok",)))
    assert held.record.outcome is Outcome.PASSED
    assert held.record.seconds < 8
