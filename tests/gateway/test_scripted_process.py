"""The scripted server as a process of its own: the script comes over stdin, and nothing stays behind."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tiltyard_gateway.scripted import Conversation, Script, ScriptedServer, Turn

pytestmark = pytest.mark.slow  # many processes

DRIVER = """
import sys, time
from pathlib import Path
from tiltyard_gateway.scripted import ScriptedServer
with ScriptedServer(Path(sys.argv[1])) as server:
    print(server.base_url, server._process.pid, flush=True)
    time.sleep(60)
"""


def answered(base_url: str) -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=20)
    connection.request("POST", "/v1/messages", body)
    answer = json.load(connection.getresponse())
    connection.close()
    return str(answer["content"][0]["text"])


def test_a_driver_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """No file and no process: the server ends with its stdin."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    script = tmp_path / "script.yaml"
    script.write_text("conversations: [{turns: [{text: hello}]}]")
    command = [sys.executable, "-c", DRIVER, str(script)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as driver:
        assert driver.stdout is not None
        base_url, pid = driver.stdout.readline().split()
        assert answered(base_url) == "hello"
        assert list(temporary.iterdir()) == []
        driver.send_signal(signal.SIGKILL)

    deadline = time.monotonic() + 20
    while is_alive(int(pid)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []


def is_alive(pid: int) -> bool:
    """Neither gone nor waiting for whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_any_text_of_any_size_arrives() -> None:
    """More than a pipe holds, and line ends and characters that JSON must escape."""
    text = 'a\nb "c" \\ \u2028 é 😀 ' * 20_000
    script = Script(conversations=(Conversation(turns=(Turn(text=text, delay=0.1),)),))
    with ScriptedServer(script) as server:
        assert answered(server.base_url) == text


def test_half_a_line_on_stdin_starts_nothing() -> None:
    command = [sys.executable, "-m", "tiltyard_gateway.scripted", "-"]
    done = subprocess.run(command, input=b'{"conv', capture_output=True, check=False)

    assert done.returncode == 65
    assert done.stderr.startswith(b"stdin: is not one line of JSON")
