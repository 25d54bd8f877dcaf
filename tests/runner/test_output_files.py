"""Output on its way to disk is bounded and never lost silently."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiltyard_runner.output import Drain, OutputFiles


def test_both_streams_share_one_bound(tmp_path: Path) -> None:
    with OutputFiles(tmp_path / "out", tmp_path / "err", 10) as files:
        files.write(b"12345", b"abc")
        files.write(b"6789", None)
        files.write(None, b"d")
    assert (tmp_path / "out").read_bytes() == b"1234567"
    assert (tmp_path / "err").read_bytes() == b"abc"
    assert files.dropped == 3


def test_one_log_keeps_the_order_of_both_streams(tmp_path: Path) -> None:
    with OutputFiles(tmp_path / "log", tmp_path / "log", 100) as files:
        for out, err in ((b"1", None), (None, b"2"), (b"3", b"4")):
            files.write(out, err)
    assert (tmp_path / "log").read_bytes() == b"1234"


def test_a_stream_that_breaks_says_so_and_keeps_what_came(tmp_path: Path) -> None:
    def broken() -> Iterator[tuple[bytes | None, bytes | None]]:
        yield b"before", None
        raise ConnectionResetError("gone")

    with OutputFiles(tmp_path / "out", tmp_path / "err", 100) as files:
        drain = Drain(broken(), files)
        drain.start()
        assert drain.wait(5)
    assert isinstance(drain.error, ConnectionResetError)
    assert (tmp_path / "out").read_bytes() == b"before"


def drained(stream: Iterator[tuple[bytes | None, bytes | None]], log: Path, longest: float) -> bytes:
    """What a log holds when its command has ended."""
    with OutputFiles(log, log, 1000) as files:
        drain = Drain(stream, files)
        drain.start()
        drain.linger(0.05, longest)
    return log.read_bytes()


@pytest.mark.slow
def test_what_an_ended_command_printed_may_come_late(tmp_path: Path) -> None:
    """A busy machine is no reason for an empty log."""

    def late() -> Iterator[tuple[bytes | None, bytes | None]]:
        time.sleep(0.4)
        yield b"all of it", None

    assert drained(late(), tmp_path / "log", 30) == b"all of it"


@pytest.mark.slow
def test_an_output_that_a_child_holds_open_is_given_up(tmp_path: Path) -> None:
    never = threading.Event()

    def held() -> Iterator[tuple[bytes | None, bytes | None]]:
        yield b"the command's", None
        never.wait(20)

    began = time.monotonic()
    assert drained(held(), tmp_path / "log", 15) == b"the command's"
    assert time.monotonic() - began < 10
    never.set()
