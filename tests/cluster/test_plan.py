"""The plan: what a run's id says, what it does not say, and the order of runs."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.content import script_digest
from tiltyard_cluster.plan import Plan, PlannedRun, make_plan
from tiltyard_specs import Trial, load_trial, select

COMMITS = {"app": "a" * 40, "other": "b" * 40}
GOLDEN_SPEC = """\
name: golden
seed: 1
defaults: {reps: 1}
arms: [{name: plain}, {name: docs, prompt_suffix: Briefly.}]
agents: [{name: probe, kind: text, command: "echo 4"}]
questions: [{id: sum, prompt: "2+2?", expect: ["4"]}]
"""
MakePlan = Callable[..., Plan]


def ids(plan: Plan) -> dict[tuple[Any, ...], str]:
    """Run ids by what names a run."""
    return {(r.capability, r.question, r.arm, r.agent, r.rep): r.run_id for r in plan.runs}


def changed(before: Plan, after: Plan) -> set[tuple[str, str, str]]:
    """Question, arm and agent of the runs whose id differs."""
    old, new = ids(before), ids(after)
    return {(key[1], key[2], key[3]) for key in old.keys() & new.keys() if old[key] != new[key]}


def everything(plan: Plan) -> set[tuple[str, str, str]]:
    return {(run.question, run.arm, run.agent) for run in plan.runs}


def test_golden_ids(plan: MakePlan) -> None:
    """A change here buys every run of every user again: raise SEMANTICS if it is meant."""
    golden = plan(text=GOLDEN_SPEC)

    assert golden.plan_id == "d2e08f3257ae8eb0a4600c459cbf3d8d"
    assert [(run.arm, run.run_id) for run in golden.runs] == [
        ("plain", "5b45b29abeab9dd5d4076539efdf4742"),
        ("docs", "36100b9d8a49e81d599eb8228b7aa556"),
    ]


def test_ids_do_not_depend_on_key_order_or_format(plan: MakePlan) -> None:
    """The same spec in another order of keys, or as TOML, is the same trial."""
    shuffled = """\
questions: [{expect: ["4"], prompt: "2+2?", id: sum}]
agents: [{command: "echo 4", kind: text, name: probe}]
arms: [{name: plain}, {prompt_suffix: Briefly., name: docs}]
defaults: {reps: 1}
seed: 1
name: golden
"""
    toml = """\
name = "golden"
seed = 1
defaults = {reps = 1}
arms = [{name = "plain"}, {name = "docs", prompt_suffix = "Briefly."}]
agents = [{name = "probe", kind = "text", command = "echo 4"}]
questions = [{id = "sum", prompt = "2+2?", expect = ["4"]}]
"""
    golden = plan(text=GOLDEN_SPEC)

    assert plan(text=shuffled, name="shuffled.yaml") == golden
    assert plan(text=toml, name="trial.toml") == golden


@pytest.mark.slow
def test_ids_do_not_depend_on_the_process(trial: Callable[..., Trial]) -> None:
    """Neither the hash seed nor the working directory matters."""
    path = trial().path
    code = (
        "import sys; from tiltyard_specs import load_trial; from tiltyard_cluster.plan import make_plan;"
        f"print(make_plan(load_trial(sys.argv[1]), {COMMITS!r}).runs)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=cwd,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed, cwd in (("1", "/"), ("2", path.parent))
    }

    assert printed == {f"{make_plan(load_trial(path), COMMITS).runs}\n"}


@pytest.mark.parametrize(
    ("old", "new", "question", "arm", "agent"),
    [
        ("One?", "One??", "q1", None, None),
        ("expect: [one]", "expect: [uno]", "q1", None, None),
        ("expect: [one]", "expect: [one], forbid: [two]", "q1", None, None),
        ("expect: [one]", "expect: [one], timeout: 61", "q1", None, None),
        ('verify: "true"', 'verify: "false"', "q2", None, None),
        ("check.py: graders", "checks.py: graders", "q2", None, None),
        ("repo: app", "repo: other", "q1", None, None),
        ("MODE: fast", "MODE: slow", None, "docs", None),
        ("{name: docs,", "{name: docs, prompt_prefix: Hello.,", None, "docs", None),
        ("{name: docs,", "{name: docs, setup: [make],", None, "docs", None),
        ("{name: docs,", "{name: docs, uses: kg,", None, "docs", None),
        ("{name: docs,", "{name: docs, repos: {app: other},", "q1", "docs", None),
        ("echo {prompt}", "printf {prompt}", None, None, "probe"),
        ("{name: codex,", "{name: codex, edits: true,", None, None, "codex"),
        ("{name: codex,", "{name: codex, args: [-x],", None, None, "codex"),
        ("{name: codex,", "{name: codex, timeout: 30,", None, None, "codex"),
        ("timeout: 60", "timeout: 61", None, None, None),
        ("timeout: 60", "timeout: 60, prompt_suffix: Briefly.", None, None, None),
        ("timeout: 60", "timeout: 60, claim: true", None, None, None),
        ("seed: 7", "seed: 7\nlimits: {memory: 3g}", None, None, None),
        ("seed: 7", "seed: 7\nhistory: full", None, None, None),
        ("seed: 7", "seed: 7\nnetwork: open", None, None, None),
        ("seed: 7", "seed: 7\nprotect: ['tests/**']", None, None, None),
        ("seed: 7", "seed: 7\nsetup_scope: run", None, None, None),
        ("seed: 7", "seed: 7\ngateway: {nonce: true}", None, None, None),
    ],
)  # fmt: skip
def test_what_determines_a_run_changes_its_id_and_no_other(
    plan: MakePlan, old: str, new: str, question: str | None, arm: str | None, agent: str | None
) -> None:
    """Only the runs that a change touches are run again."""
    before, after = plan(), plan((old, new))

    assert changed(before, after) == {
        (q, a, g)
        for q, a, g in everything(before)
        if question in {None, q} and arm in {None, a} and agent in {None, g.partition("@")[0]}
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reps: 2", "reps: 2, parallel: 2"),
        ("baseline: plain", "baseline: docs"),
        ("seed: 7", "seed: 7\nretries: 0"),
        ("seed: 7", "seed: 7\nbudget: {tokens: 1000}"),
        ("input: 1,", "input: 3,"),
        ("seed: 7", "seed: 7\ngateway: {keys_from: {openai: MY_KEY}}"),
        ("{name: codex,", "{name: codex, keys_from: {openai: MY_KEY},"),
        ("{name: docs,", "{name: docs, keys_from: {openai: MY_KEY},"),
        ("{name: docs,", "{name: docs, factors: {tool: graph},"),
        ("{name: docs,", "{name: docs, parallel_setup: true,"),
        ("name: small", "# a comment\nname: small"),
        ("name: small", "name: large"),
        ("seed: 7", "seed: 7\nlimits: {memory: 2g}"),
        ('verify: "true"', 'solution: solution.patch, verify: "true"'),
        ("{name: codex,", "{name: more, kind: nop}\n  - {name: codex,"),
    ],
)  # fmt: skip
def test_what_does_not_determine_a_run_leaves_its_id(plan: MakePlan, old: str, new: str) -> None:
    """An agent more, a higher budget or another key buys nothing again."""
    assert changed(plan(), plan((old, new))) == set()


def test_the_seed_changes_the_order_alone(plan: MakePlan) -> None:
    before, after = plan(), plan(("seed: 7", "seed: 8"))

    assert ids(before) == ids(after)
    assert [run.run_id for run in before.runs] != [run.run_id for run in after.runs]
    assert before.plan_id != after.plan_id


@pytest.mark.parametrize(
    ("file", "question", "arm"), [("graders/check.py", "q2", None), ("overlay/a.md", None, "docs")]
)
def test_the_content_of_named_files_counts(
    plan: MakePlan, tmp_path: Path, file: str, question: str | None, arm: str | None
) -> None:
    """A spec that stays the same while its overlay changes is another trial."""
    before = plan()
    (tmp_path / file).write_text("changed")

    assert changed(before, plan()) == {
        (q, a, g) for q, a, g in everything(before) if question in {None, q} and arm in {None, a}
    }


def test_an_executable_bit_in_an_overlay_counts(plan: MakePlan, tmp_path: Path) -> None:
    before = plan()
    (tmp_path / "overlay/a.md").chmod(0o755)

    assert {arm for _, arm, _ in changed(before, plan())} == {"docs"}


def test_a_new_commit_counts_for_its_questions(trial: Callable[..., Trial]) -> None:
    loaded = trial()
    before, after = make_plan(loaded, COMMITS), make_plan(loaded, COMMITS | {"app": "c" * 40})

    assert {question for question, _, _ in changed(before, after)} == {"q1"}


def test_scripted_answers_never_stand_for_a_providers(trial: Callable[..., Trial]) -> None:
    """A trial that was tried out on a script is run anew against the provider."""
    loaded = trial()
    real, scripted = make_plan(loaded, COMMITS), make_plan(loaded, COMMITS, script="digest")

    assert {agent for _, _, agent in changed(real, scripted)} == {"codex@gpt-a", "codex@gpt-b"}


@pytest.mark.parametrize(
    ("old", "new", "rerun"),
    [
        ("kind: text,", "kind: text, model: m,", {"plain", "docs"}),
        ("kind: text,", "kind: text, keys_from: {openai: MY_KEY},", {"plain", "docs"}),
        ("{name: docs,", "{name: docs, kind: claude, model: m,", {"docs"}),
    ],
)
def test_a_command_that_names_its_model_depends_on_the_script(
    trial: Callable[..., Trial], old: str, new: str, rerun: set[str]
) -> None:
    """Commands of kind text are taken at their word; an arm may put another agent in their place."""
    loaded = trial((old, new))
    real, scripted = make_plan(loaded, COMMITS), make_plan(loaded, COMMITS, script="digest")

    assert {arm for _, arm, agent in changed(real, scripted) if agent == "probe"} == rerun


def test_the_words_of_a_script_count_and_not_its_form(tmp_path: Path) -> None:
    """Comments, layout and defaults that are written out buy nothing again."""
    path = tmp_path / "script.yaml"

    def digest(text: str) -> str:
        path.write_text(text)
        return script_digest(path)

    first = digest("conversations: [{turns: [{text: Hello}]}]")

    assert digest("# said\nconversations:\n  - turns:\n      - text: 'Hello'\n        cut: false\n") == first
    assert digest("conversations: [{turns: [{text: Hello.}]}]") != first


def test_a_solution_counts_for_the_oracle_alone(plan: MakePlan, tmp_path: Path) -> None:
    oracle = ("{name: codex,", "{name: oracle, edits: true}\n  - {name: codex,")
    solutions = (
        ("expect: [one]", "expect: [one], solution: one.txt"),
        ('verify: "true"', 'solution: solution.patch, verify: "true"'),
    )
    before = plan(oracle, *solutions)
    solution = tmp_path / "solution.patch"
    solution.write_text(solution.read_text().replace("+b", "+c"))

    assert {agent for _, _, agent in changed(before, plan(oracle, *solutions))} == {"oracle"}


def test_selecting_agents_leaves_the_ids_of_the_others(trial: Callable[..., Trial]) -> None:
    """With the oracle or without it, the other agents' runs are the same runs."""
    loaded = trial(
        ("{name: codex,", "{name: oracle, edits: true}\n  - {name: codex,"),
        ("expect: [one]", "expect: [one], solution: one.txt"),
        ('verify: "true"', 'solution: solution.patch, verify: "true"'),
    )
    whole = ids(make_plan(loaded, COMMITS))
    part = ids(make_plan(select(loaded, agents=["probe"]), COMMITS))

    assert part.items() <= whole.items()


def test_blocks_hold_all_arms_back_to_back(plan: MakePlan) -> None:
    """The arms of a block follow each other, and a block never comes twice."""
    made = plan()
    runs_of_blocks = [list(runs) for _, runs in groupby(made.runs, key=lambda run: run.block)]

    assert len(runs_of_blocks) == len({run.block for run in made.runs}) == 2 * 2 * 3
    for runs in runs_of_blocks:
        assert {run.arm for run in runs} == {"plain", "docs"}
        assert len({(run.question, run.agent, run.rep) for run in runs}) == 1
    assert [list(block) for block in made.blocks()] == runs_of_blocks


def test_blocks_are_interleaved(plan: MakePlan) -> None:
    """All of one repetition comes before the next, and neither arm always goes first."""
    made = plan(("reps: 2", "reps: 20"))
    reps = [run.rep for run in made.runs]
    first = Counter(block[0].arm for block in made.blocks())
    questions = [block[0].question for block in made.blocks()]

    assert reps == sorted(reps)
    assert 30 < first["plain"] < 90
    assert questions[:6] != sorted(questions[:6])
    assert [run.position for run in made.runs] == list(range(240))


def test_an_order_of_its_own_in_each_repetition(plan: MakePlan) -> None:
    made = plan()
    half = len(made.runs) // 2

    def cells(runs: tuple[PlannedRun, ...]) -> list[tuple[str, str, str]]:
        return [(run.question, run.arm, run.agent) for run in runs]

    assert cells(made.runs[:half]) != cells(made.runs[half:])


@pytest.mark.parametrize(
    "chosen",
    [
        {"questions": ["q2"]},
        {"arms": ["docs"]},
        {"agents": ["codex"]},
        {"agents": ["codex@gpt-b"]},
        {"reps": 1},
    ],
)
def test_a_selection_keeps_ids_places_and_order(trial: Callable[..., Trial], chosen: dict[str, Any]) -> None:
    """What is left of the plan is what stood there before."""
    loaded = trial()
    whole = make_plan(loaded, COMMITS).runs
    part = make_plan(select(loaded, **chosen), COMMITS).runs

    assert 0 < len(part) < len(whole)
    assert list(part) == [run for run in whole if run in part]


def test_more_repetitions_come_after_the_others(trial: Callable[..., Trial]) -> None:
    loaded = trial()
    whole = make_plan(loaded, COMMITS).runs

    assert make_plan(select(loaded, reps=3), COMMITS).runs[: len(whole)] == whole


def test_a_question_in_two_capabilities_is_two_runs(plan: MakePlan) -> None:
    both = "seed: 7\ncapabilities: [{id: c1, questions: [q1, q2]}, {id: c2, questions: [q1]}]"
    made = plan(("seed: 7", both))
    placed = {(run.capability, run.question) for run in made.runs}

    assert placed == {("c1", "q1"), ("c2", "q1"), ("c1", "q2")}
    assert len(made.runs) == len({run.run_id for run in made.runs}) == 3 * 2 * 3 * 2


def test_a_question_outside_every_capability_is_still_asked(plan: MakePlan) -> None:
    made = plan(("seed: 7", "seed: 7\ncapabilities: [{id: c1, questions: [q1]}]"))

    assert {(run.capability, run.question) for run in made.runs} == {("c1", "q1"), (None, "q2")}


def test_two_arms_alike_are_different_runs(plan: MakePlan) -> None:
    """An A/A trial."""
    made = plan(("{name: docs, overlay: overlay, env: {MODE: fast}}", "{name: again}"))

    assert len({run.run_id for run in made.runs}) == len(made.runs) == 24


def test_the_plan_is_plain_data(plan: MakePlan) -> None:
    """Runs can travel to another process as JSON."""
    run = plan().runs[0]
    fields = {name: getattr(run, name) for name in PlannedRun.__slots__}

    assert PlannedRun(**json.loads(json.dumps(fields))) == run
