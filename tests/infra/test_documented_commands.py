"""Every `tiltyard` command that a document or a file of infra/ names is one, with options that it has."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tiltyard_cli.main import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "README.md",
        "SECURITY.md",
        "*/README.md",
        "docs/*.md",
        "infra/**/*",
        "specs/examples/**/*",
    )
    for path in ROOT.glob(pattern)
    if path.is_file() and path.suffix in {".md", ".yaml", ".yml", ".service", ".example", ".Dockerfile"}
)
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(tiltyard [^`\n]+)`")
NAMED = re.compile(r"(?:^|[ /])(tiltyard [a-z][^\n]*)", re.MULTILINE)


@cache
def commands() -> dict[str, Any]:
    """Each command by its words."""
    found: dict[str, Any] = {}
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        found[name] = command
        for below, each in getattr(command, "commands", {}).items():
            found[f"{name} {below}"] = each
    return found


def named(path: str) -> Iterator[str]:
    """Command lines in a file."""
    text = re.sub(r"\\\n#? *", "", (ROOT / path).read_text())
    if path.endswith(".md"):
        blocks = FENCED.findall(text)
        yield from (line for block in blocks for line in block.splitlines() if line.startswith("tiltyard "))
        text = FENCED.sub("", text)
        yield from INLINE.findall(text)
    else:
        yield from (line for line in NAMED.findall(text) if line.split()[1] in commands())


def options(line: str) -> tuple[str, set[str]]:
    """Which command a line names, and with which options."""
    words = shlex.split(re.split(r" #| && | \| ", line)[0].replace("'", ""))[1:]
    words = [word.strip("[]`,;|.()") for word in words]
    known = commands()
    name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
    given = {re.split(r"[=|,\[\]]", word)[0] for word in words if word.startswith("--") and len(word) > 2}
    return name, given


@pytest.mark.parametrize("path", DOCUMENTS)
def test_commands_are_as_written(path: str) -> None:
    for line in named(path):
        name, given = options(line)
        if name.startswith("--"):
            continue
        assert name.partition("|")[0] in commands(), line
        has = {option for part in commands()[name.partition("|")[0]].params for option in part.opts}
        assert given <= has | {"--help"}, f"{sorted(given - has)}: {line}"


def test_a_wrong_option_is_found(tmp_path: Path) -> None:
    assert options("tiltyard run trial.yaml --colour red --out x") == ("run", {"--colour", "--out"})
    assert options("tiltyard cluster doctor auto --out=s3://b/p")[0] == "cluster doctor"
