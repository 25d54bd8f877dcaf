"""The scripted server's Chat Completions and Gemini, alone and read by the gateway's own wires."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tiltyard_gateway.scripted import ScriptedServer, parse_script
from tiltyard_gateway.sse import SseParser
from tiltyard_gateway.wires import Reading
from tiltyard_gateway.wires.gemini import WIRE as GEMINI
from tiltyard_gateway.wires.openai_chat import WIRE as CHAT
from tiltyard_specs.usage import Usage

SCRIPT = """
conversations:
  - when: {prompt: 'run it', model: 'm.*'}
    turns:
      - shell: "echo hi; ls"
        usage: {input: 100, cache_read: 300, cache_write: 0, output: 40, reasoning: 10}
      - {text: "Looking further into it.", tool: {name: find, input: {q: x}}, usage: {input: 5, output: 6}}
      - {text: "The final answer is 42, which takes more than one piece.", usage: {input: 7, output: 8}}
  - when: {prompt: 'limit'}
    turns: [{text: never, errors: [429]}]
"""
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
GEMINI_PATH = "/v1beta/models/m1:"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(parse_script(SCRIPT, name="script.yaml")) as running:
        yield running


def ask(server: ScriptedServer, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=20)
    try:
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def chat(prompt: str, *history: dict[str, Any], **more: Any) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}]
    messages = [{"role": "system", "content": "be good"}, {"role": "user", "content": prompt}, *history]
    return {"model": "m1", "messages": messages, "tools": tools, **more}


def gemini(prompt: str, *history: dict[str, Any]) -> dict[str, Any]:
    functions = [{"name": "run_shell_command", "parametersJsonSchema": PARAMETERS}]
    contents = [{"role": "user", "parts": [{"text": "context"}, {"text": prompt}]}, *history]
    return {"contents": contents, "tools": [{"functionDeclarations": functions}]}


def read(reading: Reading, stream: bytes) -> Reading:
    for event in SseParser().feed(stream):
        reading.on_event(event.name, event.data)
    return reading


def test_chat_plays_turn_by_turn(server: ScriptedServer) -> None:
    first = json.loads(ask(server, "/v1/chat/completions", chat("run it"))[1])
    message = first["choices"][0]["message"]
    call = message["tool_calls"][0]
    assert first["choices"][0]["finish_reason"] == "tool_calls"
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "bash",
        {"command": "echo hi; ls"},
    )
    assert first["usage"]["prompt_tokens"] == 400
    result = {"role": "tool", "tool_call_id": call["id"], "content": "hi"}
    second = json.loads(ask(server, "/chat/completions", chat("run it", message, result))[1])

    said = second["choices"][0]["message"]
    assert said["content"] == "Looking further into it."
    assert said["tool_calls"][0]["function"]["name"] == "find"
    assert said["tool_calls"][0]["id"] != call["id"]


def test_chat_streams_the_same_as_it_says_whole(server: ScriptedServer) -> None:
    turn = {"role": "assistant", "content": "x"}
    whole = json.loads(ask(server, "/v1/chat/completions", chat("run it", turn))[1])
    options = {"stream": True, "stream_options": {"include_usage": True}}
    _, stream = ask(server, "/v1/chat/completions", chat("run it", turn, **options))
    chunks = [json.loads(event.data) for event in SseParser().feed(stream) if event.data != b"[DONE]"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    said = whole["choices"][0]["message"]

    assert "".join(delta.get("content") or "" for delta in deltas) == said["content"]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    assert arguments == said["tool_calls"][0]["function"]["arguments"]
    assert (calls[0]["id"], calls[0]["function"]["name"]) == (said["tool_calls"][0]["id"], "find")
    assert stream.endswith(b"data: [DONE]\n\n")
    reading = read(CHAT.reading(), stream)
    assert (reading.usage, reading.finished) == (
        Usage(input=5, cache_read=0, cache_write=0, output=6, reasoning=0),
        True,
    )


def test_chat_streams_usage_only_when_asked(server: ScriptedServer) -> None:
    stream = ask(server, "/v1/chat/completions", chat("run it", stream=True))[1]

    assert b'"usage"' not in stream


def test_gemini_plays_turn_by_turn(server: ScriptedServer) -> None:
    first = json.loads(ask(server, GEMINI_PATH + "generateContent", gemini("run it"))[1])
    content = first["candidates"][0]["content"]
    call = content["parts"][0]["functionCall"]
    assert call == {"name": "run_shell_command", "args": {"command": "echo hi; ls"}}
    assert first["usageMetadata"] == {
        "promptTokenCount": 400,
        "cachedContentTokenCount": 300,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 10,
        "totalTokenCount": 440,
    }
    result = {"role": "user", "parts": [{"functionResponse": {"name": call["name"], "response": {}}}]}
    second = json.loads(ask(server, "/v1/models/m1:generateContent", gemini("run it", content, result))[1])

    parts = second["candidates"][0]["content"]["parts"]
    assert parts == [
        {"text": "Looking further into it."},
        {"functionCall": {"name": "find", "args": {"q": "x"}}},
    ]


def test_gemini_streams_the_same_as_it_says_whole(server: ScriptedServer) -> None:
    turns = [{"role": role, "parts": [{"text": "x"}]} for role in ("model", "model", "user", "model", "user")]
    body = gemini("run it", *turns)
    whole = json.loads(ask(server, GEMINI_PATH + "generateContent", body)[1])
    stream = ask(server, GEMINI_PATH + "streamGenerateContent?alt=sse", body)[1]
    events = [json.loads(event.data) for event in SseParser().feed(stream)]
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]

    assert "".join(part["text"] for part in parts) == whole["candidates"][0]["content"]["parts"][0]["text"]
    assert events[-1]["usageMetadata"] == whole["usageMetadata"]
    reading = read(GEMINI.reading(), stream)
    assert (reading.usage, reading.finished, reading.model) == (
        Usage(input=7, cache_read=0, output=8, reasoning=0),
        True,
        "m1",
    )


def test_errors_speak_the_words_of_the_api(server: ScriptedServer) -> None:
    status, body = ask(server, GEMINI_PATH + "generateContent", gemini("limit"))

    assert (status, json.loads(body)["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert ask(server, "/v1/chat/completions", chat("nothing matches"))[0] == 400


def test_side_calls_stand_outside_the_conversation(server: ScriptedServer) -> None:
    titled = chat("run it", response_format={"type": "json_schema"})
    structured = gemini("run it") | {"generationConfig": {"responseMimeType": "application/json"}}

    title = json.loads(ask(server, "/v1/chat/completions", titled)[1])
    assert title["choices"][0]["message"]["content"] == "Scripted side call"
    routed = json.loads(ask(server, GEMINI_PATH + "generateContent", structured)[1])
    assert routed["candidates"][0]["content"]["parts"] == [{"text": "Scripted side call"}]


def test_gemini_counts_tokens(server: ScriptedServer) -> None:
    assert json.loads(ask(server, GEMINI_PATH + "countTokens", gemini("run it"))[1])["totalTokens"] > 10
