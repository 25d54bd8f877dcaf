"""Output on its way to disk is bounded and never lost silently."""

from collections.abc import Iterator
from pathlib import Path

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
