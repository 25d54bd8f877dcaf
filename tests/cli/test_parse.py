"""`tiltyard parse` over recordings of the real CLIs: the traps they set, and files of something else."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cli.commands.parse import CAUTION
from tiltyard_specs import ExitCode

Command = Callable[..., Any]
Read = Callable[..., dict[str, Any]]
SAMPLES = Path(__file__).parents[1] / "runner" / "samples"
KEYS = {"answer", "turns", "tool_calls", "usage", "model", "cost_usd", "error", "complete"}
BUCKETS = {"input", "cache_read", "cache_write", "output", "reasoning", "cache_write_1h"}
ANSWER = "FINAL-ANSWER: 42"
NOTHING = dict.fromkeys(BUCKETS)


@pytest.fixture
def read(tiltyard: Command) -> Read:
    """The canonical result of a recording, from what lies in its folder."""

    def parse(kind: str, case: str, *options: str) -> dict[str, Any]:
        folder = SAMPLES / kind / case
        trajectory = folder / "traj.json"
        more = ("--usage-file", str(trajectory)) if trajectory.exists() else ()
        done = tiltyard("parse", kind, str(folder / "stdout"), *more, *options, "--json")
        assert (done.code, done.err) == (0, "")
        return dict(json.loads(done.out))

    return parse


@pytest.mark.parametrize(
    ("kind", "case"), [(f.parent.name, f.name) for f in sorted(SAMPLES.glob("*/*")) if f.is_dir()]
)
def test_every_recording_has_the_canonical_form(read: Read, kind: str, case: str) -> None:
    """Whatever the exit code was, nobody told it here, so nothing is called a crash for the lack of it."""
    result = read(kind, case)
    assert set(result) == KEYS
    assert set(result["usage"]) == BUCKETS
    assert all(set(call) == {"name", "input"} for call in result["tool_calls"])
    assert (result["answer"] is None) == (result["error"] is not None)
    if result["error"]:
        assert set(result["error"]) == {"class", "status", "message"}
        assert result["error"]["class"] != "crash"


@pytest.mark.parametrize(
    ("kind", "case", "expected"),
    [
        # One message stands in several events and its usage in each: counted once, and output from the end.
        ("claude", "tool", {"input": 111, "cache_read": 803, "cache_write": 222, "output": 65}),
        ("claude", "cut", {"input": 100, "cache_read": 300, "cache_write": 200, "output": 40}),  # modelUsage
        ("claude", "plain-noflags", {"input": 200, "output": 80}),  # a side call that only modelUsage knows
        ("claude", "tool-json", {"input": 111, "cache_read": 803, "cache_write": 222, "output": 65}),
        # Codex and mini count the cached part as input; reasoning is in the output.
        ("codex", "tool", {"input": 800, "cache_read": 1300, "output": 80, "reasoning": 15}),
        ("mini", "tool", {"input": 800, "cache_read": 1300, "output": 80, "reasoning": 15}),
        (
            "mini",
            "empty",
            {"input": 1800, "cache_read": 1200, "output": 150},
        ),  # replies that were complained of
        ("codex", "err401", NOTHING),
        ("codex", "hang-int", NOTHING),
        ("mini", "hang", NOTHING),
    ],
)
def test_usage_is_counted_once_and_in_disjoint_buckets(
    read: Read, kind: str, case: str, expected: dict[str, int | None]
) -> None:
    usage = read(kind, case)["usage"]
    assert {name: usage[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "case", "error", "complete"),
    [
        ("claude", "empty", ("no_answer", None), True),  # subtype success, result ""
        ("claude", "err500", ("api_error", 500), True),  # subtype success, is_error
        ("claude", "err429", ("api_error", 429), True),
        ("claude", "err401", ("api_error", 401), False),  # killed while it was still retrying
        ("claude", "maxturns", ("limit", None), True),
        ("claude", "hang", ("killed", None), False),
        ("claude", "v332-int", ("killed", None), False),  # after SIGINT: a result, and exit code 0
        ("claude", "tool-skipperm-root", ("not_started", None), False),
        ("codex", "empty", ("no_answer", None), True),
        ("codex", "err401", ("api_error", 401), True),
        ("codex", "err429", ("api_error", 429), True),
        ("codex", "hang-int", ("killed", None), False),
        ("codex", "nogit", ("not_started", None), False),
        ("mini", "empty", ("no_answer", None), True),
        ("mini", "limit", ("limit", None), True),
        ("mini", "err401", ("api_error", 401), True),
        ("mini", "hang", ("killed", None), False),
        ("mini", "int-second", ("killed", None), False),
        ("mini", "kill-second", ("killed", None), False),
    ],
)
def test_runs_without_an_answer(
    read: Read, kind: str, case: str, error: tuple[str, int | None], *, complete: bool
) -> None:
    result = read(kind, case)
    assert result["answer"] is None
    assert (result["error"]["class"], result["error"]["status"]) == error
    assert result["complete"] is complete


def test_a_warning_is_no_error_and_a_failed_sandbox_no_end(read: Read) -> None:
    for case in ("plain", "cfg-openai-base-url", "dockerish-landlock"):
        result = read("codex", case)
        assert (result["answer"], result["error"], result["complete"]) == (ANSWER, None, True)


def test_tool_calls_have_name_and_input(read: Read) -> None:
    assert read("claude", "mcp-both")["tool_calls"] == [
        {"name": "mcp__spike__spike_echo", "input": {"text": "hello-mcp"}}
    ]
    assert read("codex", "mcp")["tool_calls"] == [
        {"name": "mcp__spike__spike_echo", "input": {"text": "hello-mcp"}}
    ]
    assert read("mini", "bare-submission")["tool_calls"] == [
        {"name": "bash", "input": {"command": "ls"}},
        {"name": "bash", "input": {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}},
    ]


def test_a_trajectory_alone_serves_and_a_cut_one_is_read_up_to_the_break(
    tiltyard: Command, read: Read, tmp_path: Path
) -> None:
    whole = SAMPLES / "mini" / "tool" / "traj.json"
    alone = tiltyard("parse", "mini", str(whole), "--json")
    assert json.loads(alone.out) == read("mini", "tool")
    (tmp_path / "cut.json").write_bytes(whole.read_bytes()[:-2500])
    cut = json.loads(tiltyard("parse", "mini", "cut.json", "--json").out)
    assert (cut["usage"]["output"], cut["turns"], len(cut["tool_calls"])) == (50, 1, 1)


def test_a_stream_that_breaks_off_in_its_first_event_is_still_one(tiltyard: Command, tmp_path: Path) -> None:
    for kind in ("claude", "codex"):
        (tmp_path / "cut").write_bytes((SAMPLES / kind / "tool" / "stdout").read_bytes()[:40])
        result = json.loads(tiltyard("parse", kind, "cut", "--json").out)
        assert (result["complete"], result["error"]["class"], result["usage"]) == (False, "killed", NOTHING)


def test_a_verbose_json_array_of_claude_is_read_as_its_lines(
    tiltyard: Command, read: Read, tmp_path: Path
) -> None:
    lines = (SAMPLES / "claude" / "tool" / "stdout").read_text().splitlines()
    (tmp_path / "array").write_text(f"[{','.join(lines)}]\n")
    assert json.loads(tiltyard("parse", "claude", "array", "--json").out) == read("claude", "tool")


def test_standard_error_says_why_nothing_was_printed(tiltyard: Command) -> None:
    folder = SAMPLES / "codex" / "nogit"
    done = tiltyard("parse", "codex", str(folder / "stdout"), "--stderr", str(folder / "stderr"), "--json")
    assert "Not inside a trusted directory" in json.loads(done.out)["error"]["message"]


def test_text_for_people(tiltyard: Command) -> None:
    done = tiltyard("parse", "claude", str(SAMPLES / "claude" / "tool" / "stdout"))
    assert done.code == 0
    assert "not comparable" in CAUTION
    assert done.out.splitlines() == [
        "model: claude-sonnet-4-5",
        "model calls: 2",
        "tokens: input 111, cache read 803, cache write 222, output 65",
        "cost, as the agent tells it: $0.002381",
        "tool calls: 1 (Bash 1)",
        "answer:",
        ANSWER,
        "",
        CAUTION,
    ]


def test_text_of_a_failed_run(tiltyard: Command) -> None:
    out = tiltyard("parse", "claude", str(SAMPLES / "claude" / "err401" / "stdout")).out.splitlines()
    assert out[2].startswith("tokens: input unknown, ")
    assert "complete: no; the output lacks its end" in out
    assert "answer: none" in out
    assert any(line.startswith("error: api_error 401: Still retrying") for line in out)


def test_keys_and_control_characters_of_an_agent_are_not_passed_on(tiltyard: Command, tmp_path: Path) -> None:
    key = "sk-proj-0123456789abcdefABCDEF"
    item = {"type": "item.completed", "item": {"type": "agent_message", "text": f"\x1b[2J {key}\x9b"}}
    end = {"type": "turn.completed", "usage": {"input_tokens": float("nan")}}
    (tmp_path / "out").write_text(f"{json.dumps(item)}\n{json.dumps(end)}\n")
    text, data = tiltyard("parse", "codex", "out").out, tiltyard("parse", "codex", "out", "--json").out
    assert key not in text + data
    assert not set("\x1b\x9b") & set(text + data)
    assert json.loads(data)["answer"] == "\x1b[2J [redacted]\x9b"


@pytest.mark.parametrize(
    ("content", "kind", "rest"),
    [
        (b"\x7fELF\x00\x01", "claude", "claude"),
        (b"Just words.\n", "codex", "codex"),
        (b'{"a": 1}\n[1, 2]\nnull\n', "claude", "claude"),
        (b'{"messages": []}', "mini", "mini"),
        (b'{"type":"turn.started"}', "claude", "claude; it looks like codex's"),
        (b'{"type":"system"}', "mini", "mini; it looks like claude's"),
    ],
)  # fmt: skip
def test_files_of_something_else(
    tiltyard: Command, tmp_path: Path, content: bytes, kind: str, rest: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    done = tiltyard("parse", kind, "file", "--json")
    assert (done.code, done.out) == (ExitCode.DATA, "")
    assert done.err == f"tiltyard: file is not the output of {rest}.\n"


def test_files_that_cannot_be_read(tiltyard: Command, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "out").write_text("")
    (tmp_path / "words").write_text("words")
    sentences = {
        ("missing",): "tiltyard: missing cannot be read: No such file or directory.",
        ("folder",): "tiltyard: folder cannot be read: Is a directory.",
        ("pipe",): "tiltyard: pipe is not a regular file; save the output to one.",
        ("out", "--usage-file", "missing"): "tiltyard: missing cannot be read: No such file or directory.",
        ("out", "--usage-file", "words"): "tiltyard: words is not a trajectory of mini.",
        ("out", "--stderr", "missing"): "tiltyard: missing cannot be read: No such file or directory.",
    }
    for args, sentence in sentences.items():
        done = tiltyard("parse", "mini", *args)
        assert (done.code, done.out, done.err) == (ExitCode.DATA, "", f"{sentence}\n")


def test_unknown_agents(tiltyard: Command) -> None:
    for name, guess in (("cluade", 'did you mean "claude"? Known'), ("cursor", "known"), ("text", "known")):
        done = tiltyard("parse", name, "file")
        assert done.code == ExitCode.USAGE
        assert done.err == (
            f'tiltyard: no saved output of an agent "{name}" can be read; {guess}: claude, codex, mini\n'
        )


@pytest.mark.parametrize(("kind", "case"), [("claude", "plain"), ("codex", "plain"), ("mini", "tool")])
def test_a_byte_order_mark_hides_nothing(tiltyard: Command, tmp_path: Path, kind: str, case: str) -> None:
    """Some shells put one at the beginning of what they save."""
    source = SAMPLES / kind / case / ("traj.json" if kind == "mini" else "stdout")
    saved = tmp_path / "saved"
    saved.write_bytes(
        b"\xef\xbb\xbf" + (source.read_bytes().splitlines()[-1] if kind == "claude" else source.read_bytes())
    )

    assert json.loads(tiltyard("parse", kind, str(saved), "--json").out)["answer"] == ANSWER
