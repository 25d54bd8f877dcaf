"""Runs in the container as the agent: says every key that stands in leak.txt in every way that it can.

It asks the model, with a key as the model's name, prints what the provider says, prints the keys in several
forms, and, where it is to look like mini, puts them into its trajectory.
"""

import base64
import http.client
import json
import os
import sys
import urllib.parse
from pathlib import Path
from typing import TextIO

KEYS = Path("leak.txt").read_text().split("\n")[:-1]


def ask(model: str) -> str:
    """What the provider answers, or how it refuses."""
    body = {"model": model, "max_tokens": 10, "messages": [{"role": "user", "content": " ".join(KEYS)}]}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"]).netloc)
    connection.request("POST", "/v1/messages", json.dumps(body).encode(), headers)
    answer = connection.getresponse()
    return f"{answer.headers} {answer.read().decode()}"


def say(*texts: object, to: TextIO = sys.stdout) -> None:
    """Print."""
    to.write(" ".join(map(str, texts)) + "\n")


def trajectory() -> None:
    """As mini-swe-agent leaves it."""
    actions = [{"command": f"curl -H 'key: {key}'"} for key in KEYS] + [{"command": "x " * 32_760 + KEYS[0]}]
    messages = [
        {
            "role": "assistant",
            "content": KEYS[1],
            "extra": {"actions": actions, "response": {"model": KEYS[2]}},
        },
        {
            "role": "exit",
            "content": f"RateLimitError: {' '.join(KEYS)}",
            "extra": {"exit_status": "RateLimitError"},
        },
    ]
    folder = Path.home() / ".config/mini-swe-agent"
    folder.mkdir(parents=True, exist_ok=True)
    data = {"trajectory_format": "1", "info": {"exit_status": "RateLimitError"}, "messages": messages}
    (folder / "last_mini_run.traj.json").write_text(json.dumps(data))


if "trajectory" in sys.argv:
    trajectory()
    sys.exit(1)
for key in KEYS:
    say(ask(key), ask("plain"))
    say(json.dumps([key]), urllib.parse.quote(key, safe=""), key.encode().hex())
    say(base64.b64encode(f"user:{key}".encode()).decode())
    say(key, to=sys.stderr)
say("\n".join(KEYS), os.environ)
if os.access(".", os.W_OK):
    Path("changed.txt").write_text(KEYS[0])
    Path(f"{KEYS[0]}.txt").write_text("a name")
say("VERIFICATION:", json.dumps({"result": "passed", "missing": KEYS}))
