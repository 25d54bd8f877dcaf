"""Help is complete, quick and right."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tiltyard_specs.exit_codes import MEANING, ExitCode

HEAVY = {"numpy", "scipy", "docker", "pydantic", "ray", "boto3", "aiohttp", "rich", "yaml", "requests"}
COMMANDS = {
    "init": ["FILE"],
    "check": ["SPEC", "--model-script", "--grade", "--regrades"],
    "doctor": ["SPEC", "--model-script"],
    "run": [
        "SPEC",
        "--out",
        "--reps",
        "--question",
        "--arm",
        "--agent",
        "--parallel",
        "--model-script",
        "--retry-failed",
        "--no-budget",
        "--dry-run",
    ],
    "report": [
        "RESULTS",
        "--baseline",
        "--question",
        "--agent",
        "--confidence",
        "--format",
        "--site",
        "--out",
    ],
    "view": ["RESULTS", "--port"],
    "model-script": ["FILE", "--port"],
    "images": ["list", "build", "bootstrap", "prune"],
    "help": ["TOPIC"],
}
Command = Callable[..., Any]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_each_command_explains_itself(tiltyard: Command, command: str, option: str) -> None:
    done = tiltyard(command, option)

    assert done.code == 0
    for word in [f"tiltyard {command}", *COMMANDS[command]]:
        assert word in done.out
    assert tiltyard("help", command).out.split() == done.out.split()


@pytest.mark.parametrize("args", [(), ("--help",), ("help",)])
def test_the_front_page_names_every_command(tiltyard: Command, args: tuple[str, ...]) -> None:
    done = tiltyard(*args)

    assert done.code == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z]", done.out, re.MULTILINE), command
    assert "tiltyard help exit-codes" in done.out


def test_no_line_of_a_list_breaks_off(tiltyard: Command) -> None:
    """On a terminal of 80 columns a beginning of a sentence would stand there."""
    for args in ((), ("cluster",), ("images",)):
        listed = tiltyard(*args, "--help").out.partition("Commands:")[2]
        assert listed, args
        assert "..." not in listed, args


def test_help_on_a_command_of_a_group(tiltyard: Command) -> None:
    assert tiltyard("help", "cluster", "up").out.split() == tiltyard("cluster", "up", "--help").out.split()
    assert 'no help on "cluster down"' in tiltyard("help", "cluster", "down").err


def test_the_exit_codes_are_those_of_the_table(tiltyard: Command) -> None:
    done = tiltyard("help", "exit-codes")
    lines = {int(line.split()[0]): line.strip().partition("  ")[2] for line in done.out.splitlines()}

    assert lines == {int(code): meaning for code, meaning in MEANING.items()}
    assert set(lines) == set(ExitCode)


def test_help_on_nothing(tiltyard: Command) -> None:
    done = tiltyard("help", "me")

    assert done.code == 64
    assert done.err == ('tiltyard: no help on "me"; there is exit-codes, and each command: tiltyard --help\n')


def test_the_version(tiltyard: Command) -> None:
    done = tiltyard("--version")

    assert done.code == 0
    assert re.fullmatch(r"tiltyard \d+\.\d+\.\d+\S*\n", done.out)


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        # Typer reads arguments with pydantic where it is installed.
        (["help", "exit-codes"], {"pydantic"}),
        (["run", "--help"], {"pydantic"}),
        (["report", "--help"], {"pydantic"}),
        (["images", "prune", "--help"], {"pydantic"}),
    ],
)
def test_help_loads_nothing_heavy(arguments: list[str], allowed: set[str]) -> None:
    code = (
        "import sys\n"
        "from tiltyard_cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        f"print('LOADED', [name for name in {sorted(HEAVY - allowed)!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    )

    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_help_is_quick(process: Command) -> None:
    """The best of a few: other tests may keep the machine busy."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        process("--help")
        taken.append(time.perf_counter() - began)
    allowed = 0.3 if (os.getloadavg()[0] / (os.cpu_count() or 1)) < 1 else 1.0

    assert min(taken) < allowed, taken
