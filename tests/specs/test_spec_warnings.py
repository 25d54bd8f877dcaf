"""What a sound spec is warned of."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from tiltyard_specs import load_trial, select, warnings
from tiltyard_specs.example import example_spec

EXAMPLES = Path(__file__).parents[2] / "specs" / "examples"
TEXT = """\
name: small
budget: {tokens: 1000}
prices: {m: {input: 1, output: 2}}
protect: ["tests/**"]
repos: [{name: r, source: "https://example/r"}]
arms: [{name: plain}]
agents:
  - {name: claude, model: m, edits: true}
questions:
  - {id: fix, repo: r, prompt: p, verify: t}
"""
PROTECT = ('protect: ["tests/**"]', "protect: []")
BUDGET = ("budget: {tokens: 1000}", "retries: 2")
Told = Callable[..., list[str]]


@pytest.fixture
def told(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Told:
    """What a user is warned of who loads the spec with these changes."""

    def _told(*changes: tuple[str, str], scripted: bool = False) -> list[str]:
        path = write(*changes, text=TEXT)
        monkeypatch.chdir(tmp_path)
        return [str(problem) for problem in warnings(load_trial(path.name), scripted=scripted)]

    return _told


def test_a_careful_spec_is_warned_of_nothing(told: Told) -> None:
    assert told() == []


@pytest.mark.parametrize("kind", ["yaml", "toml"])
def test_the_example_of_init_is_warned_of_nothing(tmp_path: Path, kind: Literal["yaml", "toml"]) -> None:
    (tmp_path / f"trial.{kind}").write_text(example_spec(kind))

    assert warnings(load_trial(tmp_path / f"trial.{kind}")) == ()


def test_the_demo_is_warned_of_nothing() -> None:
    assert warnings(load_trial(EXAMPLES / "demo" / "trial.yaml")) == ()


NO_EDITS = 'may not change files: nothing it does can pass or fail verify of "fix"; set edits: true'


@pytest.mark.parametrize(
    ("agent", "sentences"),
    [
        ("{name: claude, model: m}", [f'trial.yaml:8: agents[0].edits: "claude" {NO_EDITS}']),
        ("{name: claude, models: [m], efforts: [low, high], edits: false}", [f'trial.yaml:8: agents[0].edits: "claude" {NO_EDITS}']),
        ("{name: floor, kind: text, command: echo}", [f'trial.yaml:8: agents[0].edits: "floor" {NO_EDITS}']),
        ("{name: nop}", []),
        ("{name: oracle}", []),
    ],
)  # fmt: skip
def test_an_agent_that_cannot_change_what_verify_decides(
    told: Told, agent: str, sentences: list[str]
) -> None:
    assert told(("{name: claude, model: m, edits: true}", agent)) == sentences


def test_many_questions_are_counted(told: Told) -> None:
    more = "".join(f"  - {{id: q{i}, repo: r, prompt: p, verify: t}}\n" for i in range(4))
    (found,) = told(("questions:\n", f"questions:\n{more}"), ("edits: true", "edits: false"))

    assert 'verify of "q0", "q1", "q2" and 2 more;' in found


def test_a_key_question_needs_no_edits(told: Told) -> None:
    assert told(("verify: t", "expect: [x]"), ("edits: true", "edits: false")) == []


def test_without_a_budget_nothing_bounds_the_spend(told: Told) -> None:
    sentence = 'trial.yaml:8: agents[0]: no budget: nothing bounds the spend of "claude", "codex"; add budget, {usd: 30} or {tokens: 5000000}'
    two = ("questions:\n", "  - {name: codex, model: m, edits: true}\n  - {name: nop}\nquestions:\n")

    assert told(BUDGET, two) == [sentence]
    assert told(BUDGET, two, scripted=True) == []
    assert told(("budget:", "limits:")) == []


@pytest.mark.parametrize("agent", ["{name: nop}", "{name: t, kind: text, command: c, edits: true}"])
def test_an_agent_that_is_not_metered_needs_no_budget(told: Told, agent: str) -> None:
    assert told(BUDGET, ("{name: claude, model: m, edits: true}", agent)) == []


@pytest.mark.parametrize(
    ("change", "place", "model"),
    [
        (("model: m,", "model: big,"), "8: agents[0].model", "big"),
        (("model: m,", "models: [m, big],"), "8: agents[0].models[1]", "big"),
        (("{name: plain}", "{name: plain, model: big}"), "6: arms[0].model", "big"),
        (("model: m,", "model: m, rewrite: {m: big},"), "8: agents[0].rewrite.m", "big"),
    ],
)
def test_the_cost_of_a_model_without_a_price_is_unknown(
    told: Told, change: tuple[str, str], place: str, model: str
) -> None:
    assert told(change) == [
        f'trial.yaml:{place}: the model "{model}" has no price: its cost will be unknown; add prices for "{model}"'
    ]


def test_a_model_is_told_once(told: Told) -> None:
    more = "  - {name: codex, model: x, edits: true}\n  - {name: mini, model: x, edits: true}\nquestions:\n"

    assert len(told(("questions:\n", more))) == 1


UNPROTECTED = (
    "trial.yaml:10: questions[0].verify: nothing is protected: an agent may edit the tests that decide; "
    "add protect or hidden"
)


def test_tests_that_an_agent_may_edit(told: Told) -> None:
    assert told(PROTECT) == [UNPROTECTED]


@pytest.mark.parametrize(
    "change",
    [
        ("verify: t", "verify: t, hidden: {tests/t.py: trial.yaml}"),
        ("verify: t", "expect: [x]"),
        ("repo: r, ", ""),
        ("{name: claude, model: m, edits: true}", "{name: oracle}"),
    ],
)
def test_where_there_is_nothing_to_edit_or_nobody_who_would(told: Told, change: tuple[str, str]) -> None:
    assert told(PROTECT, change) == []


def test_an_overlay_can_bring_tests_into_an_empty_workspace(told: Told, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()

    assert told(PROTECT, ("repo: r, ", ""), ("{name: plain}", "{name: plain, overlay: o}")) == [UNPROTECTED]


def test_only_what_is_selected_is_warned_of(write: Callable[..., Path]) -> None:
    more = "  - {name: codex, model: big}\nquestions:\n"
    trial = load_trial(write(("questions:\n", more), text=TEXT))

    assert warnings(select(trial, agents=["claude"])) == ()
    assert [problem.path for problem in warnings(select(trial, agents=["codex"]))] == [
        "agents[1].edits",
        "agents[1].model",
    ]
