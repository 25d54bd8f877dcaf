"""What ends a run: memory, pids, disk, output, time. And that nothing of it runs afterwards."""

import threading
import time
from dataclasses import replace
from typing import Any

import docker
import pytest

from tiltyard_images import ImageBuilder
from tiltyard_runner.container import Bounds
from tiltyard_runner.job import Key, Place
from tiltyard_runner.owner import Owner
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine]
MIB = 1 << 20


def _bounds(**changes: Any) -> Bounds:
    return replace(Bounds(cpus=1, memory=256 * MIB, pids=128, disk=64 * MIB), **changes)


def test_a_run_beyond_its_memory_ends_at_its_limit(bench: Any) -> None:
    result = bench.run(
        "exec python3 -c 'x = bytearray(300 << 20)'", edits=False, bounds=_bounds(memory=64 * MIB)
    )
    assert result.record.outcome is Outcome.LIMIT
    assert "memory limit" in result.record.reason
    assert result.record.exit_code == 137


def test_a_child_beyond_the_memory_is_a_warning_when_the_agent_went_on(bench: Any) -> None:
    script = "python3 -c 'x = bytearray(300 << 20)'; echo went on"
    record = bench.run(
        script, edits=False, bounds=_bounds(memory=64 * MIB), key=Key(expect=("went on",))
    ).record
    assert record.outcome is Outcome.PASSED
    assert any("memory limit" in warning for warning in record.warnings)


def test_a_fork_bomb_stays_within_its_pids(bench: Any) -> None:
    script = """
import os, time
made = 0
try:
    while made < 1000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print("contained" if 10 < made < 64 else made, flush=True)
os._exit(0)
"""
    result = bench.python(script, edits=False, bounds=_bounds(pids=64))
    assert result.record.answer == "contained"


def test_a_fork_bomb_does_not_outlive_its_time(bench: Any, engine: docker.DockerClient) -> None:
    began = time.monotonic()
    result = bench.run("b() { b | b & b; }; b", edits=False, timeout=2.0, bounds=_bounds(pids=64))
    assert result.record.outcome in {Outcome.TIMEOUT, Outcome.NO_ANSWER}
    assert time.monotonic() - began < 20
    assert _left(engine) == 0


def test_one_file_beyond_the_disk_limit_ends_the_run(bench: Any) -> None:
    result = bench.run("exec head -c 100m /dev/zero > big", bounds=_bounds(disk=8 * MIB))
    assert result.record.outcome is Outcome.LIMIT
    assert "disk limit" in result.record.reason
    assert result.record.exit_code == 153
    assert result.record.patch is None


def test_many_small_files_beyond_the_disk_limit_end_the_run(bench: Any) -> None:
    script = "i=0; while :; do i=$((i+1)); head -c 1m /dev/zero > f$i; sleep 0.02; done"
    result = bench.run(script, bounds=_bounds(disk=8 * MIB), timeout=25.0)
    assert result.record.outcome is Outcome.LIMIT
    assert "disk limit" in result.record.reason
    assert result.record.seconds < 15


def test_a_run_too_short_to_be_watched_is_still_held_to_its_disk_limit(bench: Any) -> None:
    """Sparse files cost nothing to write, and everything to read."""
    result = bench.run("for i in 1 2 3; do truncate -s 7m f$i; done", bounds=_bounds(disk=8 * MIB))
    assert result.record.outcome is Outcome.LIMIT
    assert not (result.folder / "patch.diff").exists()


def test_output_beyond_its_bound_is_dropped_and_said(bench: Any) -> None:
    result = bench.run("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2", edits=False, output_limit=1000)
    kept = (result.folder / "raw.out").stat().st_size + (result.folder / "raw.err").stat().st_size
    assert kept == 1000
    assert "2999004 bytes of output beyond the limit were dropped" in result.record.warnings
    assert result.record.exit_code == 0


def test_at_its_time_limit_an_agent_may_say_a_last_word(bench: Any) -> None:
    script = "trap 'echo last word; exit 3' INT; echo first; while :; do sleep 0.1; done"
    result = bench.run(script, edits=False, timeout=1.0)
    assert result.record.outcome is Outcome.TIMEOUT
    assert result.text("raw.out") == "first\nlast word\n"
    assert result.record.exit_code == 3
    assert result.record.timed_out
    assert result.record.seconds < 4


def test_the_interrupt_reaches_the_agent_within_its_shell(bench: Any) -> None:
    inner = "trap 'echo inner; exit 0' INT; while :; do sleep 0.1; done"
    result = bench.run(f'echo outer; sh -c "{inner}"; true', edits=False, timeout=1.0)
    assert result.text("raw.out") == "outer\ninner\n"
    assert result.record.outcome is Outcome.TIMEOUT


@pytest.mark.slow
def test_who_ignores_the_interrupt_is_killed_with_all_children(
    bench: Any, engine: docker.DockerClient
) -> None:
    script = """
trap '' INT TERM
(setsid sh -c 'while :; do date +%s%N > /workspace/beat; sleep 0.05; done' &)
sleep 300
"""
    began = time.monotonic()
    result = bench.run(script, timeout=1.0)
    assert result.record.outcome is Outcome.TIMEOUT
    assert time.monotonic() - began < 15
    assert result.record.exit_code is None
    assert "beat" in result.files, "what it had done until then is kept"
    assert _left(engine) == 0


@pytest.mark.parametrize("setup", [(), ("true",)])
def test_nothing_of_the_agent_runs_while_it_is_graded(
    bench: Any, engine: docker.DockerClient, setup: tuple[str, ...]
) -> None:
    """A background process that outlives the agent's own end is gone before the tree is read."""
    seen: list[int] = []

    def watch() -> None:
        for _ in range(500):
            if _running(engine, "grader"):
                seen.append(len(_running(engine, "run")))
                return
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    script = "(setsid sleep 300 >/dev/null 2>&1 &) ; sleep 0.3; echo ok"
    result = bench.run(script, setup=setup, key=Key(verify="sleep 0.5"))
    watcher.join()
    assert result.record.outcome is Outcome.PASSED
    assert seen == [0]


def test_a_background_child_that_holds_the_output_does_not_hold_the_run(bench: Any) -> None:
    result = bench.run("sleep 300 & echo ok", edits=False, key=Key(expect=("ok",)))
    assert result.record.outcome is Outcome.PASSED
    assert result.record.seconds < 5


def test_an_agent_that_closes_its_output_is_waited_for(bench: Any) -> None:
    result = bench.run("echo early; exec >&- 2>&-; sleep 1.5; echo late > late; exit 4")
    assert result.record.exit_code == 4
    assert result.record.seconds > 1.4
    assert result.files == {"late"}


@pytest.mark.slow
def test_an_agent_may_be_silent_for_longer_than_the_engine_client_waits(
    bench: Any, image_builder: ImageBuilder, place: Place
) -> None:
    impatient = docker.from_env(timeout=2)
    try:
        result = bench.run(
            "sleep 4; echo there",
            edits=False,
            place=replace(place, client=impatient),
            key=Key(expect=("there",)),
        )
    finally:
        impatient.close()
    assert result.record.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("command", "exit_code", "reason"),
    [
        ("exit 1", 1, "not_started"),
        ("echo said; exit 9", 9, "crash"),
        ("kill -9 $$", 137, "killed"),
        ("no-such-command-anywhere", 127, "not_started"),
    ],
)
def test_exit_codes_are_recorded(bench: Any, command: str, exit_code: int, reason: str) -> None:
    record = bench.run(command, edits=False).record
    assert (record.outcome, record.exit_code) == (Outcome.NO_ANSWER, exit_code)
    assert record.reason.startswith(reason)


def test_standard_input_is_at_its_end(bench: Any) -> None:
    assert bench.run("cat; echo over", edits=False).record.answer == "over"


def _running(engine: docker.DockerClient, role: str) -> list[Any]:
    labels = [f"{name}={value}" for name, value in Owner.current().labels(trial="tests", role=role).items()]
    found: list[Any] = engine.api.containers(filters={"label": labels})
    return found


def _left(engine: docker.DockerClient) -> int:
    labels = [f"{name}={value}" for name, value in Owner.current().labels(trial="tests", role="run").items()]
    return len(engine.api.containers(all=True, filters={"label": labels}))


def test_the_record_says_what_keeps_the_disk_limit(bench: Any, engine: docker.DockerClient) -> None:
    """A quota where the engine's storage has them, else the watch; this engine says which it is."""
    from tiltyard_runner.container import Container, ContainerPlan  # noqa: PLC0415
    from tiltyard_runner.disk_quota import is_refusal, quota_for  # noqa: PLC0415

    record = bench.run("echo ok", edits=False).record
    container = Container(engine, ContainerPlan(bench.image(edits=False).id, ("true",), {}))
    refused: docker.errors.APIError | None = None
    try:
        engine.api.remove_container(container._create(quota_for(64 << 20)))
    except docker.errors.APIError as error:
        refused = error
    assert refused is None or is_refusal(refused)
    assert record.policy.disk_bound == ("quota" if refused is None else "watched")
