"""Keys planted wherever one could stand, and a search for them in all that a trial writes and says."""

from typing import Any

import pytest

pytestmark = pytest.mark.engine

MINE = "my-own-words-as-a-key-42"
ARMS = "the-key-of-an-arm-with-words"
USUAL = "usual-value-of-openai-in-words"
ENVIRON = {"MY_KEY": MINE, "ARM_KEY": ARMS, "OPENAI_API_KEY": USUAL}
# In two parts, so that no scanner takes these for keys.
SHAPED = [
    "AI" + "zaSyA1234567890abcdefghijklmnopqrstu",
    "AK" + "IAIOSFODNN7EXAMPLE",
    "s" + "k-ant-api03-abcdefghijklmnop",
    "gh" + "p_abcdefghijklmnopqrst0123456789",
]
BEARER = "abcdefgh12345678XYZ"
SECRETS = [*ENVIRON.values(), *SHAPED, BEARER]
SPEC: dict[str, Any] = {
    "defaults": {"reps": 1, "parallel": 1, "timeout": 60},
    "limits": {"memory": "256m"},
    "gateway": {"keys_from": {"anthropic": "MY_KEY"}},
    "arms": [
        {"name": "plain", "overlay": "leaks", "env": {"TOKEN": ARMS}, "keys_from": {"gemini": "ARM_KEY"}},
        {"name": "broken", "overlay": "leaks", "setup": ["cat leak.txt; exit 3"]},
    ],
    "agents": [{"name": "leaker", "kind": "text", "command": "cat leak.txt; cat leak.txt >&2; env"}],
    "questions": [
        {"id": "q", "prompt": f"Use {MINE} and {USUAL}.", "expect": ["the end"], "verify": "cat leak.txt"}
    ],
}


@pytest.fixture(scope="module")
def done(world: Any) -> Any:
    """A trial whose agent, grader and setup print every key, with a file of the overlay."""
    (world.folder / "leaks").mkdir()
    lines = [*ENVIRON.values(), *SHAPED, f"Authorization: Bearer {BEARER}", "the end"]
    (world.folder / "leaks" / "leak.txt").write_text("\n".join(lines) + "\n")
    world.write(SPEC)
    return world("run", "trial.yaml", "--model-script", "script.yaml", **ENVIRON)


def test_no_key_is_in_any_result(world: Any, done: Any) -> None:
    records = world.records()
    assert {record["outcome"] for record in records.values()} == {"passed", "setup_failed"}, done.err
    files = [path for path in world.out.rglob("*") if path.is_file()]
    assert {"prompt.txt", "raw.out", "raw.err", "verify.log", "run.json", "trial.json"} <= {
        path.name for path in files
    }
    for path in files:
        for secret in SECRETS:
            assert secret.encode() not in path.read_bytes(), path.name


def test_the_record_says_that_something_was_masked(world: Any, done: Any) -> None:
    (passed,) = [record for record in world.records().values() if record["outcome"] == "passed"]
    assert any(warning.endswith("secrets were masked in the results") for warning in passed["warnings"]), (
        done.err
    )
    assert "[redacted]" in passed["answer"]
    assert "sk-placebo-" in passed["answer"], "the run's own key is worthless, and stays"


def test_no_key_is_said(done: Any) -> None:
    for secret in SECRETS:
        assert secret not in done.out + done.err
    assert "exited with 3" in done.out + done.err


@pytest.mark.parametrize("secret", SHAPED)
def test_a_key_in_a_spec_is_refused_and_not_repeated(world: Any, secret: str) -> None:
    agents = [SPEC["agents"][0] | {"env": {"TOKEN": secret}}]
    world.write(SPEC | {"agents": agents}, "planted.yaml")
    refused = world("check", "planted.yaml")
    assert refused.code == 65
    assert "holds what looks like a key" in refused.err
    assert secret not in refused.out + refused.err


def test_an_error_that_quotes_a_key_is_masked(world: Any) -> None:
    missing = world("check", f"{USUAL}-{SHAPED[1]}.yaml", **ENVIRON)
    assert missing.code != 0
    assert "[redacted]" in missing.err
    assert USUAL not in missing.err
    assert SHAPED[1] not in missing.err
