"""Through the command line: what agents claim of their checks, and what was registered before the start."""

import itertools
import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.engine


def claims(answer: str, result: str | None) -> str:
    """A command that answers, with a claim, and says from when to when it ran."""
    data = {"ran": ["grep 4"], "result": result, "could_not_verify": [], "missing": ["a\x1b[2J`database`"]}
    line = f"VERIFICATION: {json.dumps(data)}" if result else "Nothing was verified."
    return f"date +%s.%N; sleep 0.2; echo {answer}; echo '{line}'; date +%s.%N"


SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 1, "timeout": 60, "claim": True},
    "limits": {"memory": "256m"},
    "arms": [{"name": "plain"}],
    "agents": [
        {"name": name, "kind": "text", "command": claims(answer, result)}
        for name, answer, result in (
            ("honest", "four", "passed"),
            ("boaster", "five", "passed"),
            ("doubter", "four", "not-run"),
            ("silent", "four", None),
        )
    ],
    "questions": [{"id": "q", "prompt": "2+2?", "expect": ["four"], "forbid": ["grep"]}],
}


@pytest.fixture(scope="module")
def done(world: Any) -> dict[str, Any]:
    """Checked, run, changed, run again: with what was said, and the receipts and report of each time."""
    world.write(SPEC)
    said: dict[str, Any] = {"check": world("check", "trial.yaml")}
    for start in ("first", "again"):
        said[start] = world("run", "trial.yaml")
        said[f"{start} receipt"] = world.receipt()
        said[f"{start} report"] = world("report", "trial-results")
    said["json"] = json.loads(world("report", "trial-results", "--json").out)
    said["records"] = world.records()
    question = SPEC["questions"][0] | {"forbid": ["five"]}
    world.write(SPEC | {"questions": [question]})
    said["changed"] = world("run", "trial.yaml", "--agent", "silent")
    said["changed receipt"] = world.receipt()
    said["changed report"] = world("report", "trial-results")
    return said


def test_the_claim_is_recorded_and_not_scored(done: dict[str, Any]) -> None:
    """It names grep, which the key forbids, and stays in the answer."""
    records = {place.split("/")[2]: record for place, record in done["records"].items()}
    assert {name: record["outcome"] for name, record in records.items()} == {
        "honest": "passed",
        "boaster": "failed",
        "doubter": "passed",
        "silent": "passed",
    }
    claim = records["honest"]["claim"]
    assert (claim["state"], claim["result"], claim["ran"]) == ("stated", "passed", ["grep 4"])
    assert "VERIFICATION" in records["honest"]["answer"]
    assert records["silent"]["claim"]["state"] == "absent"


def test_the_report_holds_claims_against_checks(done: dict[str, Any]) -> None:
    text = done["first report"].out
    rows = {row["agent"]: row for row in done["json"]["claims"]["rows"]}
    assert (rows["honest"]["agreed"], rows["boaster"]["false_pass"]) == (1, 1)
    assert (rows["doubter"]["false_fail"], rows["silent"]["absent"]) == (1, 1)
    assert "self-reported" in text
    assert "- missing, 3 runs: `a\\x1b[2J'database'`" in text
    assert "Token totals of different agents are not comparable" in text


def test_one_at_a_time_means_that_no_two_overlap(done: dict[str, Any]) -> None:
    times = sorted(
        tuple(map(float, re.findall(r"^\d+\.\d+$", record["answer"], re.MULTILINE)))
        for record in done["records"].values()
    )
    assert len(times) == 4
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))


def test_what_was_checked_is_what_is_registered(done: dict[str, Any]) -> None:
    (hashed,) = re.findall(r"^Pre-registration hash: ([0-9a-f]{64})$", done["check"].out, re.MULTILINE)
    for start in ("first", "again"):
        assert done[f"{start} receipt"]["registration"]["hash"] == hashed
        assert done[f"{start} receipt"]["amendments"] == []
        told = f"- The spec is what it was at the first start (pre-registration hash {hashed[:12]})."
        assert told in done[f"{start} report"].out


def test_a_key_that_is_changed_midway_is_named(done: dict[str, Any]) -> None:
    receipt = done["changed receipt"]
    assert receipt["registration"] == done["first receipt"]["registration"]
    assert [each["changed"] for each in receipt["amendments"]] == [["questions.q.forbid"]]
    assert "> AMENDED: the spec is not what it was when the trial was first started: questions.q.forbid." in (
        done["changed report"].out
    )
