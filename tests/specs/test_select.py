"""Narrowing a trial by the command line's options."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_specs import SpecError, Trial, UsageError, load_trial, select

EXAMPLES = Path(__file__).parents[2] / "specs" / "examples"

TOO_MANY = (
    "2 x 2 x 6 x 1,000,000,000 (questions, arms, agents, reps) are 24,000,000,000 runs, and a trial has at most "
    "10,000,000; lower --reps"
)


@pytest.fixture
def trial() -> Trial:
    return load_trial(EXAMPLES / "docs-layer.yaml")


def test_no_names_mean_everything(trial: Trial) -> None:
    assert select(trial).spec == trial.spec
    assert select(trial).agents == trial.agents


def test_what_is_named_stays(trial: Trial) -> None:
    narrowed = select(trial, questions=["inherit"], arms=["docs"], agents=["codex@gpt-5.1@low"], reps=2)

    assert [question.id for question in narrowed.spec.questions] == ["inherit"]
    assert [arm.name for arm in narrowed.spec.arms] == ["docs"]
    assert [agent.name for agent in narrowed.agents] == ["codex@gpt-5.1@low"]
    assert [agent.name for agent in narrowed.spec.agents] == ["codex"]
    assert [capability.id for capability in narrowed.spec.capabilities] == ["navigation"]
    assert narrowed.spec.defaults.reps == 2
    assert narrowed.baseline.name == "docs"
    assert narrowed.selection.agents == ("codex@gpt-5.1@low",)


def test_the_rest_of_the_trial_is_unchanged(trial: Trial) -> None:
    narrowed = select(trial, questions=["inherit"])

    assert narrowed.seed == trial.seed
    assert narrowed.whole == trial.spec


def test_a_base_name_selects_all_of_its_variants(trial: Trial) -> None:
    assert len(select(trial, agents=["codex"]).agents) == 4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"questions": ["inherits"]},
            'no question is called "inherits"; did you mean "inherit"? Questions: inherit, range-order',
        ),
        ({"arms": ["dcs"]}, 'no arm is called "dcs"; did you mean "docs"? Arms: docs, plain'),
        (
            {"agents": ["codex@gpt-5.1@hgh"]},
            (
                'no agent is called "codex@gpt-5.1@hgh"; did you mean "codex@gpt-5.1@high"? Agents: claude, codex, '
                "codex@gpt-5.1-mini@high, codex@gpt-5.1-mini@low, codex@gpt-5.1@high, codex@gpt-5.1@low, echo"
            ),
        ),
        ({"reps": 0}, "reps must be at least 1, got 0"),
        ({"reps": 10**9}, TOO_MANY),
    ],
)
def test_a_selection_that_matches_nothing_names_what_there_is(
    trial: Trial, options: dict[str, list[str]], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        select(trial, **options)  # type: ignore[arg-type]  # one option per case

    assert str(caught.value) == sentence
    assert caught.value.exit_code == 64


ORACLE = ("{name: claude, model: sonnet}", "{name: oracle}")


def test_the_oracle_needs_solutions_to_the_selected_questions(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.txt").write_text("x")
    write(
        ORACLE,
        ("    expect: [it]", "    expect: [it]\n  - {id: q2, prompt: p, expect: [x], solution: s.txt}"),
    )
    monkeypatch.chdir(tmp_path)
    trial = load_trial("trial.yaml")

    with pytest.raises(SpecError) as caught:
        select(trial)

    assert str(caught.value) == (
        'trial.yaml:8: questions[0]: the oracle agent needs a solution to "q1"; '
        "add solution, or leave the question out of the oracle's runs"
    )
    assert select(trial, questions=["q2"]).spec.questions[0].id == "q2"
