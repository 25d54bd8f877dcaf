"""What no run could start with is found by `check`, `run` and a dry run, before an engine is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOWHERE = {"DOCKER_HOST": "unix:///nowhere.sock"}
COMMANDS = [["check"], ["check", "--grade"], ["run"], ["run", "--dry-run"]]
LONG = "x" * 100_000
TEXT = '{name: probe, kind: text, command: "echo 4"}'


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("2+2?", LONG), ': agents[0].command: with the prompt of "sum" it is 1000'),
        (("echo 4", f"echo 4 {LONG}"), ': agents[0].command: with the prompt of "sum" it is 1000'),
        (
            ("name: docs", f"name: docs\n    command: echo {LONG}"),
            ': arms[1].command: with the prompt of "sum"',
        ),
        (
            ("name: docs", f"name: docs\n    setup: ['true', ': {LONG}']"),
            ": arms[1].setup[1]: is 100002 bytes",
        ),
        (("name: docs", f"name: docs\n    env: {{A: {LONG}}}"), ": arms[1].env.A: is 100002 bytes"),
        (('"echo 4"', f'"echo 4", env: {{B: {LONG}}}'), ": agents[0].env.B: is 100002 bytes"),
        (('["4"]}', f'["4"], verify: ": {LONG}"}}'), ": questions[0].verify: is 100002 bytes"),
    ],
    ids=["prompt", "command", "arm-command", "setup", "arm-env", "agent-env", "verify"],
)
def test_what_no_process_can_be_given(
    tiltyard: Callable[..., Any],
    spec: Callable[..., Path],
    change: tuple[str, str],
    sentence: str,
) -> None:
    changes = (change,) if change[0] != "2+2?" else (change, ("echo 4", "echo {prompt}"))
    done = tiltyard("check", spec(*changes).name, **NOWHERE)

    assert done.code == 65, done.err
    assert sentence in done.err
    assert LONG[:200] not in done.err


@pytest.mark.parametrize("agent", [TEXT, "{name: mini, model: m}"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mcp_servers", "{acme: {command: npx}}"),
        ("skills", "[{name: acme, description: d, content: c}]"),
        ("instructions", "Read the docs."),
    ],
)
def test_what_an_agent_cannot_take(
    tiltyard: Callable[..., Any],
    spec: Callable[..., Path],
    agent: str,
    key: str,
    value: str,
) -> None:
    """Every run of that arm would be undelivered, or worse, be counted as treated."""
    path = spec(("name: docs", f"name: docs\n    {key}: {value}"), (TEXT, agent))
    done = tiltyard("check", path.name, **NOWHERE)

    assert done.code == 65, done.err
    assert f": arms[1].{key}: " in done.err
    assert "which takes no " in done.err


def test_what_is_not_asked_of_an_agent_is_no_problem(
    tiltyard: Callable[..., Any], spec: Callable[..., Path]
) -> None:
    """Nor what claude and codex can take, nor the oracle and nop, which take nothing from anybody."""
    path = spec(
        ("name: docs", "name: docs\n    instructions: Read the docs."),
        (TEXT, f"{TEXT}\n  - {{name: claude, model: m}}\n  - {{name: nop}}"),
    )

    assert tiltyard("run", path.name, "--dry-run", "--arm", "plain").code == 0
    assert tiltyard("run", path.name, "--dry-run", "--agent", "claude", "--agent", "nop").code == 0
    assert tiltyard("run", path.name, "--dry-run", "--agent", "probe").code == 65


def test_a_long_prompt_is_no_problem_for_our_own_command_lines(
    tiltyard: Callable[..., Any], spec: Callable[..., Path]
) -> None:
    path = spec(("2+2?", LONG), (TEXT, "{name: claude, model: m}"))

    assert tiltyard("run", path.name, "--dry-run").code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_leads_to_runs_tells(
    tiltyard: Callable[..., Any], spec: Callable[..., Path], command: list[str]
) -> None:
    path = spec(("name: docs", f"name: docs\n    instructions: Read.\n    env: {{A: {LONG}}}"))
    done = tiltyard(*command, path.name, **NOWHERE)

    assert done.code == 65, done.err
    assert [line.partition("arms")[2][:8] for line in done.err.splitlines()] == ["[1].inst", "[1].env."]
