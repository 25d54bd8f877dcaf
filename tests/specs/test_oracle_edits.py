"""The oracle may always edit: a patch that it cannot apply would make a right grader look wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_specs import AgentVariant, load_trial

Write = Callable[..., Path]
AGENT = "{name: claude, model: sonnet}"


def running(write: Write, agent: str, arm: str = "") -> AgentVariant:
    trial = load_trial(write((AGENT, agent), ("name: docs", f"name: docs{arm}")))
    return trial.agents[0].under(trial.arm("docs"))


@pytest.mark.parametrize(
    ("agent", "arm", "edits"),
    [
        ("{name: oracle}", "", True),
        ("{name: oracle, edits: false}", "", True),
        ("{name: mine, kind: oracle}", "", True),
        ("{name: nop}", "\n    kind: oracle", True),
        ("{name: oracle}", "\n    kind: nop", False),
        ("{name: oracle, edits: true}", "\n    kind: nop", True),
        (AGENT, "", False),
        ("{name: nop}", "\n    model: m", False),
    ],
)
def test_whether_an_agent_may_edit_in_an_arm(
    write: Write,
    agent: str,
    arm: str,
    edits: bool,
) -> None:
    assert running(write, agent, arm).edits is edits


def test_the_ids_of_other_agents_do_not_move(write: Write) -> None:
    assert running(write, AGENT).model_dump(exclude_defaults=True) == {
        "name": "claude", "base": "claude", "kind": "claude", "model": "sonnet",
    }  # fmt: skip
