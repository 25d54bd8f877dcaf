"""Which tool calls count as reading history, and that none of them takes long or breaks a key."""

import json
from typing import Any

import pytest

from tiltyard_runner.agents import ToolCall
from tiltyard_runner.history_reads import MOST, history_reads
from tiltyard_runner.masking import Masking

MASK = Masking(("sk-live-0123456789abcdefghij",)).text


def reads(*commands: str) -> tuple[str, ...]:
    return history_reads([ToolCall("Bash", {"command": command}) for command in commands], MASK)


@pytest.mark.parametrize(
    "command",
    [
        "git log --oneline -5",
        "git -C /workspace show HEAD~1:src/a.py",
        "git --no-pager reflog",
        "git rev-list --all",
        "git cat-file -p 0123abc",
        "git fsck --lost-found",
    ],
)
def test_reads_of_history(command: str) -> None:
    assert reads(f"cd src && {command}; true") == (command,)


@pytest.mark.parametrize("path", [".git/packed-refs", ".git/objects/pack/x.pack", ".git/logs/HEAD"])
def test_reads_beside_git(path: str) -> None:
    assert reads(f"cd src; cat '../{path}' | head; ls {path}; ls .git/config .git/logsx") == (path,)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git diff HEAD",
        "git add -A && git commit -m log",
        "echo log",
        "git apply show.patch",
        "digit log",
    ],
)
def test_what_is_no_read_of_history(command: str) -> None:
    assert reads(command) == ()


def test_each_once_in_order_and_not_too_many() -> None:
    assert reads("git show a", "git log", "git show a") == ("git show a", "git log")
    assert len(reads(*(f"git show c{number}" for number in range(100)))) == MOST


def test_the_text_of_any_tool_is_looked_at() -> None:
    nested: Any = {"steps": [{"run": ["x", "git blame a.py"]}]}
    assert history_reads([ToolCall("shell", nested)], MASK)[0] == "git blame a.py"


def test_a_hostile_text_takes_no_time() -> None:
    """Quadratic matching of these would take minutes."""
    text = "git " * 200_000 + ".git/" * 200_000 + "a" * 500_000
    assert history_reads([ToolCall("Bash", json.dumps(text))], MASK) == ()


def test_no_key_is_cut_in_two() -> None:
    found = reads("git log " + "x" * 180 + " sk-live-0123456789abcdefghij")
    assert "sk-live" not in found[0]
