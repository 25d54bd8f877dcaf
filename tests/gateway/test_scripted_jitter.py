"""Jitter: scripted usage spreads between runs, and a run repeated is the same run."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tiltyard_gateway.scripted import Script, ScriptedServer, parse_script
from tiltyard_gateway.scripted.dialect import Request
from tiltyard_gateway.scripted.player import Play, Player
from tiltyard_specs.usage import Usage


def tokens_of(server: ScriptedServer, run: str) -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=20)
    try:
        connection.request("POST", "/v1/messages", json.dumps(body), {"x-tiltyard-run": run})
        return json.loads(connection.getresponse().read())["usage"]["input_tokens"]
    finally:
        connection.close()


def test_jitter_spreads_usage_between_runs_and_not_within_one() -> None:
    """The factor belongs to run and turn; all buckets of a turn share it."""
    usage = {"input": 100_000, "cache_read": 200_000, "output": 50_000, "reasoning": 10_000}
    turns = [{"text": "a", "usage": usage}, {"text": "b", "usage": usage}]
    script = Script.model_validate({"jitter": 0.15, "conversations": [{"turns": turns}]})
    player = Player(script)

    def counts(run: str, turn: int = 0) -> Usage:
        asked = Request(
            "m", stream=False, prompt="", opening="", length=8, turn=turn, tools=(), structured=False
        )
        play = player.play(asked, run)
        assert isinstance(play, Play)
        assert play.reply.usage is not None
        return play.reply.usage

    drawn = [counts(f"run-{number}/1") for number in range(300)]
    factors = [found.input / 100_000 for found in drawn]
    assert counts("run-7/1") == drawn[7]
    assert counts("run-7/1", turn=1) != drawn[7]
    assert counts("run-7/2") != drawn[7]
    assert all(0.85 <= factor <= 1.15 for factor in factors)
    assert min(factors) < 0.87
    assert max(factors) > 1.13
    assert abs(sum(factors) / 300 - 1) < 0.02
    assert [found.cache_read for found in drawn] == pytest.approx([200_000 * f for f in factors], abs=2)
    assert all(found.cache_write is None for found in drawn)


@pytest.mark.slow
def test_jitter_follows_the_header_of_the_run() -> None:
    script = parse_script(
        "{jitter: 0.5, conversations: [{turns: [{text: a, usage: {input: 9000, output: 9000}}]}]}", name="j"
    )
    with ScriptedServer(script) as server:
        tokens = [tokens_of(server, run) for run in ("r1/1", "r1/1", "r2/1")]

    assert tokens[0] == tokens[1] != tokens[2]
