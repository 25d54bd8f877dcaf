"""Floods of the way to the meter: it survives them, and the next run is unharmed."""

import time
from typing import Any

import pytest

from tiltyard_runner.job import Key
from tiltyard_specs.outcomes import Outcome

pytestmark = [pytest.mark.engine, pytest.mark.slow]

FLOOD = """
import contextlib, socket, struct, time
ADDRESS = ("127.0.0.1", 8484)
held = []
def more(count, first, *, rest=b"", times=0, reset=False):
    for _ in range(count):
        s = socket.socket()
        s.setblocking(False)
        with contextlib.suppress(OSError):
            s.connect(ADDRESS)
        held.append((s, first, rest, times, reset))
def push(seconds):
    began = time.monotonic()
    pending = {n: [first, times] for n, (_, first, _, times, _) in enumerate(held)}
    while pending and time.monotonic() - began < seconds:
        for n, (data, times) in list(pending.items()):
            s, _, rest, _, reset = held[n]
            try:
                sent = s.send(data) if data else 0
            except BlockingIOError:
                continue
            except OSError:
                del pending[n]
                continue
            data = data[sent:]
            if not data and times:
                data, times = rest, times - 1
            if data:
                pending[n] = [data, times]
                continue
            del pending[n]
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
BODY = b"POST /v1/messages HTTP/1.1\\r\\nHost: g\\r\\nContent-Length: 900000000\\r\\n\\r\\n"
KINDS
push(3)
print("flooded", len(held))
"""
KINDS = {
    "connections that say nothing": "more(1500, b'')",
    "requests that never end": "more(600, b'GET / HTTP/1.1\\r\\nX-A: ', rest=b'a', times=5)",
    "endless headers": "more(300, b'GET / HTTP/1.1\\r\\n', rest=b'A: ' + b'a' * 6000 + b'\\r\\n', times=900)",
    "endless bodies": "more(300, BODY, rest=bytes(1 << 16), times=2000)",
    "answers that nobody reads": "more(300, b'GET /v1/models HTTP/1.1\\r\\nHost: g\\r\\n\\r\\n' * 5000)",
    "no protocol at all": "more(300, bytes(range(256)) * 4000)",
    "connections that are reset": "more(3000, b'GET / HTTP/1.1\\r\\n', reset=True)",
    "proxies to anywhere": "more(300, b'CONNECT 127.0.0.1:22 HTTP/1.1\\r\\n\\r\\n' * 100)",
}
ASK = """
import socket
with socket.create_connection(("127.0.0.1", 8484), timeout=20) as s:
    s.sendall(b"HEAD / HTTP/1.1\\r\\nHost: g\\r\\nConnection: close\\r\\n\\r\\n")
    print(s.recv(12).decode())
"""


def test_floods_harm_neither_the_way_to_the_meter_nor_the_next_run(bench: Any, new_place: Any) -> None:
    with new_place() as place:
        forwarder = place.slot.network()
        for name, kind in KINDS.items():
            result = bench.python(
                FLOOD.replace("KINDS", kind), edits=False, place=place, key=Key(expect=("flooded",))
            )
            assert result.record.outcome is Outcome.PASSED, (
                name,
                result.record.reason,
                result.text("raw.err"),
            )
            began = time.monotonic()
            after = bench.python(ASK, edits=False, place=place)
            assert after.record.answer is not None, (name, after.record.reason, after.text("raw.err"))
            assert after.record.answer.startswith("HTTP/1.1"), name
            assert time.monotonic() - began < 30
        assert place.slot.network() == forwarder, "it never died"
