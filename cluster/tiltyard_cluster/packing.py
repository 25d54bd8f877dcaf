"""Files of text that a store holds compressed."""

from pathlib import Path

_CHUNK = 1 << 20
PACKED = frozenset(
    {"raw.out", "raw.err", "verify.log", "setup.log", "calls.jsonl", "patch.diff", "prompt.txt"}
)
"""Text of any length, which no report reads."""


def pack(path: Path, target: Path) -> Path:
    """Write a file compressed to another."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s that only packing needs

    with path.open("rb") as reader, pa.CompressedOutputStream(str(target), "zstd") as writer:
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
    return target


def unpack(data: bytes) -> bytes:
    """What was packed."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s that only packing needs

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        unpacked: bytes = stream.read()
    return unpacked
