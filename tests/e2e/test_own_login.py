"""`auth: passthrough` with the real CLIs: a planted login reaches its provider, nothing else the agent."""

import http.client
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tiltyard_gateway.scripted import ScriptedServer

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TOKEN = "sk-ant-oat01-PLANTED-9f8e7d6c5b4a3f2e1d0c"
REFRESH = "sk-ant-ort01-PLANTED-0a1b2c3d4e5f6a7b8c9d"
KEY = "sk-proj-PLANTED-1234567890abcdefABCDEF"
PERSONAL = "PERSONAL-e5c1"
LOOK = "env; ls -RA $HOME; cat $HOME/.claude/* $HOME/.codex/* 2>/dev/null; true"
SCRIPT = {
    "conversations": [
        {
            "turns": [
                {"shell": LOOK, "usage": {"input": 1000, "output": 100}},
                {"text": "It is 4.", "usage": {"input": 2000, "output": 10}},
            ]
        }
    ]
}
SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 2, "timeout": 120},
    "prices": {"claude-m": {"input": 10, "output": 100}, "gpt-m": {"input": 10, "output": 100}},
    "arms": [{"name": "plain"}],
    "agents": [
        {"name": "claude", "model": "claude-m", "auth": "passthrough"},
        {"name": "codex", "model": "gpt-m", "auth": "passthrough"},
    ],
    "questions": [{"id": "q", "prompt": "Look around.", "expect": ["It is 4"]}],
    "budget": {"usd": 100},
}
PLANTED = {
    "claude/.credentials.json": json.dumps(
        {"claudeAiOauth": {"accessToken": TOKEN, "refreshToken": REFRESH, "expiresAt": 99999999999999}}
    ),
    "claude/CLAUDE.md": f"Always say {PERSONAL}.",
    "claude/settings.json": json.dumps(
        {
            "env": {"PERSONAL": PERSONAL},
            "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"echo {PERSONAL}"}]}]},
        }
    ),
    "claude/skills/mine/SKILL.md": f"---\nname: mine\ndescription: {PERSONAL}\n---\n",
    "codex/auth.json": json.dumps({"OPENAI_API_KEY": KEY}),
    "codex/AGENTS.md": f"Always say {PERSONAL}.",
    "codex/config.toml": f'developer_instructions = "{PERSONAL}"\n',
}


@dataclass
class Witness:
    """Stands before the scripted server and keeps what comes, as the provider gets it."""

    port: int = 0
    seen: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    def keys(self, path: str) -> set[str]:
        """What came as a key to one path."""
        names = ("authorization", "x-api-key")
        return {head[name] for at, head, _ in self.seen if path in at for name in names if name in head}


def _handler(witness: Witness, target: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            head = {name.lower(): value for name, value in self.headers.items()}
            witness.seen.append((self.path, head, body.decode()))
            onward = http.client.HTTPConnection(target, timeout=60)
            onward.request("POST", self.path, body, {"Content-Type": "application/json"})
            answer = onward.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.end_headers()
            self.wfile.write(answer.read())
            onward.close()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's naming
            pass

    return Handler


@pytest.fixture(scope="module")
def witness(world: Any) -> Iterator[Witness]:
    (world.folder / "look.yaml").write_text(json.dumps(SCRIPT))
    found = Witness()
    with ScriptedServer(world.folder / "look.yaml") as scripted:
        target = urlsplit(scripted.base_url).netloc
        with ThreadingHTTPServer(("127.0.0.1", 0), _handler(found, target)) as server:
            found.port = server.server_address[1]
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            yield found
            server.shutdown()


@pytest.fixture(scope="module")
def homes(world: Any) -> dict[str, str]:
    """Where the CLIs of this machine's user keep their files."""
    for name, content in PLANTED.items():
        path: Path = world.folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return {name: str(world.folder / "home" / folder) for name, folder in _HOMES.items()}


_HOMES = {"CLAUDE_CONFIG_DIR": "claude", "CODEX_HOME": "codex"}


@pytest.fixture(scope="module")
def done(world: Any, witness: Witness, homes: dict[str, str]) -> Any:
    """One run of each CLI."""
    url = f"http://127.0.0.1:{witness.port}/v1"
    world.write(SPEC | {"gateway": {"upstreams": {"anthropic": url, "openai": url}}})
    return world("run", "trial.yaml", **homes)


def _files(world: Any) -> Iterator[tuple[Path, str]]:
    for path in world.out.rglob("*"):
        if path.is_file():
            yield path, path.read_text(errors="replace")


def test_the_login_reaches_the_provider_and_pays(world: Any, done: Any, witness: Witness) -> None:
    assert done.code == 0, done.err
    assert witness.keys("/messages") == {f"Bearer {TOKEN}"}
    assert witness.keys("/responses") == {f"Bearer {KEY}"}
    for name, record in world.records().items():
        assert record["outcome"] == "passed", (name, record["reason"])
        assert record["metered"]["cost_usd"] == pytest.approx((3000 * 10 + 110 * 100) / 1e6)
        assert record["metered"]["imputed"] is True
    files = world.out.rglob("calls.jsonl")
    calls = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert {call["imputed"] for call in calls if call["outcome"] == "ok"} == {True}


def test_no_login_stands_in_any_result(world: Any, done: Any) -> None:
    """The agents printed their environment: what they print is masked."""
    texts = dict(_files(world))
    assert any("HOME=/home/agent" in text for text in texts.values()), "the agents did print it"
    for secret in (TOKEN, KEY, REFRESH):
        assert not [path for path, text in texts.items() if secret in text]
        assert secret not in done.out + done.err


def test_nothing_else_of_the_users_reaches_agent_or_provider(world: Any, done: Any, witness: Witness) -> None:
    """Instructions, settings, hooks and skills stay; so does the refresh token, which never expires."""
    assert done.code == 0
    assert not [path for path, _, body in witness.seen if PERSONAL in body or REFRESH in body]
    assert not [path for path, text in _files(world) if PERSONAL in text]


def test_the_report_says_whose_money_it_is(world: Any, done: Any) -> None:
    assert done.code == 0
    report = world("report", str(world.out))
    assert "own login" in report.out
    assert "list price" in report.out


@pytest.mark.parametrize(
    ("changes", "environ", "sentence"),
    [
        ({}, {"CODEX_HOME": "/nonexistent"}, "there is no login: /nonexistent/auth.json does not exist"),
        ({"network": "open"}, {}, "beside the meter while network is open"),
        (
            {"gateway": {"upstreams": {"anthropic": "https://elsewhere.example/v1"}}},
            {},
            "would go to https://elsewhere.example/v1, which is not its provider",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_started(
    world: Any, witness: Witness, homes: dict[str, str], changes: Any, environ: Any, sentence: str
) -> None:
    before = len(witness.seen)
    world.write(SPEC | changes, "refused.yaml")
    refused = world("run", "refused.yaml", "--out", "refused", **homes | environ)

    assert refused.code == 69
    assert sentence in refused.err
    assert "PLANTED" not in refused.err
    assert not (world.folder / "refused").exists()
    assert len(witness.seen) == before


def test_a_subscription_of_codex_is_refused(world: Any, homes: dict[str, str]) -> None:
    home = world.folder / "subscribed"
    home.mkdir()
    (home / "auth.json").write_text(json.dumps({"tokens": {"access_token": "PLANTED"}}))
    world.write(SPEC, "subscribed.yaml")
    refused = world("run", "subscribed.yaml", **homes | {"CODEX_HOME": str(home)})

    assert refused.code == 69
    assert "is a ChatGPT subscription" in refused.err
    assert "PLANTED" not in refused.err
