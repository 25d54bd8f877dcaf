"""What a spec asks of the meter holds in a run: limits, budget and allowed hosts."""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.engine

ASK = """\
import json, os, sys, urllib.error, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
for number in range(int(sys.argv[1])):
    tools = [{"name": "t", "description": "d", "input_schema": {"type": "object"}}]
    messages = [{"role": "user", "content": "Hi"}]
    body = {"model": "worker", "max_tokens": 10, "tools": tools, "messages": messages}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
    except urllib.error.HTTPError as error:
        print("refused", error.code)
"""
CONNECT = """\
import os, socket, sys
proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
for target in sys.argv[1:]:
    with socket.create_connection((proxy[0], int(proxy[1])), timeout=10) as tunnel:
        tunnel.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode())
        answer = b""
        while not answer.endswith(b"from the host") and b" 403 " not in answer:
            answer += tunnel.recv(4096)
        head, _, greeting = answer.decode().partition("\\r\\n\\r\\n")
        print(target.split(":")[0], head.split()[1], greeting if " 200 " in head else "")
"""
SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 1, "timeout": 60},
    "limits": {"memory": "256m"},
    "prices": {"worker": {"input": 1000, "output": 1000, "max_output": 10}},
    "arms": [{"name": "plain", "overlay": "files"}],
    "questions": [{"id": "q", "prompt": "Ask.", "expect": ["It is 4"]}],
}


@pytest.fixture(scope="module")
def ready(world: Any) -> Any:
    """The world with the two programs in an overlay."""
    files = world.folder / "files"
    files.mkdir()
    (files / "ask.py").write_text(ASK)
    (files / "connect.py").write_text(CONNECT)
    return world


def _run(world: Any, times: int, name: str, **changes: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A trial of one run that asks the model some times; the command, and its metered calls."""
    agent = {"name": "asker", "kind": "text", "command": f"python3 ask.py {times}"}
    world.write(SPEC | {"agents": [agent | changes.pop("agent", {})]} | changes, f"{name}.yaml")
    done = world("run", f"{name}.yaml", "--model-script", "script.yaml")
    lines = (world.folder / f"{name}-results").rglob("calls.jsonl")
    return done, [json.loads(line) for path in lines for line in path.read_text().splitlines()]


def _record(world: Any, name: str, file: str = "run.json") -> dict[str, Any]:
    record: dict[str, Any] = json.loads(next((world.folder / f"{name}-results").rglob(file)).read_text())
    return record


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [({"turns": 2}, 2), ({"tokens": 150}, 2), ({"usd": 0.2}, 2)],
    ids=["turns", "tokens", "usd"],
)
def test_a_runs_own_limit_ends_it(ready: Any, limit: dict[str, Any], allowed: int) -> None:
    """Each call costs 110 tokens and 0.11 USD; the one that reaches the limit is the last."""
    name = f"limit-{next(iter(limit))}"
    done, calls = _run(ready, 5, name, limits={"memory": "256m", **limit})

    assert done.code == 0, done.err
    record = _record(ready, name)
    assert record["outcome"] == "limit"
    assert record["reason"] == f"the run's own limit of {next(iter(limit))} was reached"
    assert [call["outcome"] for call in calls] == ["ok"] * allowed + ["refused"] * (5 - allowed)
    assert record["metered"]["cost_usd"] == pytest.approx(0.11 * allowed)


def test_the_budget_is_never_passed(ready: Any) -> None:
    """It is kept call by call: what could pass it is refused, though money is left."""
    done, calls = _run(ready, 5, "budget", budget={"usd": 1.5})

    assert done.code == 3
    assert "of the trial's budget of $1.50 is left. To go on" in done.out
    assert "raise `budget` in budget.yaml" in done.out
    attempt = _record(ready, "budget", "attempt.json")
    assert attempt["outcome"] == "cancelled"
    assert attempt["reason"].startswith(
        "the trial's budget does not cover the next call: it may take up to $"
    )
    spent = sum(call["cost_usd"] or 0 for call in calls)
    assert 0 < spent <= 1.5
    assert attempt["metered"]["charged_usd"] == pytest.approx(spent)
    assert calls[-1]["outcome"] == "refused"


@pytest.fixture
def listener() -> Iterator[int]:
    """Something on this machine that greets whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello from the host")

        threading.Thread(target=greet, daemon=True).start()
        yield server.getsockname()[1]


def test_only_allowed_hosts_are_reached_and_each_connection_is_recorded(ready: Any, listener: int) -> None:
    command = f"python3 connect.py localhost:{listener} 198.51.100.7:443"
    agent = {"command": command}
    question = [
        {"id": "q", "prompt": "Ask.", "expect": ["localhost 200 hello from the host", "198.51.100.7 403"]}
    ]
    done, calls = _run(
        ready, 0, "allow", agent=agent, network={"allow": [f"localhost:{listener}"]}, questions=question
    )

    assert done.code == 0, done.err
    assert _record(ready, "allow")["outcome"] == "passed", _record(ready, "allow")["answer"]
    assert [(call["method"], call["outcome"]) for call in calls] == [
        ("CONNECT", "free"),
        ("CONNECT", "refused"),
    ]
    assert calls[0]["received_bytes"] >= len("hello from the host")


def test_a_paid_trial_without_a_budget_needs_a_word(ready: Any) -> None:
    agents = [{"name": "claude", "model": "m"}]
    ready.write(SPEC | {"agents": agents}, "unbounded.yaml")

    refused = ready("run", "unbounded.yaml", ANTHROPIC_API_KEY="k")

    assert refused.code == 64
    assert refused.err.splitlines()[-1] == (
        "tiltyard: no budget bounds what claude may spend in the whole trial: add a budget to "
        "unbounded.yaml, such as budget: {usd: 30}, or say --no-budget"
    )

    ready.write(SPEC | {"agents": agents, "budget": {"tokens": 1000}}, "bounded.yaml")
    contradicted = ready("run", "bounded.yaml", "--no-budget", ANTHROPIC_API_KEY="k")

    assert contradicted.code == 64
    assert contradicted.err.splitlines()[-1] == (
        "tiltyard: --no-budget contradicts the budget in bounded.yaml, which would be kept: "
        "leave one of them out"
    )
