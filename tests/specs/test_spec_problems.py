"""How the problems of one file stand together: all at once, none hidden by another, none made up."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiltyard_specs import Problem, SpecError, load_trial

Sentences = Callable[..., list[str]]


def test_an_empty_trial_lacks_everything_it_needs(sentences: Sentences) -> None:
    assert sentences(text="name: x\n") == [
        "trial.yaml: arms: missing: a trial needs at least one arm",
        "trial.yaml: agents: missing: a trial needs at least one agent",
        "trial.yaml: questions: missing: a trial needs at least one question",
    ]


def test_all_problems_of_a_file_come_at_once_in_its_order(sentences: Sentences) -> None:
    found = sentences(
        ("name: small", "name: small\ndefaults: {rep: none, baseline: nope}"),
        ("name: docs", "name: docs\n    overlay: no"),
        ("model: sonnet", "modell: 3"),
        ("expect: [it]", "expect: ['(']\n    repo: app"),
    )

    assert [line.split(": ")[1] for line in found] == [
        "defaults.rep",
        "defaults.reps",
        "defaults.baseline",
        "arms[1].overlay",
        "agents[0].modell",
        "agents[0].model",
        "questions[0].expect[0]",
        "questions[0].repo",
    ]


def test_a_misspelt_key_is_still_checked_for_what_it_holds(sentences: Sentences) -> None:
    found = sentences(("name: small", 'name: small\ndefaults: {timout: "four"}'))

    assert len(found) == 2
    assert found[0].startswith('trial.yaml:2: defaults.timout: unknown key; did you mean "timeout"?')
    assert found[1].startswith("trial.yaml:2: defaults.timeout: expected a duration")


def test_an_arm_can_take_away_what_its_agents_need(sentences: Sentences) -> None:
    assert sentences(("name: docs", "name: docs\n    kind: text")) == [
        (
            'trial.yaml:4: arms[1]: under this arm the agent "claude" cannot run: kind text needs a command; '
            "for example command: my-agent {prompt}"
        )
    ]


def test_the_price_of_a_rewritten_model_is_needed_and_not_that_of_the_role(sentences: Sentences) -> None:
    found = sentences(
        ("name: small", "name: small\nbudget: {usd: 3}\nprices: {cheap: {input: 1, output: 1}}"),
        ("model: sonnet}", "model: sonnet, rewrite: {son*: cheap, '*': dear}}"),
    )

    assert found == [
        (
            'trial.yaml:8: agents[0].rewrite["*"]: the model "dear" has no price, so a limit in usd cannot cover it; '
            'add prices for "dear", or give the budget in tokens'
        )
    ]


def test_a_command_that_names_a_model_needs_its_price(sentences: Sentences) -> None:
    """Whatever calls it: the meter would refuse each call."""
    found = sentences(
        ("name: small", "name: small\nbudget: {usd: 3}"),
        ("{name: claude, model: sonnet}", "{name: own, kind: text, model: gpt-zzz, command: 'ask {prompt}'}"),
    )

    assert len(found) == 1
    assert 'agents[0].model: the model "gpt-zzz" has no price, so a limit in usd cannot cover it' in found[0]


def test_more_runs_than_a_plan_can_hold_are_refused(sentences: Sentences) -> None:
    (found,) = sentences(("name: small", "name: small\ndefaults: {reps: 999999999}"))

    assert "defaults.reps: " in found
    assert "runs, and a trial has at most 10,000,000; lower reps, or make several trials of it" in found


def test_agents_that_call_no_model_need_no_price(write: Callable[..., Path]) -> None:
    agents = "{name: echo, kind: text, command: 'echo {prompt}'}"

    load_trial(
        write(("{name: claude, model: sonnet}", agents), ("name: small", "name: small\nbudget: {usd: 3}"))
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("arms: 3", "trial.yaml:2: arms: expected a list, got 3"),
        ("arms: {a: b}", "trial.yaml:2: arms: expected a list, got keys and values"),
        ("arms: [3]", "trial.yaml:2: arms[0]: expected keys and values, got 3"),
        ("agents: [[]]", "trial.yaml:2: agents[0]: expected keys and values, got a list"),
        ("questions:", "trial.yaml:2: questions: expected a list, got nothing"),
        ("prices: {m: 3}", "trial.yaml:2: prices.m: expected keys and values, got 3"),
        ("network: 3", "trial.yaml:2: network: 3 is not allowed here; allowed: sealed, open"),
        (
            "capabilities: [{id: c, questions: []}]",
            "trial.yaml:2: capabilities[0].questions: must not be empty",
        ),
    ],
)
def test_a_part_of_the_wrong_shape(sentences: Sentences, line: str, sentence: str) -> None:
    assert sentence in sentences(text=f"name: x\n{line}\n")


def test_nothing_is_said_of_references_into_a_list_that_is_broken(sentences: Sentences) -> None:
    found = sentences(
        ("name: small", "name: small\ndefaults: {baseline: docs}"),
        ("name: docs", "nme: [docs]"),
    )

    assert len(found) == 2
    assert "arms[1].nme: unknown key" in found[0]
    assert "arms[1].name: expected text, got a list" in found[1]


_SPEC: dict[str, Any] = {
    "name": "fuzz",
    "defaults": {"reps": 2, "baseline": "a"},
    "limits": {"memory": "2g"},
    "network": {"allow": ["h.example"]},
    "budget": {"usd": 1},
    "prices": {"m": {"input": 1, "output": 2}},
    "gateway": {"keys_from": {"openai": "KEY"}},
    "repos": [{"name": "r", "source": "https://example/r"}],
    "arms": [
        {"name": "a"},
        {"name": "b", "repos": {"r": "r"}, "skills": [{"name": "s", "description": "d", "content": "c"}]},
    ],
    "agents": [
        {"name": "codex", "models": ["m"], "efforts": ["low"]},
        {"name": "t", "kind": "text", "command": "c"},
    ],
    "questions": [
        {"id": "q", "repo": "r", "prompt": "p", "expect": ["x"]},
        {"id": "v", "prompt": "p", "verify": "t"},
    ],
    "capabilities": [{"id": "c", "questions": ["q"]}],
}
_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "a", "name", "..", "{", "2g", "q"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "id", "x", ""]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def _mutated(draw: st.DrawFn) -> object:
    spec = json.loads(json.dumps(_SPEC))
    for _ in range(draw(st.integers(0, 4))):
        parent, key = spec, draw(st.sampled_from(sorted(spec)))
        while isinstance(parent[key], dict | list) and parent[key] and draw(st.booleans()):
            parent = parent[key]
            key = draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
        change = draw(st.sampled_from(["set", "misspell", "delete"]))
        value = parent[key]
        if change == "set" or isinstance(parent, list):
            parent[key] = draw(_JUNK)
        else:
            del parent[key]
            if change == "misspell":
                parent[key[:-1] + "z"] = value
        if not spec:
            break
    return spec


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(_mutated())
def test_any_broken_spec_ends_in_problems_and_not_in_a_traceback(tmp_path: Path, spec: object) -> None:
    path = tmp_path / "trial.json"
    path.write_text(json.dumps(spec).replace("Infinity", ".inf").replace("NaN", ".nan"))
    problems = _problems(path)

    assert all(problem.line is not None or problem.path in {"", *_SPEC} for problem in problems)


def _problems(path: Path) -> tuple[Problem, ...]:
    try:
        load_trial(path)
    except SpecError as error:
        return error.problems
    return ()
