"""Plans as files: pinned commits, and every way in which a spec can no longer be what was planned."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.addresses import S3Address, local_home, open_store, parse_address
from tiltyard_cluster.budget import budget_of_part
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.planning import plan_trial, planned_trial, require_shard, spec_of
from tiltyard_cluster.resolve import default_out, resolve
from tiltyard_cluster.store import FolderStore
from tiltyard_specs import DataError, Trial, UsageError, load_trial, select
from tiltyard_specs.plan_file import PlanFile, parse_plan
from tiltyard_specs.receipt import ShardName

SPEC = """\
name: planned
defaults: {reps: 2}
budget: {tokens: 1000}
repos: [{name: app, source: app}]
arms: [{name: plain}, {name: docs, prompt_suffix: Briefly.}]
agents: [{name: a, kind: text, command: cat}]
questions:
  - {id: one, repo: app, prompt: "One?", expect: [one]}
  - {id: two, prompt: "Two?", expect: [two]}
"""
SCRIPT = "conversations: [{turns: [{text: Yes.}]}]\n"


class Made:
    """A spec with a repository beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options = RunOptions(environ={"TILTYARD_CACHE": str(folder / "cache")})
        (folder / "app").mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        command = ["git", *identity, *words]
        done = subprocess.run(command, cwd=self.folder / "app", check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("commit", "--quiet", "--allow-empty", "--message", "more")
        return self.git("rev-parse", "HEAD")

    def trial(self, *changes: tuple[str, str]) -> Trial:
        text = SPEC
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = self.folder / "trial.yaml"
        path.write_text(text)
        return load_trial(path)

    def plan(self, trial: Trial | None = None, **options: Any) -> PlanFile:
        return plan_trial(trial or select(self.trial()), replace(self.options, **options), spec="trial.yaml")

    def resolve(self, plan: PlanFile, *changes: tuple[str, str], **options: Any) -> Any:
        trial = planned_trial(self.trial(*changes), plan)
        return resolve(trial, replace(self.options, plan=plan, **options))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.mark.slow
def test_shards_run_at_the_commits_of_the_plan(made: Made) -> None:
    """A branch that has moved since changes nothing, and the shards are the plan's blocks in its order."""
    plan = parse_plan(made.plan().to_json(), "plan.json")
    assert made.commit() != plan.commits["app"]
    shards = [made.resolve(plan, shard=ShardName(index=n, of=2)) for n in (1, 2)]

    assert all(shard.commits in (plan.commits, {}) for shard in shards)
    assert [run.run_id for shard in shards for run in shard.plan.runs] == list(plan.runs.run_id)
    assert {shard.plan.plan_id for shard in shards} == {plan.plan_id}
    assert made.plan().plan_id != plan.plan_id


@pytest.mark.slow
def test_a_changed_spec_is_refused_by_name(made: Made) -> None:
    (made.folder / "script.yaml").write_text(SCRIPT)
    plan, script = made.plan(), made.folder / "script.yaml"
    scripted = made.plan(model_script=script)

    with pytest.raises(DataError, match=r"4 of 8 runs differ, such as two \w+ a #1; make a new plan"):
        made.resolve(plan, ("Two?", "Two!"))
    with pytest.raises(DataError, match=r"4 of 8 runs differ, such as \w+ docs a #1"):
        made.resolve(plan, ("prompt_suffix: Briefly.", "prompt_suffix: Well."))
    with pytest.raises(DataError, match="plan is of trial planned, and the spec is of trial other"):
        made.resolve(plan, ("name: planned", "name: other"))
    with pytest.raises(DataError, match=f"its seed is 5, the plan's {plan.seed}"):
        made.resolve(plan, ("name: planned", "name: planned\nseed: 5"))
    with pytest.raises(DataError, match="made without a model script"):
        made.resolve(plan, model_script=script)
    with pytest.raises(DataError, match="made with a model script: give the same one"):
        made.resolve(scripted)
    script.write_text(SCRIPT.replace("Yes", "No"))
    with pytest.raises(DataError, match="made with another model script"):
        made.resolve(scripted, model_script=script)
    with pytest.raises(UsageError, match='no question is called "two"'):
        planned_trial(
            made.trial(("id: two", "id: three")), made.plan(select(made.trial(), questions=["two"]))
        )


@pytest.mark.slow
def test_what_changes_no_run_may_change(made: Made) -> None:
    """Budgets, prices and the like: their change would move a seed that the spec leaves open."""
    plan = made.plan(select(made.trial(), arms=["docs"], reps=1))
    same = made.resolve(plan, ("tokens: 1000", "tokens: 5000"), ("reps: 2", "reps: 3"))

    assert [run.run_id for run in same.plan.runs] == list(plan.runs.run_id)
    assert {run.arm for run in same.plan.runs} == {"docs"}


@pytest.mark.slow
def test_the_shares_of_a_budget_are_no_more_than_all_of_it(made: Made) -> None:
    plan, trial = made.plan(), select(made.trial())
    shares = [budget_of_part(trial, plan, ShardName(index=n, of=3)).spec.budget for n in (1, 2, 3)]

    assert [share.tokens for share in shares if share] == [250, 250, 500]
    assert budget_of_part(trial, plan, None) is trial
    usd = select(made.trial(("tokens: 1000", "usd: 10")))
    assert budget_of_part(usd, plan, ShardName(index=3, of=3)).spec.budget.usd == 5.0  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_plan_names_its_spec_and_its_cut(made: Made, tmp_path: Path) -> None:
    plan = made.plan()

    assert spec_of(plan, tmp_path / "plans" / "plan.json") == tmp_path / "plans" / "trial.yaml"
    require_shard(plan, ShardName(index=3, of=9))
    with pytest.raises(UsageError, match="cut into 4 shards, not into 9: give I/4"):
        require_shard(plan.model_copy(update={"shards": 4}), ShardName(index=3, of=9))
    assert default_out(Path("a/trial.yaml"), ShardName(index=2, of=5)) == Path("a/trial-results-2-of-5")


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("results", Path("results")),
        ("s3://bucket/a/b/", S3Address("bucket", "a/b")),
        ("s3://bucket", S3Address("bucket", "")),
    ],
)
def test_addresses(text: str, means: object) -> None:
    assert parse_address(text) == means


@pytest.mark.parametrize("text", ["s3://", "s3://B/x", "s3:///x", "gs://bucket/x", "s3://bucket/.hidden"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"give|dot"):
        parse_address(text)


def test_a_store_is_opened_without_asking_anybody(tmp_path: Path) -> None:
    folder = open_store(tmp_path / "new")

    assert isinstance(folder, FolderStore)
    assert not (tmp_path / "new").exists()
    assert str(open_store("s3://bucket/a", "http://127.0.0.1:1")) == "s3://bucket/a"


def test_attempts_under_way_lie_in_a_folder_of_their_own_for_each_place(tmp_path: Path) -> None:
    def homes(bucket: str, prefix: str, endpoint: str | None, environ: dict[str, str]) -> Path:
        return local_home(S3Address(bucket, prefix), endpoint, tmp_path, environ)

    places = {
        homes("b", "p", None, {}),
        homes("b", "q", None, {}),
        homes("b", "p", "http://x", {}),
        homes("b", "p", None, {"AWS_ENDPOINT_URL": "http://y"}),
    }

    assert len(places) == 4
    assert homes("b", "p", None, {"AWS_ENDPOINT_URL_S3": "http://x"}) in places
