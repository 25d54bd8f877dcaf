"""The scripted server speaks both APIs, streamed and not, and keeps no state but for its errors."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tiltyard_gateway.scripted import ScriptedServer, parse_script

pytestmark = pytest.mark.slow  # many processes

SCRIPT = """
conversations:
  - when: {prompt: 'side by side'}
    turns: [{text: other}]
  - when: {prompt: 'run it', model: 'm.*'}
    turns:
      - shell: "echo hi; ls"
        usage: {input: 100, cache_read: 300, cache_write: 200, cache_write_1h: 50, output: 40, reasoning: 10}
      - {text: "Looking further into it.", tool: {name: mcp__acme__find, input: {q: x}}}
      - {text: "The final answer is 42, which takes more than one piece.", errors: [429, 500]}
  - when: {prompt: 'cut me'}
    turns: [{text: "half of this never comes through to you", cut: true}]
  - when: {prompt: 'hang'}
    turns: [{text: never, hang: true}]
  - when: {prompt: 'free of usage'}
    turns: [{text: hm, no_usage: true, headers: {x-note: seen}, delay: 300ms}]
"""
BASH = {"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
EXEC = {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}}
NAMESPACE = {"type": "namespace", "name": "mcp__acme", "tools": [{"type": "function", "name": "find"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(parse_script(SCRIPT, name="script.yaml")) as running:
        yield running


def ask(
    server: ScriptedServer, path: str, body: dict[str, Any], **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


def events(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(block.split("data: ", 1)[1]) for block in data.decode().split("\n\n") if block]


def anthropic(prompt: str, *history: dict[str, Any], stream: bool = False, **more: Any) -> dict[str, Any]:
    reminder = {"type": "text", "text": "<system-reminder>be good</system-reminder>"}
    first = {"role": "user", "content": [reminder, {"type": "text", "text": prompt}]}
    return {"model": "m1", "stream": stream, "messages": [first, *history], "tools": [BASH], **more}


def responses(prompt: str, *history: dict[str, Any], stream: bool = False, **more: Any) -> dict[str, Any]:
    first = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}
    return {"model": "m1", "stream": stream, "input": [first, *history], "tools": [EXEC, NAMESPACE], **more}


def test_anthropic_plays_turn_by_turn(server: ScriptedServer) -> None:
    _, body, _ = ask(server, "/v1/messages?beta=true", anthropic("run it"))
    first = json.loads(body)
    assert first["content"][0]["name"] == "Bash"
    assert first["content"][0]["input"] == {"command": "echo hi; ls"}
    assert first["stop_reason"] == "tool_use"
    assert first["usage"]["cache_creation"] == {
        "ephemeral_5m_input_tokens": 150,
        "ephemeral_1h_input_tokens": 50,
    }
    result = {"type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "hi"}
    history = [{"role": "assistant", "content": first["content"]}, {"role": "user", "content": [result]}]
    _, body, _ = ask(server, "/v1/messages", anthropic("run it", *history))
    second = json.loads(body)

    assert [block["type"] for block in second["content"]] == ["text", "tool_use"]
    assert second["content"][1]["name"] == "mcp__acme__find"
    assert second["content"][1]["id"] != first["content"][0]["id"]


def test_anthropic_streams_the_same_as_it_says_whole(server: ScriptedServer) -> None:
    history = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    whole = json.loads(ask(server, "/v1/messages", anthropic("run it", *history))[1])
    stream = events(ask(server, "/v1/messages", anthropic("run it", *history, stream=True))[1])
    kinds = [event["type"] for event in stream]

    assert (kinds[0], kinds[1], kinds[-2], kinds[-1]) == (
        "message_start",
        "ping",
        "message_delta",
        "message_stop",
    )
    text = "".join(
        event["delta"].get("text", "") for event in stream if event["type"] == "content_block_delta"
    )
    arguments = "".join(
        e["delta"].get("partial_json", "") for e in stream if e["type"] == "content_block_delta"
    )
    assert text == whole["content"][0]["text"]
    assert json.loads(arguments) == whole["content"][1]["input"]
    assert stream[-2]["usage"] == whole["usage"]
    assert stream[0]["message"]["usage"]["output_tokens"] == 1


def test_responses_play_turn_by_turn(server: ScriptedServer) -> None:
    first = json.loads(ask(server, "/v1/responses", responses("run it"))[1])
    call = first["output"][0]
    assert (call["type"], call["name"], json.loads(call["arguments"])) == (
        "function_call",
        "exec_command",
        {"cmd": "echo hi; ls"},
    )
    assert first["usage"]["input_tokens"] == 600
    assert first["usage"]["output_tokens_details"] == {"reasoning_tokens": 10}
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "hi"}
    second = json.loads(ask(server, "/responses", responses("run it", call, output))[1])

    assert [item["type"] for item in second["output"]] == ["message", "function_call"]
    assert (second["output"][1]["namespace"], second["output"][1]["name"]) == ("mcp__acme", "find")


def test_responses_stream_the_same_as_they_say_whole(server: ScriptedServer) -> None:
    history = [{"type": "function_call", "name": "x"}, {"type": "function_call_output", "output": "y"}]
    whole = json.loads(ask(server, "/v1/responses", responses("run it", *history))[1])
    stream = events(ask(server, "/v1/responses", responses("run it", *history, stream=True))[1])

    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert stream[0]["type"] == "response.created"
    assert stream[-1]["type"] == "response.completed"
    assert stream[-1]["response"] == whole
    done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert done == whole["output"]
    text = "".join(event["delta"] for event in stream if event["type"] == "response.output_text.delta")
    assert text == whole["output"][0]["content"][0]["text"]


def test_items_of_one_answer_are_one_turn(server: ScriptedServer) -> None:
    """Reasoning, text and a call of one response stand in a row in the next request."""
    said = [
        {"type": "reasoning"},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "function_call"},
    ]
    result = {"type": "function_call_output", "output": "y"}
    third = ask(
        server,
        "/v1/responses",
        responses("run it", *said, result, *said, result),
        **{"x-tiltyard-run": "t/1"},
    )

    assert third[0] == 429, "the third turn begins with its errors"


def test_errors_come_first_and_once_per_run(server: ScriptedServer) -> None:
    turn = {"role": "assistant", "content": "a"}
    body = anthropic("run it", turn, {"role": "user", "content": "b"}, turn, {"role": "user", "content": "c"})
    statuses = [ask(server, "/v1/messages", body, **{"x-tiltyard-run": "e/1"})[0] for _ in range(4)]

    assert statuses == [429, 500, 200, 200]
    status, error, _ = ask(server, "/v1/messages", body, **{"x-tiltyard-run": "e/2"})
    assert status == 429
    assert json.loads(error)["error"]["type"] == "rate_limit_error"


def test_the_last_text_is_repeated_after_the_last_turn(server: ScriptedServer) -> None:
    history = [{"role": role, "content": "x"} for _ in range(5) for role in ("assistant", "user")]

    message = json.loads(ask(server, "/v1/messages", anthropic("run it", *history))[1])
    assert message["content"][0]["text"].startswith("The final answer is 42")


def test_side_calls_stand_outside_the_conversation(server: ScriptedServer) -> None:
    title = anthropic("run it", output_config={"format": {"type": "json_schema"}})
    toolless = anthropic("run it") | {"tools": []}

    for body in (title, toolless):
        status, answer, _ = ask(server, "/v1/messages", body)
        assert status == 200
        assert json.loads(answer)["content"] == [{"type": "text", "text": "Scripted side call"}]


def test_a_request_that_nothing_matches_is_told_so(server: ScriptedServer) -> None:
    for path, body in (
        ("/v1/messages", anthropic("quite unknown")),
        ("/v1/responses", responses("quite unknown")),
    ):
        status, answer, _ = ask(server, path, body)

        assert status == 400
        message = json.loads(answer)["error"]["message"]
        assert "no conversation of the model script matches" in message
        assert "quite unknown" in message


def test_a_shell_turn_without_a_shell_is_told_so(server: ScriptedServer) -> None:
    status, answer, _ = ask(server, "/v1/messages", anthropic("run it") | {"tools": [{"name": "Read"}]})

    assert status == 400
    assert "offered tools: Read" in json.loads(answer)["error"]["message"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (
            {"name": "bash", "input_schema": {"properties": {"command": {}}, "required": ["description"]}},
            {"command": "echo hi; ls", "description": "Run a command"},
        ),
        (
            {"name": "shell", "input_schema": {"properties": {"command": {"type": "array"}}}},
            {"command": ["bash", "-lc", "echo hi; ls"]},
        ),
        (
            {"name": "run_shell_command", "input_schema": {"properties": {"command": {}}}},
            {"command": "echo hi; ls"},
        ),
    ],
)
def test_shell_commands_fit_the_tool_that_is_offered(
    server: ScriptedServer, tool: dict[str, Any], arguments: dict[str, Any]
) -> None:
    message = json.loads(ask(server, "/v1/messages", anthropic("run it") | {"tools": [tool]})[1])

    assert message["content"][0]["name"] == tool["name"]
    assert message["content"][0]["input"] == arguments


@pytest.mark.parametrize("mode", ["stream", "whole"])
def test_a_cut_answer_breaks_off_half_way(server: ScriptedServer, mode: str) -> None:
    stream = mode == "stream"
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(server, "/v1/messages", anthropic("cut me", stream=stream))

    assert stream == (b"message_start" in caught.value.partial)
    assert b"message_stop" not in caught.value.partial


def test_a_hanging_answer_begins_and_stops(server: ScriptedServer) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=0.5)
    connection.request("POST", "/v1/messages", json.dumps(anthropic("hang", stream=True)))
    response = connection.getresponse()

    assert b"message_start" in response.read1(65536)
    with pytest.raises(TimeoutError):
        response.read1(65536)
    connection.close()


def test_delay_headers_and_missing_usage(server: ScriptedServer) -> None:
    started = time.monotonic()
    _, body, headers = ask(server, "/v1/messages", anthropic("free of usage"))

    assert time.monotonic() - started >= 0.3
    assert headers["x-note"] == "seen"
    assert "usage" not in json.loads(body)
    assert json.loads(ask(server, "/v1/responses", responses("free of usage"))[1])["usage"] is None


def test_default_usage_is_the_same_for_the_same_texts(server: ScriptedServer) -> None:
    bodies = [json.loads(ask(server, "/v1/messages", anthropic("side by side"))[1]) for _ in range(2)]

    assert bodies[0] == bodies[1]
    assert bodies[0]["usage"]["input_tokens"] > 10
    assert bodies[0]["usage"]["output_tokens"] == 2


def test_models_and_token_counts(server: ScriptedServer) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=20)
    connection.request("GET", "/v1/models")
    listed = json.loads(connection.getresponse().read())
    connection.close()

    assert [model["id"] for model in listed["data"]] == ["scripted-model"]
    assert json.loads(ask(server, "/v1/messages/count_tokens", anthropic("run it"))[1])["input_tokens"] > 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(SCRIPT)
    command = [sys.executable, "-m", "tiltyard_gateway.scripted", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:")
        os.kill(process.pid, number)

        assert process.wait(10) == 0


def test_the_command_tells_mistakes_and_exits_65(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text("conversations: []\n")
    done = subprocess.run(
        [sys.executable, "-m", "tiltyard_gateway.scripted", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 65
    assert done.stderr == f"{file}:1: conversations: must not be empty\n"


def test_the_server_ends_with_its_parent(server: ScriptedServer) -> None:
    with ScriptedServer(parse_script(SCRIPT, name="x")) as other:
        assert other.alive()
        assert other.base_url != server.base_url

    assert not other.alive()
