"""Keys in what an attempt leaves: masked in files of any size and in the record, and in nothing else."""

import hashlib
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard_runner import stream_masking
from tiltyard_runner.masking import Masking, exact
from tiltyard_runner.redaction import redact_attempt
from tiltyard_runner.stream_masking import PIECE, mask_file
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import PatchFact, RunRecord, ToolCall, VerifyResult
from tiltyard_specs.redact import MASK, Redactor

pytestmark = pytest.mark.slow  # large files

CUSTOM = 'my own/key "7"'
PLACEBO = "sk-placebo-0123456789abcdef0123456789abcdef"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7\n" * 90 + "-----END RSA PRIVATE KEY-----"
# In two parts, so that no scanner takes these for keys.
KEYS = [
    "AI" + "zaSyA1234567890abcdefghijklmnopqrstu",
    "AK" + "IAIOSFODNN7EXAMPLE",
    "s" + "k-ant-api03-abcdefghijklmnop",
    "s" + "k-abcdefghijklmnop0123",
    "gh" + "p_abcdefghijklmnopqrst0123456789",
    "gh" + "o_abcdefghijklmnopqrst0123456789",
    "github" + "_pat_abcdefghijklmnopqrst0123",
    "xo" + "xb-1234567890-abcdef",
    PEM,
    CUSTOM,
]
BEARERS = [f"{word}abcdefgh12345678XYZ" for word in ("Bearer ", "BEARER ", "Bearer%20", "bearer+")]
MIB = 1 << 20


@pytest.fixture
def big(tmp_path: Path) -> Callable[..., Path]:
    """A file of some size, filled with a line, with a text at one place."""

    def make(size: int, line: bytes, text: str = "", at: int = 0) -> Path:
        path = tmp_path / "raw.out"
        filling = (line * (size // len(line) + 1))[:size]
        path.write_bytes(filling[:at] + text.encode() + filling[at:])
        return path

    return make


@pytest.mark.parametrize("key", [*KEYS, *BEARERS])
def test_the_quick_look_misses_nothing_that_the_patterns_know(key: str) -> None:
    masking, redactor = Masking([CUSTOM]), Redactor([CUSTOM])
    for text in (key, f'x "{key}" y', f"x={key}\n"):
        assert masking.text(text) == (redactor.text(text), 1)
        assert masking.data(text.encode()) == (redactor.data(text.encode()), 1)


@given(st.lists(st.sampled_from([*KEYS, *BEARERS, PLACEBO, "sk-", "a", "9", " ", "xox", "task-", "é"])))
def test_it_masks_what_the_redactor_masks(parts: list[str]) -> None:
    text = "".join(parts)
    assert Masking([CUSTOM]).text(text)[0] == Redactor([CUSTOM]).text(text)
    assert Masking([CUSTOM]).data(text.encode())[0] == Redactor([CUSTOM]).data(text.encode())


@pytest.mark.parametrize("key", [KEYS[1], KEYS[3], PEM, CUSTOM], ids=["aws", "openai", "pem", "custom"])
@pytest.mark.parametrize("line", [b"a line of text\n", b"one endless line; "], ids=["lines", "one-line"])
def test_a_key_is_masked_wherever_pieces_meet(
    big: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, key: str, line: bytes
) -> None:
    """With small pieces, the first of which would end at byte 10240: the key stands all around it."""
    monkeypatch.setattr(stream_masking, "PIECE", 4096)
    monkeypatch.setattr(stream_masking, "_AROUND", 2048)
    monkeypatch.setattr(stream_masking, "_STEP", 127)
    filling = (line * 2000)[:20_000]
    for at in range(10_240 - len(key) - 3, 10_243, max(1, len(key) // 40)):
        path = big(20_000, line, f" {key} ", at)
        assert mask_file(path, Masking([CUSTOM]).data) == 1
        assert path.read_bytes() == filling[:at] + f" {MASK} ".encode() + filling[at:]


def test_a_file_without_a_key_is_not_written(big: Callable[..., Path]) -> None:
    path = big(3 * MIB, f"{PLACEBO} and a task-force of sk-learn\n".encode())
    before = path.stat()
    assert mask_file(path, Masking([CUSTOM]).data) == 0
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.slow
def test_a_big_file_takes_seconds_and_little_memory(big: Callable[..., Path]) -> None:
    path = big(64 * MIB, b"some line of a log, with words\n", f" {CUSTOM} ", 40 * MIB)
    began = time.monotonic()
    assert mask_file(path, Masking([CUSTOM]).data) == 1
    assert time.monotonic() - began < 15
    assert CUSTOM.encode() not in path.read_bytes()
    tracemalloc.start()
    mask_file(path, Masking([CUSTOM]).data)
    assert tracemalloc.get_traced_memory()[1] < 10 * PIECE
    tracemalloc.stop()


@pytest.mark.parametrize(
    "line", [b"sk-", b"sk-" * 40 + b" ", b"bearer ", PEM[:31].encode(), b"sk-a" * 40 + b"\n"]
)
def test_text_made_to_be_slow_is_not(big: Callable[..., Path], line: bytes) -> None:
    path = big(2 * MIB, line)
    began = time.monotonic()
    mask_file(path, Masking([CUSTOM]).data)
    Masking([CUSTOM]).text((line * MIB).decode()[:MIB])
    assert time.monotonic() - began < 15


def _record(**parts: Any) -> RunRecord:
    plain = {"run_id": "r", "trial": "t", "question": "q", "arm": "a", "agent": "g", "rep": 1, "attempt": 1}
    return RunRecord(
        outcome=Outcome.FAILED, node="n", seconds=1.0, started_at="2024-01-01T00:00:00.000Z", **plain | parts
    )


def test_a_record_without_a_key_is_the_same(tmp_path: Path) -> None:
    record = _record(
        answer=f"{PLACEBO} is worthless", tool_calls=(ToolCall(name="Bash", input={"a": [1, None]}),)
    )
    assert redact_attempt(record, tmp_path, [CUSTOM]) is record


def test_every_text_of_the_record_is_masked(tmp_path: Path) -> None:
    key = KEYS[3]
    record = _record(
        answer=f"it is {key}",
        reason=f"{CUSTOM} was refused",
        tool_calls=(ToolCall(name=key, input={key: ["x", {"deep": CUSTOM}], "n": 1.5}),),
        verify=VerifyResult(command=f"test {CUSTOM}", exit_code=0, passed=True, seconds=1.0),
        patch=PatchFact(files=(f"{key}.txt",), bytes=0, sha256="0"),
        agent_error={"class": "api_error", "message": key},
        warnings=(key,),
    )
    masked = redact_attempt(record, tmp_path, [CUSTOM])
    assert key not in masked.to_json()
    assert "my own" not in masked.to_json()
    assert masked.answer == f"it is {MASK}"
    assert masked.tool_calls[0].input == {MASK: ["x", {"deep": MASK}], "n": 1.5}
    assert masked.warnings[-1] == "9 secrets were masked in the results"
    assert masked.run_id == record.run_id


def test_a_patch_is_masked_only_where_a_known_key_stands(tmp_path: Path) -> None:
    path = tmp_path / "patch.diff"
    path.write_bytes(f"+{KEYS[3]}\r\n\0\xff".encode("latin-1"))
    record = _record(patch=PatchFact(files=("f",), bytes=1, sha256="as it was"))
    before = path.read_bytes()
    assert redact_attempt(record, tmp_path, [CUSTOM]) is record
    assert path.read_bytes() == before

    path.write_bytes(before + CUSTOM.encode())
    masked = redact_attempt(record, tmp_path, [CUSTOM])
    assert path.read_bytes() == before + MASK.encode()
    assert masked.patch is not None
    assert masked.patch.bytes == path.stat().st_size
    assert masked.patch.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert masked.warnings == (
        "patch.diff held a key, which was masked: it is not the agent's change byte for byte",
        "1 secret was masked in the results",
    )


def test_a_file_that_cannot_be_masked_is_left_out(tmp_path: Path) -> None:
    """Here a folder stands where the masked copy goes; a full disk does the same."""
    (tmp_path / "raw.out").write_text(CUSTOM)
    (tmp_path / ".raw.out.masked").mkdir()
    masked = redact_attempt(_record(), tmp_path, [CUSTOM])
    assert not (tmp_path / "raw.out").exists()
    assert masked.warnings == (
        "raw.out was left out, because keys in it could not be masked: Is a directory",
    )


def test_short_values_and_placebo_keys_are_no_secrets() -> None:
    assert exact(["k", "", PLACEBO])(f"k {PLACEBO}".encode())[1] == 0
    assert Masking(["k", "", PLACEBO]).text(f"k {PLACEBO}") == (f"k {PLACEBO}", 0)
