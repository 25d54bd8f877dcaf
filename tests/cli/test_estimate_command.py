"""`tiltyard run --estimate` on results that are written by hand: no engine is needed, nothing is started."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
SPEC = """\
name: small
defaults: {reps: 2}
budget: {usd: 1}
prices:
  gpt-a: {input: 1, output: 2, cache_read: 0.1, max_output: 1000}
arms: [{name: plain}, {name: docs}]
agents:
  - {name: codex, model: gpt-a}
questions:
  - {id: sum, prompt: "2+2?", expect: ["4"]}
  - {id: more, prompt: "2+3?", expect: ["5"]}
"""
NOTHING = {"input": 0, "output": 0}
TABLE = "the version of another table"


@pytest.fixture
def trial(writer: Callable[..., Callable[..., Path]]) -> Callable[..., Path]:
    """Write the spec with changes."""
    return writer(SPEC)


@pytest.fixture
def earlier(tmp_path: Path) -> Callable[..., Path]:
    """Write a record of an earlier run, by default of 110,000 tokens for $0.12 at the prices of the spec."""

    def write(
        question: str = "sum", arm: str = "plain", rep: int = 1, thousands: int = 100, **changes: Any
    ) -> Path:
        usage = {"input": thousands * 1000, "output": thousands * 100}
        record = {
            "schema_version": 1, "run_id": f"{question}-{arm}-{rep}".ljust(32, "0"), "trial": "t",
            "question": question, "arm": arm, "agent": "codex", "rep": rep, "attempt": 1, "outcome": "passed",
            "seconds": 1.0, "started_at": "2026-01-01T00:00:00Z", "node": "", "kind": "codex",
            "model": "gpt-a", "usage": usage, "metered": {"usage": usage, "cost_usd": 9.0, "calls": 1},
            "versions": {"prices": TABLE},
        } | changes  # fmt: skip
        folder = tmp_path / changes.pop("folder", "prior")
        path = folder / "runs" / question / arm / record["agent"] / str(rep) / "run.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        record.pop("folder", None)
        path.write_text(json.dumps(record))
        return folder

    return write


def _estimate(tiltyard: Command, *args: str) -> dict[str, Any]:
    done = tiltyard("run", "trial.yaml", "--estimate", "--json", *args)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_without_earlier_runs_it_is_unknown_and_nothing_is_made(
    tiltyard: Command, trial: Any, tmp_path: Path
) -> None:
    trial()
    done = tiltyard("run", "trial.yaml", "--estimate", DOCKER_HOST="unix:///nowhere.sock")

    assert done.code == 0
    assert done.out.splitlines()[0] == "8 runs to do, 0 done; nothing was started or spent."
    assert "unknown  unknown  no earlier runs of codex (gpt-a)" in done.out
    assert "whether the budget suffices is not known: $1.00 of $1.00 left" in done.out
    assert "Bound: at most $1.00: the budget is never passed." in done.out
    assert "$0.00" not in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["trial.yaml"]


def test_the_nearest_runs_count_and_their_spread_is_the_range(
    tiltyard: Command, trial: Any, earlier: Any
) -> None:
    trial()
    for rep, thousands in enumerate((100, 200), 1):
        earlier("sum", "plain", rep, thousands)
        earlier("more", "plain", rep, 10 * thousands)
    parts = {part["arm"]: part for part in _estimate(tiltyard, "--from", "prior")["parts"]}

    # Two reps of each question: 2 x 165k + 2 x 1,650k.
    assert parts["plain"]["tokens"] == {
        "mean": pytest.approx(3_630_000),
        "low": pytest.approx(2_420_000),
        "high": pytest.approx(4_840_000),
    }
    assert parts["plain"]["usd"]["mean"] == pytest.approx(3.96)
    assert parts["docs"]["tokens"] == parts["plain"]["tokens"]
    levels = {arm: [support["level"] for support in part["basis"]] for arm, part in parts.items()}
    assert levels == {
        "plain": ["the same question, arm and agent"],
        "docs": ["the same question and agent"],
    }
    assert parts["plain"]["basis"][0] == {
        "level": "the same question, arm and agent", "runs": 4, "sources": ["prior"]
    }  # fmt: skip


def test_one_earlier_run_shows_no_spread(tiltyard: Command, trial: Any, earlier: Any) -> None:
    trial()
    earlier()
    found = _estimate(tiltyard, "--from", "prior")

    assert found["tokens"] == {"mean": pytest.approx(880_000), "low": None, "high": None}
    done = tiltyard("run", "trial.yaml", "--estimate", "--from", "prior")
    assert "880k (spread unknown)" in done.out


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        ("0.9", "the budget will not suffice: $1.44 ($0.96 to $1.92) expected, $0.90 of $0.90 left"),
        ("1.5", "the budget may not suffice: $1.44 ($0.96 to $1.92) expected, $1.50 of $1.50 left"),
        ("2", "the budget suffices: $2.00 of $2.00 left"),
    ],
)
def test_how_it_stands_to_the_budget(
    tiltyard: Command, trial: Any, earlier: Any, budget: str, sentence: str
) -> None:
    trial(("usd: 1", f"usd: {budget}"))
    earlier(rep=1, thousands=100)
    earlier(rep=2, thousands=200)

    assert f"Budget: {sentence}.\n" in tiltyard("run", "trial.yaml", "--estimate", "--from", "prior").out


def test_a_budget_that_one_call_may_pass_is_told(tiltyard: Command, trial: Any, earlier: Any) -> None:
    """What is expected would fit; the reserve of a call without a cap does not."""
    trial(("usd: 1", "usd: 2"), ("max_output: 1000}", "max_output: 1100000}"))
    earlier(rep=1, thousands=100)
    earlier(rep=2, thousands=200)
    out = tiltyard("run", "trial.yaml", "--estimate", "--from", "prior").out

    assert (
        "Budget: the budget may not suffice: $1.44 ($0.96 to $1.92) expected, $2.00 of $2.00 left, "
        "and a call without a cap of its own may take $2.20 for its output alone.\n"
    ) in out


def test_the_budget_may_be_one_of_tokens(tiltyard: Command, trial: Any, earlier: Any) -> None:
    trial(("usd: 1", "tokens: 500000"))
    earlier()
    done = tiltyard("run", "trial.yaml", "--estimate", "--from", "prior")

    assert "the budget will not suffice: 880k (spread unknown) expected, 500k of 500k tokens left" in done.out
    assert "at most $" not in done.out
    assert "Bound: at most 500k tokens: the budget is never passed." in done.out


def test_limits_bound_the_worst_case(tiltyard: Command, trial: Any) -> None:
    """Every attempt may be repeated twice; a token is at most as dear as the dearest price."""
    trial(("budget: {usd: 1}", "limits: {tokens: 100000}"))
    found = _estimate(tiltyard)

    assert found["most"] == {"tokens": 8 * 3 * 100_000, "usd": pytest.approx(8 * 3 * 0.2), "by": "limits"}
    assert "every retry included" in tiltyard("run", "trial.yaml", "--estimate").out


def test_a_spend_that_nothing_bounds_is_told(tiltyard: Command, trial: Any) -> None:
    trial(("budget: {usd: 1}\n", ""))

    assert "nothing bounds what these runs may spend" in tiltyard("run", "trial.yaml", "--estimate").out


def test_costs_are_at_todays_prices(tiltyard: Command, trial: Any, earlier: Any) -> None:
    """The record's own $9 rest on another table."""
    trial()
    earlier()

    assert _estimate(tiltyard, "--from", "prior")["usd"]["mean"] == pytest.approx(8 * 0.12)


def test_a_cost_without_a_row_today_is_that_of_its_time_with_a_note(
    tiltyard: Command, trial: Any, earlier: Any
) -> None:
    trial(("budget: {usd: 1}", "budget: {tokens: 1000}"), ("gpt-a: {input", "gpt-b: {input"))
    earlier()
    found = _estimate(tiltyard, "--from", "prior")

    assert found["usd"]["mean"] == pytest.approx(8 * 9.0)
    assert found["notes"] == [
        "the cost of 1 earlier runs is at the prices of their time: they have no row today"
    ]


def test_one_price_for_all_tokens_where_none_is_known(tiltyard: Command, trial: Any, earlier: Any) -> None:
    trial(("budget: {usd: 1}", "budget: {tokens: 1000}"), ("gpt-a: {input", "gpt-b: {input"))
    folder = earlier(metered={"usage": {"input": 100_000, "output": 10_000}, "calls": 1})
    assert _estimate(tiltyard, "--from", folder.name)["usd"] is None
    done = tiltyard("run", "trial.yaml", "--estimate", "--from", "prior", "--price-per-mtok", "3")

    assert "$1.32 (spread unknown) (projected)" in done.out
    assert "Token totals of different agents are not comparable" in done.out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "gpt-b"}, None),
        ({"outcome": "infra"}, None),
        ({"agent": "other", "kind": "claude"}, None),
        ({"usage": None}, "1 earlier run is left out: its usage is not fully known"),
        (
            {"usage": NOTHING, "metered": {"usage": NOTHING, "cost_usd": 0.0, "calls": 0}},
            "1 earlier run is left out: no model answered it",
        ),
    ],
)
def test_runs_that_tell_nothing_are_left_out(
    tiltyard: Command, trial: Any, earlier: Any, change: dict[str, Any], why: str | None
) -> None:
    """Another model, a run that broke off, another agent, usage that is known in part, or none."""
    trial()
    earlier(**change)
    found = _estimate(tiltyard, "--from", "prior")

    assert found["tokens"] is None
    assert found["unknown_tokens_runs"] == 8
    assert found["notes"] == ([why] if why else [])


def test_a_dated_model_name_is_the_same_model(tiltyard: Command, trial: Any, earlier: Any) -> None:
    trial()
    earlier(model="gpt-a-2026-01-31")

    assert _estimate(tiltyard, "--from", "prior")["tokens"]["mean"] == pytest.approx(880_000)


def test_scripted_runs_tell_nothing_about_a_provider(tiltyard: Command, trial: Any, earlier: Any) -> None:
    trial()
    folder = earlier()
    receipt = {
        "schema_version": 1, "trial": "t", "plan_id": "p", "seed": 1, "spec": {},
        "policy": {"models": "scripted"},
    }  # fmt: skip
    (folder / "trial.json").write_text(json.dumps(receipt))
    found = _estimate(tiltyard, "--from", "prior")

    assert found["tokens"] is None
    assert found["notes"] == ["prior is left out: a script answered there"]


def test_the_results_folder_itself_is_asked_first(tiltyard: Command, trial: Any, earlier: Any) -> None:
    """Its runs are of an older spec here: they are not done, and tell all the same. Each counts once."""
    trial()
    earlier(folder="trial-results")
    found = _estimate(tiltyard, "--from", "trial-results")

    assert (found["runs"], found["done"], found["earlier_runs"]) == (8, 0, 1)


def test_agents_without_a_model_spend_nothing(tiltyard: Command, trial: Any) -> None:
    trial(
        ("{name: codex, model: gpt-a}", "{name: nop}\n  - {name: probe, kind: text, command: echo}"),
        ("budget: {usd: 1}\n", ""),
    )
    done = tiltyard("run", "trial.yaml", "--estimate")

    assert "calls no model" in done.out
    assert "not counted  not counted  the spec names no model for it" in done.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--estimate", "--price-per-mtok", "inf"], "--price-per-mtok is inf, it must be a number"),
        (["--out", ""], "--out is empty; name a folder or s3://bucket/prefix"),
        (["--estimate", "--dry-run"], "--estimate and --dry-run exclude each other; both run nothing"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tiltyard: Command, trial: Any, options: list[str], sentence: str
) -> None:
    trial()
    done = tiltyard("run", "trial.yaml", *options)

    assert (done.code, done.err) == (64, f"tiltyard: {sentence}\n")


@pytest.mark.parametrize("option", [["--json"], ["--from", "x"], ["--price-per-mtok", "3"]])
def test_options_of_the_estimate_need_it(tiltyard: Command, trial: Any, option: list[str]) -> None:
    trial()
    done = tiltyard("run", "trial.yaml", *option)

    assert done.code == 64
    assert done.err == "tiltyard: --from, --price-per-mtok and --json need --estimate\n"


def test_a_folder_without_a_trial_is_named(tiltyard: Command, trial: Any) -> None:
    trial()
    done = tiltyard("run", "trial.yaml", "--estimate", "--from", "nowhere")

    assert (done.code, done.err) == (65, "tiltyard: nowhere is no results folder: there is no such folder\n")
