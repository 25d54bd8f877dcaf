"""Masks keys in what an attempt leaves: its files, as streams, and its record.

It comes last, when output has been parsed and the change graded: a mask may stand in what people read, never
in what a verdict rests on. Not even a full disk lets a file through that should have been masked.
"""

import json
from collections.abc import Callable, Iterable
from hashlib import file_digest
from pathlib import Path

from pydantic import JsonValue

from tiltyard_runner.masking import Masking, exact
from tiltyard_runner.stream_masking import mask_file
from tiltyard_specs.record import RunRecord

_FILES = ("prompt.txt", "raw.out", "raw.err", "setup.log", "verify.log", "agent.json")
_CALLS = ("calls.jsonl", "calls.jsonl.begun")
_PATCH = "patch.diff"
_QUOTING = frozenset({"reason", "agent_error", "warnings"})
"""Parts of a record that quote what others say, which they may have cut in the middle of a key."""
_IDENTITY = frozenset(
    {"run_id", "trial", "capability", "question", "arm", "agent", "block", "outcome", "started_at", "images"}
    | {"versions", "kind", "effort", "policy"}
)
"""Parts of a record by which it is found and counted; they come from the spec and from Tiltyard."""


def redact_attempt(record: RunRecord, folder: Path, secrets: Iterable[str]) -> RunRecord:
    """Mask the files of an attempt in place, and its record.

    Args:
        record: What the attempt came to.
        folder: Where its files lie.
        secrets: The keys in use. A patch stays as it is, byte for byte, unless it holds one of them.

    Returns:
        The record; with a warning that says how many secrets were masked, when there were any.
    """
    known = tuple(secrets)
    masking = Masking(known)
    data = record.to_data()
    count, lost = _files(folder, masking)
    masked, lost_patch = _mask(folder / _PATCH, lambda path: mask_file(path, exact(known)))
    for name, value in data.items():
        if name not in _IDENTITY:
            data[name], found = mask_strings(value, masking.sentence if name in _QUOTING else masking.text)
            count += found
    warnings = [*lost, *lost_patch]
    if masked:
        warnings.append("patch.diff held a key, which was masked: it is not the agent's change byte for byte")
    if masked and data["patch"] and (folder / _PATCH).exists():
        data["patch"] |= _size_and_digest(folder / _PATCH)
    if count + masked:
        warnings.append(_words(count + masked))
    if not warnings:
        return record
    data["warnings"] = [*data["warnings"], *warnings]
    return RunRecord.model_validate_json(json.dumps(data))


def mask_files(folder: Path, secrets: Iterable[str]) -> None:
    """Mask the files of an attempt that comes to no record."""
    known = tuple(secrets)
    _files(folder, Masking(known))
    _mask(folder / _PATCH, lambda path: mask_file(path, exact(known)))


def _words(count: int) -> str:
    return (
        "1 secret was masked in the results" if count == 1 else f"{count} secrets were masked in the results"
    )


def _files(folder: Path, masking: Masking) -> tuple[int, list[str]]:
    count, warnings = 0, []
    for name in _FILES:
        found, lost = _mask(folder / name, lambda path: mask_file(path, masking.data))
        count += found
        warnings += lost
    for name in _CALLS:
        found, lost = _mask(folder / name, lambda path: mask_calls(path, masking))
        count += found
        warnings += lost
    return count, warnings


def _mask(path: Path, masker: Callable[[Path], int]) -> tuple[int, list[str]]:
    """How many secrets were masked, and a warning when the file had to be left out."""
    try:
        return masker(path), []
    except FileNotFoundError:
        return 0, []
    except OSError as error:
        path.unlink(missing_ok=True)
        return 0, [f"{path.name} was left out, because keys in it could not be masked: {error.strerror}"]


def mask_calls(path: Path, masking: Masking) -> int:
    """Mask calls.jsonl in place, line by line: a mask in a number would make a line unreadable."""
    with path.open("rb") as lines:
        if not any(masking.data(line)[1] for line in lines):
            return 0
    count, temporary = 0, path.with_name(f".{path.name}.masked")
    try:
        with path.open("rb") as lines, temporary.open("wb") as file:
            for line in lines:
                masked, found = _masked_call(line, masking)
                file.write(masked)
                count += found
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _masked_call(line: bytes, masking: Masking) -> tuple[bytes, int]:
    if not masking.data(line)[1]:
        return line, 0
    try:
        call = json.loads(line)
    except ValueError:
        # Cut by a kill: nothing reads it.
        return masking.data(line)
    count = 0
    for name, value in call.items():
        call[name], found = mask_strings(value, masking.text)
        count += found
    return json.dumps(call, ensure_ascii=False, separators=(",", ":")).encode() + b"\n", count


def mask_strings(value: JsonValue, mask: Callable[[str], tuple[str, int]]) -> tuple[JsonValue, int]:
    """The value with each string in it masked, names of members included, and how many secrets those held."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        items = [mask_strings(item, mask) for item in value]
        return [item for item, _ in items], sum(found for _, found in items)
    if isinstance(value, dict):
        members = [(mask(name), mask_strings(item, mask)) for name, item in value.items()]
        masked = {name: item for (name, _), (item, _) in members}
        return masked, sum(first + second for (_, first), (_, second) in members)
    return value, 0


def _size_and_digest(path: Path) -> dict[str, int | str]:
    with path.open("rb") as file:
        return {"sha256": file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
