"""A run's container never outlives the run, and a record comes of every end."""

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from tiltyard_runner.job import Key, Place
from tiltyard_runner.owner import Owner
from tiltyard_specs.errors import DataError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import parse_record

pytestmark = [pytest.mark.engine]


def _labels(role: str) -> list[str]:
    """Of this process's containers: other test runs may share the engine."""
    return [f"{name}={value}" for name, value in Owner.current().labels(trial="tests", role=role).items()]


def _containers(engine: docker.DockerClient, role: str) -> list[str]:
    return [found["Id"] for found in engine.api.containers(all=True, filters={"label": _labels(role)})]


@pytest.mark.parametrize(
    ("command", "more", "outcome"),
    [
        ("echo ok", {"key": Key(expect=("ok",))}, Outcome.PASSED),
        ("exit 1", {}, Outcome.NO_ANSWER),
        ("sleep 100", {"timeout": 1.0}, Outcome.TIMEOUT),
        ("echo ok", {"setup": ("false",)}, Outcome.SETUP_FAILED),
        ("echo ok", {"key": Key(verify="exit 1")}, Outcome.FAILED),
    ],
)
def test_no_container_is_left_after_any_end(
    bench: Any, engine: docker.DockerClient, command: str, more: dict[str, Any], outcome: Outcome
) -> None:
    assert bench.run(command, **more).record.outcome is outcome
    assert _containers(engine, "run") == []
    assert _containers(engine, "grader") == []


def test_an_image_that_is_not_there_is_infra(bench: Any, engine: docker.DockerClient) -> None:
    class Missing:
        id = "sha256:" + "0" * 64

    record = bench.run("echo ok", image=Missing()).record
    assert record.outcome is Outcome.INFRA
    assert "0000" in record.reason
    assert _containers(engine, "run") == []


def test_a_container_removed_under_a_run_is_infra(bench: Any, engine: docker.DockerClient) -> None:
    _when_running(engine, lambda container_id: engine.api.remove_container(container_id, force=True))
    record = bench.run("echo begun; sleep 60").record
    assert record.outcome is Outcome.INFRA
    assert record.reason


def test_a_run_carries_its_labels_from_before_its_start(bench: Any, engine: docker.DockerClient) -> None:
    seen: list[dict[str, Any]] = []
    _when_running(engine, lambda container_id: seen.append(engine.api.inspect_container(container_id)))
    bench.run("sleep 1; echo ok", edits=False)
    (found,) = seen
    labels = found["Config"]["Labels"]
    assert labels["tiltyard.run"] == "0123456789abcdef"
    assert labels["tiltyard.attempt"] == "1"
    assert labels["tiltyard.pid"].partition(":")[0].isdigit()
    assert found["HostConfig"]["LogConfig"]["Type"] == "none"
    assert not found["Config"]["OpenStdin"]
    assert found["HostConfig"]["NetworkMode"].startswith("container:")


def test_a_dead_forwarder_is_replaced_for_the_next_run_and_loses_the_present_one(
    bench: Any, engine: docker.DockerClient, new_place: Any
) -> None:
    with new_place() as place:
        first = place.slot.network()
        assert place.slot.network() == first, "a live one stays"
        forwarder = first.partition(":")[2]
        _when_running(engine, lambda _: engine.api.kill(forwarder))
        record = bench.run("sleep 2; echo ok", edits=False, place=place, key=Key(expect=("ok",))).record
        assert record.outcome is Outcome.INFRA
        assert "meter" in record.reason

        again = bench.run("echo ok", edits=False, place=place, key=Key(expect=("ok",))).record
        assert again.outcome is Outcome.PASSED
        assert place.slot.network() != first
        second = place.slot.network().partition(":")[2]
        engine.api.remove_container(second, force=True)
        assert not place.slot.alive()
        assert place.slot.network().partition(":")[2] not in {forwarder, second}
        present = set(_containers(engine, "forwarder"))
        assert not present & {forwarder, second}
    assert present - set(_containers(engine, "forwarder")), "the slot took its forwarder with it"


@pytest.mark.parametrize("where", ["agent", "setup", "verify"])
def test_a_stop_ends_a_run_wherever_it_is(
    bench: Any, engine: docker.DockerClient, place: Place, where: str
) -> None:
    stopped = replace(place, stop=threading.Event())
    more: dict[str, Any] = {
        "agent": {"command": "sleep 60"},
        "setup": {"command": "echo ok", "setup": ("sleep 60",)},
        "verify": {"command": "echo ok", "key": Key(verify="sleep 60")},
    }[where]
    began = time.monotonic()
    threading.Timer(2.0, stopped.stop.set).start()
    record = bench.run(more.pop("command"), place=stopped, **more).record
    assert record.outcome is Outcome.CANCELLED, record.reason
    assert "stopped by the user" in record.reason
    assert time.monotonic() - began < 10
    assert _containers(engine, "run") == _containers(engine, "grader") == []


def test_a_record_is_complete_and_can_be_read_again(bench: Any) -> None:
    facts = {"versions": {"tiltyard": "0"}, "effort": "low"}
    result = bench.run(bench.FIX, key=Key(verify=bench.VERIFY, expect=("done",)), **facts)
    record = result.record
    assert parse_record(record.to_json(), "run.json") == record
    data = json.loads(record.to_json())
    assert {
        "schema_version", "run_id", "trial", "capability", "question", "arm", "agent", "rep", "attempt",
        "outcome", "reason", "answer", "score", "verify", "usage", "metered", "reported", "delivered",
        "tool_calls", "turns", "seconds", "started_at", "node", "images", "versions",
    } <= set(data)  # fmt: skip
    assert (data["outcome"], data["reason"], data["answer"]) == ("passed", None, "done")
    assert (data["run_id"], data["attempt"], data["node"]) == ("0123456789abcdef", 1, "test-node")
    assert (data["kind"], data["edits"], data["exit_code"], data["timed_out"]) == ("text", True, 0, False)
    assert data["score"] == {"correct": True, "recall": 1.0, "missing": [], "forbidden": []}
    assert data["patch"]["files"] == ["calc.py"]
    assert data["policy"]["network"] == "sealed"
    assert data["metered"] is None
    assert 0 < data["seconds"] < 20
    assert data["started_at"].endswith("Z")
    assert _names(result.folder) == {
        "prompt.txt",
        "raw.out",
        "raw.err",
        "calls.jsonl",
        "patch.diff",
        "verify.log",
    }
    assert result.text("prompt.txt") == "Do it."
    assert result.text("raw.out") == "done\n"


def test_a_folder_that_cannot_be_written_is_infra_and_no_crash(bench: Any, tmp_path: Path) -> None:
    from tiltyard_runner.attempt import execute  # noqa: PLC0415

    record = execute(bench.job("echo ok"), 1, bench.place, tmp_path / "missing")
    assert record.outcome is Outcome.INFRA


def _when_running(engine: docker.DockerClient, action: Any) -> None:
    """Do something as soon as the run's container runs."""

    def watch() -> None:
        for _ in range(400):
            found = engine.api.containers(filters={"label": _labels("run")})
            if found:
                time.sleep(0.2)
                action(found[0]["Id"])
                return
            time.sleep(0.02)

    threading.Thread(target=watch).start()


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_task_that_is_wrong_is_no_agents_failure(bench: Any) -> None:
    """Recording it as one would count against the arm."""
    with pytest.raises(DataError):
        bench.run("", kind="oracle", task={"command": None, "solution": None})
