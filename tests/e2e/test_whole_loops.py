"""Arms that are whole loops: the same command to the byte, and what the meter makes of its calls."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LOOP = """\
import hashlib, json, os, sys, urllib.request
print("loop", hashlib.sha256(open(__file__, "rb").read() + " ".join(sys.argv).encode()).hexdigest())
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
for model in sys.argv[1:]:
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    messages = [{"role": "user", "content": "Hi"}]
    body = {"model": model, "max_tokens": 10, "system": system, "messages": messages}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    answer = json.load(urllib.request.urlopen(request))
    print(answer["model"], answer["content"][0]["text"])
"""
RESULT = json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "It is 4."})


def loop(*asked: str) -> str:
    """The command of the loop that asks these models in turn."""
    return f"cat > /tmp/loop.py <<'END'\n{LOOP}END\npython3 /tmp/loop.py {' '.join(asked)}"


def claude(*asked: str) -> dict[str, str]:
    """An agent that must be metered, whose loop speaks as claude does."""
    return {"name": "claude", "model": "m", "command": f"({loop(*asked)}\n) >&2; echo '{RESULT}'"}


SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 2, "timeout": 60},
    "limits": {"memory": "256m"},
    "agents": [{"name": "loop", "kind": "text", "command": loop("planner", "worker", "workshop")}],
    "questions": [{"id": "q", "prompt": "Ask.", "expect": ["It is 4"]}],
}


@dataclass
class Models:
    """A provider: keeps what it is asked, and with which key."""

    port: int = 0
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def url(self, name: str) -> str:
        """One of its addresses."""
        return f"http://127.0.0.1:{self.port}/{name}/v1"


def _handler(models: Models) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            models.asked.append((self.path, self.headers["x-api-key"], body))
            content = [{"type": "text", "text": "It is 4."}]
            usage = {"input_tokens": 100, "output_tokens": 10}
            answer = json.dumps({"model": body["model"], "content": content, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's naming
            pass

    return Handler


@pytest.fixture
def models() -> Iterator[Models]:
    found = Models()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(found)) as server:
        found.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield found
        server.shutdown()


def _calls(world: Any, name: str) -> dict[str, list[dict[str, Any]]]:
    """The metered calls by arm."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in (world.folder / f"{name}-results").rglob("calls.jsonl"):
        arm = path.parts[-4]
        found.setdefault(arm, []).extend(map(json.loads, path.read_text().splitlines()))
    return found


def _answers(world: Any, name: str) -> dict[str, list[str]]:
    """Lines of the answer by arm."""
    paths = (world.folder / f"{name}-results").rglob("run.json")
    records = [json.loads(path.read_text()) for path in paths]
    return {record["arm"]: record["answer"].splitlines() for record in records}


def test_one_loop_to_the_byte_with_other_models_in_each_arm(world: Any) -> None:
    """Exact names come first, then wildcards in the order of the file; what no rule names stays."""
    rules = {"work*": "wild", "workshop*": "never", "worker": "exact"}
    arms = [
        {"name": "plain"},
        {"name": "rules", "rewrite": rules},
        {"name": "all", "rewrite": {"worker": "exact", "*": "rest"}},
        {"name": "other", "command": loop("planner")},
    ]
    world.write(SPEC | {"arms": arms}, "loops.yaml")
    done = world("run", "loops.yaml", "--model-script", "script.yaml")

    assert done.code == 0, done.err
    lines, calls = _answers(world, "loops"), _calls(world, "loops")
    same = {lines[arm][0] for arm in ("plain", "rules", "all")}
    assert len(same) == 1, "the arms' loops are alike to the byte"
    assert lines["other"][0] not in same
    models = {arm: [call["model"] for call in each] for arm, each in calls.items()}
    assert models == {
        "plain": ["planner", "worker", "workshop"],
        "rules": ["planner", "exact", "wild"],
        "all": ["rest", "exact", "rest"],
        "other": ["planner"],
    }
    for arm in ("plain", "rules", "all"):
        assert [call["role"] for call in calls[arm]] == ["planner", "worker", "workshop"]
        assert [line.split()[0] for line in lines[arm][1:]] == models[arm], "as the loop itself saw them"


def test_each_arm_has_its_own_provider_and_key(world: Any, models: Models) -> None:
    arms = [
        {
            "name": name,
            "upstreams": {"anthropic": models.url(name)},
            "keys_from": {"anthropic": f"KEY_OF_{name.upper()}"},
        }
        for name in ("one", "two")
    ]
    keys = {f"KEY_OF_{name.upper()}": f"the-key-of-{name}-0123456789" for name in ("one", "two")}
    world.write(SPEC | {"arms": arms, "agents": [claude("m")]}, "keys.yaml")
    lacking = world("run", "keys.yaml", "--no-budget", KEY_OF_ONE=keys["KEY_OF_ONE"])
    done = world("run", "keys.yaml", "--no-budget", **keys)

    assert lacking.code == 69
    assert "KEY_OF_TWO" in lacking.err
    assert done.code == 0, done.err
    assert {(path, key) for path, key, _ in models.asked} == {
        (f"/{name}/v1/messages", f"the-key-of-{name}-0123456789") for name in ("one", "two")
    }
    assert len(models.asked) == 2
    results = [path for path in (world.folder / "keys-results").rglob("*") if path.is_file()]
    assert not [path for path in results if "the-key-of-" in path.read_text(errors="replace")]


def test_no_run_is_served_from_what_another_left_in_a_cache(world: Any, models: Models) -> None:
    """The nonce is another one in each run and the same in all its calls; no mark of caching is left."""
    gateway = {
        "nonce": True,
        "prompt_cache": "off",
        "upstreams": {"anthropic": models.url("a")},
        "keys_from": {"anthropic": "SOME_KEY"},
    }
    arms = [{"name": "plain"}, {"name": "same"}]
    spec = SPEC | {"arms": arms, "gateway": gateway, "defaults": {"reps": 2, "timeout": 60}}
    world.write(spec, "cache.yaml")
    done = world("run", "cache.yaml", SOME_KEY="some-key-0123456789")

    assert done.code == 0, done.err
    nonces = [body["system"][0]["text"] for _, _, body in models.asked]
    assert len(nonces) == 4 * 3
    assert sorted(map(nonces.count, set(nonces))) == [3] * 4
    assert [body["system"][1] for _, _, body in models.asked] == [{"type": "text", "text": "Be brief."}] * 12
    receipt = json.loads((world.folder / "cache-results" / "trial.json").read_text())
    assert (receipt["spec"]["gateway"]["nonce"], receipt["spec"]["gateway"]["prompt_cache"]) == (True, "off")


def test_a_command_whose_provider_has_no_key_is_not_counted(world: Any) -> None:
    """Which key a model of its own name needs is known when it is called; its answer says nothing then."""
    spec = SPEC | {"arms": [{"name": "plain"}], "retries": 0}
    command = f"{loop('house-model')}; echo It is 4"
    agent = {"name": "loop", "kind": "text", "model": "house-model", "command": command}
    world.write(spec | {"agents": [agent]}, "keyless.yaml")
    done = world("run", "keyless.yaml", ANTHROPIC_API_KEY="")

    assert done.code == 3
    assert "the key for the provider anthropic is missing: set ANTHROPIC_API_KEY" in done.out
    record = json.loads(next((world.folder / "keyless-results").rglob("run.json")).read_text())
    assert (record["outcome"], record["metered"]["cost_usd"]) == ("infra", 0)


def test_a_run_without_a_metered_call_is_flagged_and_never_compared(world: Any) -> None:
    arms = [
        {"name": "calls"},
        {"name": "silent", "command": f"echo '{RESULT}'"},
    ]
    spec = SPEC | {"agents": [claude("m")], "arms": arms, "retries": 0}
    world.write(spec | {"defaults": SPEC["defaults"] | {"reps": 2}}, "silent.yaml")
    done = world("run", "silent.yaml", "--model-script", "script.yaml")
    report = world("report", "silent-results").out

    assert done.code == 3, "an unhealthy trial"
    assert "2 of 4 runs lost (2 unmetered)" in done.out
    records = [json.loads(path.read_text()) for path in (world.folder / "silent-results").rglob("run.json")]
    outcomes = {(record["arm"], record["outcome"], record["metered"]["cost_usd"]) for record in records}
    assert outcomes == {("calls", "passed", None), ("silent", "unmetered", 0)}
    assert "2 runs made no metered call though the agent must be metered; excluded." in report
    assert re.search(r"\| silent +\| +0 \|.*no verdict: no tokens to compare", report)
