"""Money through the command line: the estimate before, the prices in the record, the models in use."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ASK = """\
import json, os, sys, urllib.error, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
messages = [{"role": "user", "content": "Hi"}]
for number in range(int(sys.argv[2])):
    body = {"model": sys.argv[1], "max_tokens": 10, "messages": messages}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        text = json.load(urllib.request.urlopen(request))["content"][0]["text"]
    except urllib.error.HTTPError as error:
        sys.exit(f"refused: {error.code}")
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "And?"}]
print(text)
"""
TURN = {"text": "It is 4.", "usage": {"input": 100, "output": 10}}
SCRIPT = {
    "conversations": [
        {"when": {"model": "busy"}, "turns": [TURN, TURN | {"errors": [529] * 20}]},
        {"turns": [TURN, TURN]},
    ]
}
PRICES = {"input": 1000, "output": 1000, "max_output": 10}
SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 2, "timeout": 120},
    "limits": {"memory": "128m"},
    "budget": {"usd": 5},
    "prices": {"worker": PRICES, "busy": PRICES},
    "arms": [{"name": "plain"}, {"name": "twice", "command": "python3 ask.py worker 2"}],
    "agents": [{"name": "asker", "kind": "text", "model": "worker", "command": "python3 ask.py worker 1"}],
    "questions": [{"id": "q", "prompt": "2+2?", "expect": ["4"]}],
}
DEARER = {"worker": PRICES | {"input": 2000}, "busy": PRICES}
"""A call of 100 tokens in and 10 out costs $0.11 at first and $0.21 then."""


def _spec(**changes: Any) -> dict[str, Any]:
    spec = SPEC | changes
    return spec | {"arms": [{"overlay": "files", **arm} for arm in spec["arms"]]}


def _tree(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def paid(world: Any) -> Any:
    """A trial that is estimated, run, estimated for more, and run on at other prices."""
    files = world.folder / "files"
    files.mkdir()
    (files / "ask.py").write_text(ASK)
    (world.folder / "script.yaml").write_text(yaml.safe_dump(SCRIPT))
    script = ("--model-script", "script.yaml")
    world.write(_spec())
    world.before = world("run", "trial.yaml", *script, "--estimate", DOCKER_HOST="unix:///nowhere.sock")
    world.made = world.out.exists()
    world.first = world("run", "trial.yaml", *script)
    world.first_ids = {key: record["run_id"] for key, record in world.records().items()}
    tree = _tree(world.out)
    more = ("run", "trial.yaml", *script, "--reps", "3")
    world.between = json.loads(world(*more, "--estimate", "--json", DOCKER_HOST="unix:///nowhere.sock").out)
    world.untouched = _tree(world.out) == tree
    world.write(_spec(prices=DEARER))
    world.second = world(*more)
    assert world.first.code == world.second.code == 0, world.first.err + world.second.err
    return world


def test_an_estimate_needs_no_engine_and_makes_nothing(paid: Any) -> None:
    assert paid.before.code == 0, paid.before.err
    assert "no earlier runs of asker (worker)" in paid.before.out
    assert "$0.00" not in paid.before.out
    assert not paid.made
    assert paid.untouched


def test_every_start_prints_one_line_before_its_first_run(paid: Any) -> None:
    for start, said in (
        (paid.first, "estimate for 2 runs; unknown for 2 runs: no earlier runs of asker (worker); whether"),
        (paid.second, "estimate for 4 runs, about 660 (440 to 880) tokens, which would be $1.26"),
    ):
        lines = start.err.splitlines()
        (at,) = [index for index, line in enumerate(lines) if line.startswith("estimate for ")]
        assert lines[at].startswith(said)
        assert all("asker #" not in line for line in lines[:at])


def test_the_estimate_is_what_the_runs_then_cost(paid: Any) -> None:
    """The answers are scripted, so each run costs what the one before it did: 110 and 220 tokens."""
    parts = {part["arm"]: part for part in paid.between["parts"]}
    assert {arm: (part["runs"], part["tokens"]["mean"]) for arm, part in parts.items()} == {
        "plain": (2, 220),
        "twice": (2, 440),
    }
    assert paid.between["usd"]["mean"] == pytest.approx(0.66)
    assert paid.between["spent"]["tokens"] == 330
    assert paid.between["budget"]["left"] == pytest.approx(5 - 0.33)
    spent = sum(record["metered"]["usage"]["input"] for record in paid.records().values())
    assert spent == 300 + 600


def test_other_prices_buy_nothing_again_and_are_told(paid: Any) -> None:
    """Runs keep their ids; each record names its table, the receipt has both, the report says so."""
    records = paid.records()
    assert {key: records[key]["run_id"] for key in paid.first_ids} == paid.first_ids
    assert len(records) == 6
    costs = {key: record["metered"]["cost_usd"] for key, record in records.items() if "plain" in key}
    assert costs == {
        "q/plain/asker/1": pytest.approx(0.11),
        "q/plain/asker/2": pytest.approx(0.21),
        "q/plain/asker/3": pytest.approx(0.21),
    }
    tables = paid.receipt()["prices"]
    named = {record["versions"]["prices"] for record in records.values()}
    assert set(tables) == named
    assert sorted(table["worker"]["input"] for table in tables.values()) == [1000, 2000]
    assert (
        "The price table is not the same in all runs (each arm has the same mix)"
        in paid("report", "trial-results").out
    )


def test_a_budget_that_will_not_suffice_is_told_before_the_first_run(paid: Any) -> None:
    paid.write(_spec(budget={"usd": 0.2}), "short.yaml")
    more = ("run", "short.yaml", "--model-script", "script.yaml", "--out", "short")
    done = paid(*more, "--estimate", "--from", "trial-results")

    assert "the budget will not suffice: $0.33" in done.out
    assert "Bound: at most $0.20: the budget is never passed." in done.out
    # Scripted runs are no basis for paid ones.
    assert "no earlier runs" in paid("run", "short.yaml", "--estimate", "--from", "trial-results").out


def test_fidelity_names_the_models(paid: Any) -> None:
    done = paid("fidelity", "trial-results")

    assert done.code == 0, done.out
    assert "twice: 3 of 3 completed runs called the worker." in done.out
    assert ["twice", "worker", "*", "worker", "6", "660", "$1.06"] in [
        line.split() for line in done.out.splitlines()
    ]
    assert paid("fidelity", "trial-results", "--worker", "other*").code == 1


def test_every_end_keeps_its_spend_and_has_one_policy(paid: Any) -> None:
    """A run out of time and a crash are failures; an overloaded provider is excluded, its spend told."""
    commands = {"good": "1", "slow": "1; sleep 300", "crash": "1; exit 3"}
    agents: list[dict[str, Any]] = [
        {"name": name, "kind": "text", "model": "worker", "command": f"python3 ask.py worker {rest}"}
        for name, rest in commands.items()
    ]
    agents[1]["timeout"] = 12
    agents.append({"name": "busy", "kind": "text", "model": "busy", "command": "python3 ask.py busy 2"})
    paid.write(_spec(agents=agents, arms=[{"name": "plain"}], retries=0), "ends.yaml")
    done = paid("run", "ends.yaml", "--model-script", "script.yaml", "--parallel", "4")
    records = [json.loads(path.read_text()) for path in (paid.folder / "ends-results").rglob("run.json")]

    assert {record["agent"]: record["outcome"] for record in records} == {
        "good": "passed",
        "slow": "timeout",
        "crash": "no_answer",
        "busy": "infra",
    }, done.err
    assert {record["agent"]: record["metered"]["usage"]["input"] for record in records} == dict.fromkeys(
        ("good", "slow", "crash", "busy"), 100
    )
    assert done.code == 3
    report = paid("report", "ends-results").out
    data = json.loads(paid("report", "ends-results", "--json").out)
    rows = {row["agent"]: row["arms"][0] for row in data["agents"]}
    correct = {name: (row["correct"]["successes"], row["correct"]["n"]) for name, row in rows.items()}
    assert correct == {"good": (1, 1), "slow": (0, 1), "crash": (0, 1), "busy": (0, 0)}
    assert "- Of that in the 1 excluded run of plain: 0.11" in report
    assert "Token totals of different agents are not comparable" in report
