"""Results in S3, on a real service that is killed, with a driver that is killed, and two drivers at once."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.s3_store import S3Store

pytestmark = [pytest.mark.engine, pytest.mark.slow]

KEY = "sk-" + "never-in-a-result-1234567890"
OUTAGE = 20.0
SPEC: dict[str, Any] = {
    "defaults": {"reps": 2, "timeout": 60, "parallel": 2},
    "limits": {"memory": "128m", "cpus": 0.5},
    "gateway": {"keys_from": {"anthropic": "TRIAL_KEY"}},
    "budget": {"tokens": 100_000},
    "arms": [{"name": "plain"}, {"name": "docs", "prompt_suffix": "Briefly."}],
    "questions": [
        {"id": "sum", "prompt": "2+2?", "expect": ["4"]},
        {"id": "next", "prompt": "4+1?", "expect": ["5"]},
    ],
}


class Service:
    """SeaweedFS in a folder, which may be killed and comes back on the same port with the same objects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.start()

    def start(self) -> None:
        script = Path(__file__).parent.parent.parent / "infra" / "local_s3.py"
        command = [sys.executable, str(script), "--folder", str(self.folder)]
        if self.port:
            command += ["--port", str(self.port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.facts = json.loads(self.process.stdout.readline())
        self.port = int(self.facts["endpoint"].rpartition(":")[2])

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate()

    @property
    def environ(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.facts["access_key"],
            "AWS_SECRET_ACCESS_KEY": self.facts["secret_key"],
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "TRIAL_KEY": KEY,
        }


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("weed"))
    yield service
    service.end()


@pytest.fixture(scope="module")
def stored(world: Any, service: Service, call_model: str, until: Callable[..., None]) -> Any:
    """A trial into S3: its driver is killed, a second one goes on through an outage, a third is kept away."""
    agent = {"name": "asker", "kind": "text", "command": f"{call_model}; sleep 2"}
    world.write({**SPEC, "agents": [agent]})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in service.environ.items():
            patch.setenv(name, value)
        world.s3 = ("--s3-endpoint", service.facts["endpoint"])
        world.place = f"s3://{service.facts['bucket']}/trials/one"
        world.store = S3Store(service.facts["bucket"], "trials/one", endpoint=service.facts["endpoint"])
        run = ("run", "trial.yaml", "--model-script", "script.yaml", "--out", world.place, *world.s3)

        killed = world.start(*run)
        until(lambda: len(settled(world)) >= 2, "two runs settled")
        world.status_under_way = world("status", world.place, "--json", *world.s3)
        killed.kill()
        killed.communicate()
        world.after_kill = settled(world)

        process = world.start(*run)
        until(lambda: len(settled(world)) > len(world.after_kill), "a further run settled")
        world.kept_away = world(*run)
        service.end()
        time.sleep(OUTAGE)
        service.start()
        world.done = world.end(process)
        yield world


def settled(world: Any) -> dict[str, Any]:
    """Every record, by its key."""
    keys = [key for key in world.store.list("runs/") if key.endswith("/run.json")]
    return {key: json.loads(world.store.get(key)) for key in keys}


def test_it_is_whole_after_all(stored: Any) -> None:
    """What had settled is not run again, and of what was under way no attempt and no token is lost."""
    records = settled(stored)
    attempts = [
        json.loads(stored.store.get(key))
        for key in stored.store.list("runs/")
        if key.endswith("attempt.json")
    ]

    assert stored.done.code == 0, stored.done.err
    assert "8 of 8 runs recorded in s3://" in stored.done.out
    assert {key: records[key] for key in stored.after_kill} == stored.after_kill
    assert {record["outcome"] for record in records.values()} == {"passed", "failed"}
    pairs = [(record["run_id"], record["attempt"]) for record in (*records.values(), *attempts)]
    assert len(pairs) == len(set(pairs))
    assert all(record["metered"]["usage"]["input"] == 100 for record in records.values())


def test_the_outage_was_told_and_survived(stored: Any) -> None:
    assert "does not answer" in stored.done.err
    assert "answers again" in stored.done.err
    assert stored.done.err.count("trying again for") == stored.done.err.count("answers again") == 1


def test_one_driver_at_a_time(stored: Any) -> None:
    assert stored.kept_away.code == 69
    assert f"is running a trial in {stored.place}; wait for it" in stored.kept_away.err
    status = json.loads(stored.status_under_way.out)
    assert "process" in status["under_way"]
    assert status["partial"]
    assert json.loads(stored("status", stored.place, "--json", *stored.s3).out)["under_way"] is None


def test_it_is_read_like_a_folder(stored: Any) -> None:
    """Also after it was pulled into one, from which it can be pushed elsewhere."""
    pulled = stored("pull", stored.place, "pulled", *stored.s3)
    again = stored("pull", stored.place, "pulled", *stored.s3)
    other = stored.place.replace("/one", "/two")
    pushed = stored("push", "pulled", other, *stored.s3)
    reports = [stored("report", place, *stored.s3) for place in (stored.place, "pulled", other)]
    fidelity = [stored("fidelity", place, "--json", *stored.s3) for place in (stored.place, "pulled")]
    estimate = stored(
        "run",
        "trial.yaml",
        "--estimate",
        "--model-script",
        "script.yaml",
        "--out",
        "x",
        "--from",
        other,
        *stored.s3,
    )

    assert pulled.code == again.code == pushed.code == 0
    assert again.out.startswith("0 objects copied")
    assert len({report.out for report in reports}) == 1
    assert "PARTIAL" not in reports[0].out
    assert fidelity[0].out == fidelity[1].out
    assert f"in {other}" in estimate.out
    raw = next((stored.folder / "pulled").rglob("raw.out"))
    assert raw.read_text() == "It is 4.\n"


def test_what_differs_is_not_overwritten(stored: Any) -> None:
    stored("pull", stored.place, "other", *stored.s3)
    path = next((stored.folder / "other").rglob("run.json"))
    path.write_text(path.read_text().replace('"attempt": 1', '"attempt": 9'))
    refused = [
        stored("pull", stored.place, "other", *stored.s3),
        stored("push", "other", stored.place, *stored.s3),
    ]

    key = path.relative_to(stored.folder / "other").as_posix()
    assert [done.code for done in refused] == [65, 65]
    assert all(key in done.err and "nothing was copied" in done.err for done in refused)


def test_no_key_stands_in_any_object(stored: Any, service: Service) -> None:
    keys = list(stored.store.list(""))
    secrets = [KEY.encode(), service.facts["secret_key"].encode(), service.facts["access_key"].encode()]

    assert len(keys) > 40
    for key in keys:
        text = b"".join(stored.store.stream(key))
        assert not any(secret in text for secret in secrets), key


def test_nothing_is_left(stored: Any) -> None:
    assert stored.store.tagged(".lock.json") is None
    assert [path.name for path in stored.temporary.iterdir() if not path.name.startswith("tiltyard-")] == []
    assert stored.containers() == []
