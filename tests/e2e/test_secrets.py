"""Keys planted wherever one could stand, each another, and a search in all that a trial leaves and says."""

import base64
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import docker
import pytest

from tiltyard_specs.redact import written_forms

pytestmark = pytest.mark.engine

MINE, ARMS, USUAL = (
    "my-own-words-as-a-key-42",
    "the-key/of an+arm-with:words",
    "usual-value-of-openai-in-words",
)
ENVIRON = {"MY_KEY": MINE, "ARM_KEY": ARMS, "OPENAI_API_KEY": USUAL}
# In parts, so that no scanner takes these for keys.
SHAPES = {
    "AIza": "SyA{}567890abcdefghijklmnopqrstu",
    "AKIA": "IOSFODNN7EXA{}",
    "sk-ant-api03-": "{}abcdefghijklmnop",
    "ghp_": "{}abcdefghijklmnopqrst0123456789",
    "Bearer ": "{}abcdefgh12345678XYZ",
}


def shaped(number: int) -> list[str]:
    """One key of each shape, which no other place has."""
    return [start + rest.format(f"{number:04}") for start, rest in SHAPES.items()]


IN_FILE, IN_SETUP, IN_VERIFY, IN_PROVIDER, IN_RUN_SETUP = (shaped(number) for number in range(5))
SEARCHED = [
    *(form.encode() for secret in ENVIRON.values() for form in written_forms(secret)),
    *(key.removeprefix("Bearer ").encode() for number in range(5) for key in shaped(number)),
]
PARTS = [MINE[:14].encode(), ARMS[:14].encode(), MINE[-14:].encode(), ARMS[-14:].encode()]
"""What a bound may leave of one."""


def say(keys: list[str]) -> str:
    """A command that prints keys and does not hold them."""
    return f"echo {base64.b64encode(chr(10).join(keys).encode()).decode()} | base64 -d"


AGENT = {"kind": "text", "command": "python3 leaking_agent.py"}
SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 2, "timeout": 60, "claim": True},
    "limits": {"memory": "256m"},
    "retries": 0,
    "arms": [
        {"name": "plain", "overlay": "leaks", "env": {"TOKEN": ARMS}, "keys_from": {"gemini": "ARM_KEY"}},
        {"name": "broken", "overlay": "leaks", "setup": [f"{say(IN_SETUP)}; cat leak.txt; exit 3"]},
    ],
    "agents": [
        {"name": "leaker", "edits": True, **AGENT},
        {
            "name": "trajectory",
            "kind": "mini",
            "model": "m",
            "command": "python3 leaking_agent.py trajectory",
        },
    ],
    "questions": [
        {
            "id": "q",
            "prompt": f"Use {MINE} and {USUAL}.",
            "expect": ["the end"],
            "verify": f"{say(IN_VERIFY)}; cat leak.txt; : {ARMS}; exit 1",
        }
    ],
}


class _Provider(BaseHTTPRequestHandler):
    """Repeats the key that it gets, in errors and in answers."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = " ".join([self.headers["x-api-key"], *IN_PROVIDER, "x" * 400, self.headers["x-api-key"]])
        if asked["model"] == "plain":
            usage = {"input_tokens": 1, "output_tokens": 1}
            content = [{"type": "text", "text": said}]
            body = {"type": "message", "role": "assistant", "model": said, "content": content, "usage": usage}
        else:
            body = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid: {said}"}}
        data = json.dumps(body).encode()
        self.send_response(200 if asked["model"] == "plain" else 401)
        for name, value in (("content-type", "application/json"), ("content-length", str(len(data)))):
            self.send_header(name, value)
        self.send_header("x-echo", self.headers["x-api-key"])
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class Watch:
    """What the engine and the process table show of a trial while it runs."""

    def __init__(self, engine: docker.DockerClient, trial: str) -> None:
        self.seen: set[str] = set()
        self._trial, self._began = trial, int(time.time())
        self._engine = engine
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        filters = {"label": f"tiltyard.trial={self._trial}"}
        until = int(time.time()) + 1
        events = self._engine.api.events(since=self._began, until=until, filters=filters, decode=True)
        self.seen |= {json.dumps(event["Actor"]["Attributes"]) for event in events}

    def _look(self) -> None:
        while not self._stop.wait(0.2):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(path.read_text(errors="replace"))
                except OSError:
                    continue


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def done(world: Any, provider: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two trials whose agents, graders, setups and provider say every key, and what was seen of them."""
    leaks = world.folder / "leaks"
    leaks.mkdir()
    shutil.copy(Path(__file__).with_name("leaking_agent.py"), leaks)
    lines = [MINE, USUAL, ARMS, *IN_FILE, "the end"]
    (leaks / "leak.txt").write_text("\n".join(lines) + "\n")
    gateway = {"keys_from": {"anthropic": "MY_KEY"}, "upstreams": {"anthropic": provider}}
    world.write(SPEC | {"gateway": gateway})
    failing = f"{say(IN_RUN_SETUP)}; python3 -c \"print('y' * 480, open('leak.txt').read())\"; exit 4"
    arms = [SPEC["arms"][0] | {"name": "late", "setup": [failing]}]
    world.write(SPEC | {"gateway": gateway, "setup_scope": "run", "arms": arms}, "late.yaml")
    environ = ENVIRON | {"TILTYARD_CACHE": str(tmp_path_factory.mktemp("cache"))}
    with Watch(world.engine, world.name) as watch:
        first = world("run", "trial.yaml", "--no-budget", **environ)
        late = world(
            "run", "late.yaml", "--no-budget", "--agent", "leaker", "--out", "late-results", **environ
        )
    reports = [world("report", "trial-results", *args, **environ) for args in ((), ("--json",))]
    checked = world("check", "trial.yaml", **environ)
    return {
        "said": [first, late, *reports, checked],
        "files": [
            path
            for top in (
                world.out,
                world.folder / "late-results",
                world.temporary,
                Path(environ["TILTYARD_CACHE"]),
            )
            for path in top.rglob("*")
            if path.is_file() and not path.is_relative_to(Path(environ["TILTYARD_CACHE"]) / "repos")
        ],
        "seen": watch.seen,
    }


def _found(data: bytes) -> list[bytes]:
    return [each for each in (*SEARCHED, *PARTS) if each in data]


def test_the_trials_did_what_they_were_to_do(world: Any, done: dict[str, Any]) -> None:
    """Every inlet was used, or the search would find nothing for the wrong reason."""
    ends = {place: record["outcome"] for place, record in world.records().items()}
    errors = [said.err for said in done["said"]]
    assert ends["q/plain/leaker/1"] == "failed", errors
    assert {ends["q/broken/leaker/1"], ends["q/broken/trajectory/1"]} == {"setup_failed"}, errors
    names = {path.name for path in done["files"]}
    expected = {"prompt.txt", "raw.out", "raw.err", "verify.log", "run.json", "trial.json", "calls.jsonl"}
    assert expected | {"patch.diff", "setup.log", "agent.json"} <= names
    assert any(path.suffix == ".log" and "logs" in path.parts for path in done["files"])
    record = world.records()["q/plain/leaker/1"]
    assert "[redacted]" in record["answer"]
    assert record["claim"]["missing"][0] == "[redacted]"
    assert "sk-placebo-" in record["answer"], "the run's own key is worthless, and stays"
    calls = [
        json.loads(line)
        for line in (world.out / "runs/q/plain/leaker/1/calls.jsonl").read_text().splitlines()
    ]
    assert {call["status"] for call in calls} == {200, 401}
    assert calls[0]["role"] == "[redacted]"
    assert any("secrets were masked in the results" in warning for warning in record["warnings"])
    assert world.records()["q/plain/trajectory/1"]["tool_calls"]


def test_no_key_is_in_any_file(done: dict[str, Any]) -> None:
    """Results, build logs and temporary files; a patch keeps what only looks like a key, byte for byte."""
    for path in done["files"]:
        searched = _found(path.read_bytes())
        assert not searched, (path, searched)
        assert not _found(path.name.encode()), path


def test_no_key_is_said(done: dict[str, Any]) -> None:
    for said in done["said"]:
        assert not _found((said.out + said.err).encode())
    first, late, report, as_json, checked = done["said"]
    assert "exited with 3" in first.out + first.err
    assert "exit code 4" in late.out + late.err
    assert "[redacted]" in report.out
    assert json.loads(as_json.out)
    assert checked.code == 0


def test_no_key_of_the_provider_is_in_labels_or_arguments(done: dict[str, Any]) -> None:
    """Of containers, and of every process here; what the spec has in a command its container is given."""
    labels = [text for text in done["seen"] if "tiltyard.role" in text]
    assert len(labels) >= 3
    assert not [text for text in labels if _found(text.encode())]
    own = [text for text in done["seen"] if "tiltyard" in text and "leaking_agent" not in text]
    assert own
    assert not [
        text for text in own if any(key in text.encode() for key in SEARCHED if key.decode() != USUAL)
    ]


@pytest.mark.parametrize("secret", [key for key in shaped(9) if not key.startswith("Bearer")])
def test_a_key_in_a_spec_is_refused_and_not_repeated(world: Any, secret: str) -> None:
    agents = [SPEC["agents"][0] | {"env": {"TOKEN": secret}}]
    world.write(SPEC | {"agents": agents}, "planted.yaml")
    refused = world("check", "planted.yaml")
    assert refused.code == 65
    assert "holds what looks like a key" in refused.err
    assert secret not in refused.out + refused.err


def test_the_value_of_a_key_in_a_name_is_refused_and_not_repeated(world: Any) -> None:
    """By every command that would put the name into results."""
    agents = [SPEC["agents"][0] | {"model": f"model-{ARMS}"}]
    world.write(SPEC | {"agents": agents}, "planted.yaml")
    for command in (("check",), ("run", "--no-budget"), ("run", "--dry-run")):
        refused = (
            world(*command, "planted.yaml", "--out", "planted", **ENVIRON)
            if "run" in command
            else world(*command, "planted.yaml", **ENVIRON)
        )
        assert refused.code == 65
        assert re.search(r"agents\[0\]\.model: holds the value of a key", refused.err)
        assert not _found((refused.out + refused.err).encode())
        assert not (world.folder / "planted").exists()


def test_an_error_that_quotes_a_key_is_masked(world: Any) -> None:
    missing = world("check", f"{USUAL}-{shaped(8)[1]}.yaml", **ENVIRON)
    assert missing.code != 0
    assert "[redacted]" in missing.err
    assert USUAL not in missing.err
    assert shaped(8)[1] not in missing.err
