"""What the page of one run shows: everything that was kept of it, cut where a reader would drown."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltyard_report.html.environment import size
from tiltyard_report.site.calls import read_calls
from tiltyard_report.site.diff import diff_lines
from tiltyard_report.site.files import Record, RunFile, RunFiles

LIMIT = 64_000
"""Bytes of a file that a page shows."""
_PATCH_LIMIT = 256_000
_CALLS_LIMIT = 1_000_000
_TOOLS = 500
_INPUT = 4_000
"""Characters of what a tool was given."""
_ABSENT = {"reason": None, "warnings": (), "tampered": ()}
_NO_SCORE = {"correct": False, "recall": None, "missing": (), "forbidden": ()}
_NO_VERIFY = {"command": "", "exit_code": None, "passed": False, "seconds": None, "timed_out": False}
"""What a page asks of a record: one of another tool, or of an older version, may lack any of it."""
_OUTPUTS = (("verify.log", "Verify log"), ("raw.out", "Agent's output"), ("raw.err", "Agent's errors"))


@dataclass(frozen=True, slots=True)
class Shown:
    """A file as a page shows it."""

    title: str
    name: str
    text: str
    note: str
    """How it was cut; empty where it was not."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool call."""

    name: str
    given: str


def run_values(record: Record, attempts: Sequence[Record], files: RunFiles) -> dict[str, object]:
    """The values of the template `run.html.j2`."""
    calls = files.read(record, "calls.jsonl", _CALLS_LIMIT)
    patch = files.read(record, "patch.diff", _PATCH_LIMIT)
    lines, total = diff_lines(_text(patch)) if patch else ([], 0)
    tools = _items(record.get("tool_calls"))
    return {
        "record": {**_ABSENT, **record},
        "answer": _cut(str(record.get("answer") or "")),
        "prompt": _shown("Prompt", "prompt.txt", files.read(record, "prompt.txt", LIMIT)),
        "score": _filled(record, "score", _NO_SCORE),
        "verify": _filled(record, "verify", _NO_VERIFY),
        "tools": [_tool(item) for item in tools[:_TOOLS]],
        "tools_left": max(0, len(tools) - _TOOLS),
        "calls": read_calls(_whole_lines(calls)) if calls else None,
        "diff": lines,
        "diff_note": _diff_note(patch, len(lines), total),
        "outputs": [
            shown
            for name, title in _OUTPUTS
            if (shown := _shown(title, name, files.read(record, name, LIMIT))) is not None
        ],
        "facts": list(_facts(record)),
        "limits": list(_limits(record)),
        "images": list(_images(record)),
        "spends": list(_spends(record)),
        "attempts": attempts,
    }


def _shown(title: str, name: str, file: RunFile | None) -> Shown | None:
    if file is None or not file.data:
        return None
    return Shown(title, name, _text(file), _note(file))


def _note(file: RunFile) -> str:
    if file.whole:
        return ""
    of = f" of {size(file.size)}" if file.size is not None else ""
    return f"Cut: the first {size(len(file.data))}{of} are shown."


def _diff_note(patch: RunFile | None, shown: int, total: int) -> str:
    if patch is None:
        return ""
    return _note(patch) or (f"Cut: {shown:,} of {total:,} lines are shown." if total > shown else "")


def _text(file: RunFile) -> str:
    return file.data.decode("utf-8", "replace")


def _whole_lines(file: RunFile) -> str:
    text = _text(file)
    return text if file.whole else text.rpartition("\n")[0]


def _cut(text: str) -> Shown:
    note = f"Cut: {LIMIT:,} of {len(text):,} characters are shown." if len(text) > LIMIT else ""
    return Shown("Answer", "run.json", text[:LIMIT], note)


def _tool(item: object) -> Tool:
    call = item if isinstance(item, Mapping) else {}
    given = call.get("input")
    if isinstance(given, Mapping) and given.keys() == {"command"}:
        given = given["command"]
    text = given if isinstance(given, str) else json.dumps(given, indent=1, ensure_ascii=False)
    more = f"\n… {len(text) - _INPUT:,} more characters" if len(text) > _INPUT else ""
    return Tool(str(call.get("name") or ""), text[:_INPUT] + more)


def _part(record: Record, key: str) -> Mapping[str, object]:
    part = record.get(key)
    return part if isinstance(part, Mapping) else {}


def _filled(record: Record, key: str, absent: Mapping[str, object]) -> Mapping[str, object]:
    part = _part(record, key)
    return {**absent, **part} if part else {}


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    named = (
        ("model", "Model"),
        ("effort", "Effort"),
        ("turns", "Turns"),
        ("seconds", "Seconds"),
        ("used_tool", "Used the arm's tool"),
        ("exit_code", "Exit code of the agent"),
        ("attempt", "Attempt"),
        ("position", "Place in the order"),
        ("started_at", "Started"),
        ("node", "Node"),
        ("run_id", "Run id"),
    )
    for key, label in named:
        if record.get(key) is not None:
            yield label, _word(record[key])
    for name, version in sorted(_part(record, "versions").items()):
        yield f"Version of {name}", str(version)


def _limits(record: Record) -> Iterator[tuple[str, str]]:
    policy = _part(record, "policy")
    for key in ("network", "history", "setup_scope"):
        if policy.get(key) is not None:
            yield key.replace("_", " "), _word(policy[key])
    limits = policy.get("limits")
    for name, value in sorted((limits if isinstance(limits, Mapping) else {}).items()):
        if value is not None:
            in_bytes = name in {"memory", "disk", "output"} and isinstance(value, int)
            yield str(name), size(value) if in_bytes and isinstance(value, int) else _word(value)


def _images(record: Record) -> Iterator[tuple[str, str, str]]:
    for layer, image in sorted(_part(record, "images").items()):
        facts = image if isinstance(image, Mapping) else {}
        yield str(layer), str(facts.get("id") or ""), str(facts.get("tag") or "")


def _spends(record: Record) -> Iterator[tuple[str, Mapping[str, object], object, object]]:
    """As metered and as the agent reported it: usage, USD and calls."""
    for key in ("metered", "reported"):
        spend = _part(record, key)
        usage = spend.get("usage")
        if usage or spend.get("cost_usd") is not None:
            yield key, usage if isinstance(usage, Mapping) else {}, spend.get("cost_usd"), spend.get("calls")


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
