"""An agent cannot turn its failure into a run that does not count: each try ends as its own doing."""

import threading
from typing import Any

import docker.errors
import pytest
import requests

from tiltyard_runner.container import Bounds, Container
from tiltyard_runner.grading import archive
from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine, pytest.mark.slow]
MIB = 1 << 20


def _bounds(**changes: int) -> Bounds:
    return Bounds(**({"cpus": 1, "memory": 256 * MIB, "pids": 128, "disk": 64 * MIB} | changes))


STOPS_ALL = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    try:
        os.kill(-1, signal.SIGSTOP)
    except OSError:
        pass
"""


@pytest.mark.parametrize("setup", [(), ("true",)])
def test_who_stops_the_process_that_interrupts_it_is_timed_out(bench: Any, setup: tuple[str, ...]) -> None:
    """The engine then waits without an end for that process to start."""
    result = bench.python(STOPS_ALL, edits=False, timeout=2.0, setup=setup)
    assert result.record.outcome is Outcome.TIMEOUT, result.record.reason
    assert result.record.seconds < 20


DEEP = """
import os, time
top = os.getcwd()
for _ in range(5000):
    os.mkdir("d"); os.chdir("d")
os.chdir(top)
"""


def test_folders_too_deep_to_be_measured_are_no_way_around_the_disk_limit(bench: Any) -> None:
    """The engine has no size to tell of such a layer, which is not its own doing."""
    result = bench.python(f"{DEEP}\nprint('ok')", key=Key(verify="true"), timeout=120.0)
    assert result.record.outcome is Outcome.LIMIT
    assert result.record.reason == (
        "disk limit: the run had written more, or deeper folders, than the engine can measure"
    )


LONG = """
import os
top = os.getcwd()
for length in {lengths}:
    left, name = length, str(length % 10)
    os.chdir(top)
    while left > 255:
        step = min(200, left - 2)
        os.makedirs(name * step, exist_ok=True); os.chdir(name * step); left -= step + 1
    open("f" * left, "w").write("x")
print("ok")
"""


def test_paths_as_long_as_they_may_be_are_carried_and_longer_ones_are_said(bench: Any) -> None:
    """A path that fits in one place of the pristine container need not fit in the next."""
    lengths = [1000, archive.MAX_PATH, archive.MAX_PATH + 1]
    result = bench.python(LONG.format(lengths=lengths), key=Key(verify="find . -name 'f*' | wc -l; true"))
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert {len(name) for name in result.files} == {1000, archive.MAX_PATH}
    (left_out, deeper) = result.record.warnings
    assert f"longer than {archive.MAX_PATH} bytes were left out" in left_out
    assert "does not read what lies deeper" in deeper


def test_a_tree_just_within_its_disk_limit_is_graded_whatever_it_holds(bench: Any) -> None:
    """What cannot be compressed takes more room in a patch than in the tree."""
    result = bench.run(
        "head -c 15m /dev/urandom > big; echo ok", bounds=_bounds(disk=16 * MIB), key=Key(verify="sleep 2.5")
    )
    assert result.record.outcome is Outcome.PASSED, result.record.reason
    assert result.record.patch.bytes > 16 * MIB


def test_what_the_agent_left_cannot_fail_the_setup_of_its_grading(bench: Any) -> None:
    """Its failure would be the arm's, and the run excluded: the agent has freed what setup had taken."""
    setup = ("head -c 10m /dev/zero > ~/cache; sleep 2.5",)
    script = "rm ~/cache; head -c 12m /dev/zero > big; echo ok"
    result = bench.run(
        script, setup=setup, bounds=_bounds(disk=16 * MIB), key=Key(verify="test -s ~/cache && test -s big")
    )
    assert result.record.outcome is Outcome.PASSED, result.record.reason


def test_verify_cannot_hide_what_it_writes_from_the_disk_limit(bench: Any) -> None:
    """It runs the agent's code: a file that fills the disk, in folders too deep for the engine to measure."""
    deep = "d = os.getcwd()\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\ntime.sleep(100)"
    write = f"cat > deep.py <<'END'\nimport os, time\n{deep}\nEND\necho ok"
    result = bench.run(write, key=Key(verify="python3 deep.py"), timeout=60.0)
    assert result.record.outcome is Outcome.FAILED, result.record.reason
    assert result.record.reason == "verify was ended at the disk limit"
    assert any("than the engine can measure" in warning for warning in result.record.warnings)


@pytest.mark.parametrize(
    "harm",
    [
        "kill -9 -1",
        "kill -STOP -1",
        "rm -rf /workspace/* /tmp/* ~; true",
        "python3 -c 'import os\nwhile 1: os.fork()'",
        "python3 -c 'x = bytearray(1 << 30)'",
        "python3 -c 'import os\nfor n in range(3, 5000):\n  os.pipe()'",
        "kill -9 1; kill -9 $PPID",
    ],
)
def test_the_agents_code_in_verify_fails_its_run_and_nothing_else(bench: Any, harm: str) -> None:
    result = bench.run(
        f"cat > harm.sh <<'END'\n{harm}\nEND", key=Key(verify="sh harm.sh; exit 3"), timeout=4.0
    )
    assert result.record.outcome is Outcome.FAILED, result.record.reason


def test_nested_repositories_and_links_in_their_place_are_graded(bench: Any, workspace: Any) -> None:
    commit = "git -c user.name=a -c user.email=a@b commit -qm s"
    setup = (
        f"mkdir vendor && cd vendor && git init -q . && touch a && git add a && {commit} && chown -R 1000 ."
    )
    image = workspace(setup=(setup,))
    for change in ("rm -rf vendor; echo x > vendor", "rm -rf vendor; ln -s calc.py vendor", "rm vendor/a"):
        result = bench.run(f"{change}; echo ok", image=image, key=Key(verify="true"))
        assert result.record.outcome is Outcome.PASSED, result.record.reason


def test_a_tree_of_more_paths_than_are_carried_is_the_agents_limit(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 500)
    result = bench.run("mkdir m; cd m; touch $(seq 600); echo ok", key=Key(verify="true"))
    assert result.record.outcome is Outcome.LIMIT
    assert "more than 500 paths" in result.record.reason


def test_a_slow_or_refused_measure_of_the_disk_ends_no_run(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_: Container) -> int:
        threading.Event().wait(0.5)
        raise requests.ReadTimeout

    monkeypatch.setattr(Container, "layer_bytes", slow)
    result = bench.run("sleep 2; echo ok", edits=False, key=Key(expect=("ok",)))
    assert result.record.outcome is Outcome.PASSED, result.record.reason


class TestWhatCannotBeGraded:
    """A tree that grading fails on, while it can grade one that nobody touched, is the agent's failure."""

    def test_is_no_answer(self, bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        _grading_refuses(monkeypatch, lambda tree: b"poison" in tree)
        record = bench.run("echo > poison; echo ok", key=Key(verify="true")).record
        assert record.outcome is Outcome.NO_ANSWER
        assert "what the agent left cannot be graded" in record.reason

    def test_is_infra_when_an_untouched_tree_fails_as_well(
        self, bench: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _grading_refuses(monkeypatch, lambda _: True)
        assert bench.run("echo > poison; echo ok", key=Key(verify="true")).record.outcome is Outcome.INFRA

    def test_is_tried_twice(self, bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        times = iter([True])
        _grading_refuses(monkeypatch, lambda _: next(times, False))
        assert bench.run("echo > poison; echo ok", key=Key(verify="true")).record.outcome is Outcome.PASSED


def _grading_refuses(monkeypatch: pytest.MonkeyPatch, refused: Any) -> None:
    """Stands for what is not known yet: the engine refuses the trees that it is told to."""
    put = Container.put_archive

    def wary(container: Container, path: str, chunks: Any) -> None:
        tree = b"".join(chunks)
        if refused(tree):
            raise docker.errors.APIError("refused")
        put(container, path, iter([tree]))

    monkeypatch.setattr(Container, "put_archive", wary)
