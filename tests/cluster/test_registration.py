"""What was to be judged, and by which rule, is fixed before the first run; later changes are named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_cluster.known_secrets import masked, refuse_values
from tiltyard_cluster.registration import registered, registration_hash
from tiltyard_specs import SpecError, Trial, TrialReceipt, select
from tiltyard_specs.receipt import Amendment, RepoFact

MakeTrial = Callable[..., Trial]
KEY = "my-own-words-as-a-key-42"
ADDED = '  - {id: q3, prompt: "Three", expect: [three]}\n'
CHANGES = [
    (("expect: [one]", "expect: [one, won]"), ["questions.q1.expect"]),
    (("expect: [one]", "expect: [one], min_recall: 0.5"), ["questions.q1.min_recall"]),
    (("baseline: plain", "baseline: docs"), ["defaults.baseline"]),
    (("reps: 2", "reps: 3"), ["defaults.reps"]),
    (("input: 1", "input: 2"), ["prices.gpt-a"]),
    (("seed: 7", "seed: 8"), ["seed"]),
    (("seed: 7", "seed: 7\nbudget: {tokens: 9}"), ["budget.tokens"]),
    (("  - {id: q2", f"{ADDED}  - {{id: q2"), ["questions", "questions.q3.expect", "questions.q3.prompt"]),
]


def _receipt(trial: Trial, earlier: TrialReceipt | None = None) -> TrialReceipt:
    registration, amendments = registered(trial, "2026-01-01T00:00:00Z", earlier)
    receipt = TrialReceipt(
        trial="small", plan_id="p", seed=7, spec={}, registration=registration, amendments=amendments
    )
    return TrialReceipt.model_validate_json(receipt.to_json())


@pytest.mark.parametrize(("change", "named"), CHANGES)
def test_a_change_is_named(trial: MakeTrial, change: tuple[str, str], named: list[str]) -> None:
    before = _receipt(trial())
    after = _receipt(trial(change), before)

    assert after.registration == before.registration
    assert [list(each.changed) for each in after.amendments] == [named]
    assert after.amendments[0].hash == registration_hash(trial(change)) != registration_hash(trial())
    assert _receipt(trial(change), after) == after, "told once"


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("graders/check.py", "questions.q2.hidden: check.py"),
        ("overlay/a.md", "arms.docs.overlay: files"),
        ("solution.patch", "questions.q2.solution: file"),
    ],
)
def test_a_file_that_the_spec_names_is_a_part_of_it(
    trial: MakeTrial, tmp_path: Path, file: str, named: str
) -> None:
    text = ('prompt: "Two?"', "prompt: Two, solution: solution.patch")
    before = _receipt(trial(text))
    with (tmp_path / file).open("a") as more:
        more.write("\n" if file.endswith("patch") else "more")

    assert [each.changed for each in _receipt(trial(text), before).amendments] == [(named,)]


@pytest.mark.parametrize(
    "change",
    [
        ("seed: 7", "seed: 7  # a comment"),
        ("name: small\nseed: 7", "seed: 7\nname: small"),
        ("reps: 2,", "reps: 2, parallel: 3,"),
        ("seed: 7", "seed: 7\nretries: 2"),
        ('"One?"', "'One?'"),
    ],
)
def test_layout_and_scheduling_are_no_change(trial: MakeTrial, change: tuple[str, str]) -> None:
    assert registration_hash(trial(change)) == registration_hash(trial())


def test_a_selection_is_no_change_and_more_repetitions_are(trial: MakeTrial) -> None:
    """A part now and the rest later is the trial that was planned; another number of runs is not."""
    before = _receipt(select(trial(), questions=["q1"], arms=["docs"]))

    assert _receipt(trial(), before).amendments == ()
    assert _receipt(select(trial(), reps=2), before).amendments == ()
    (more,) = _receipt(select(trial(), reps=5), before).amendments
    assert more.changed == ("defaults.reps",)


def test_what_was_changed_back_is_told_as_well(trial: MakeTrial) -> None:
    receipt = _receipt(trial())
    receipt = _receipt(trial(("reps: 2", "reps: 3")), receipt)
    receipt = _receipt(trial(), receipt)

    assert [each.changed for each in receipt.amendments] == [("defaults.reps",), ()]
    assert receipt.registration is not None
    assert receipt.amendments[-1].hash == receipt.registration.hash


def test_a_receipt_of_an_earlier_version_is_registered_now(trial: MakeTrial) -> None:
    old = TrialReceipt(trial="small", plan_id="p", seed=7, spec={})
    registration, amendments = registered(trial(), "now", old)

    assert (registration.at, amendments) == ("now", ())
    assert Amendment(hash="h", at="now").changed == ()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("name: small", f"name: small-{KEY}"), "1: name"),
        (("id: q1", f"id: {KEY}"), "questions[0].id"),
        (("gpt-b]", f"{KEY}]"), "agents[1].models[1]"),
        (("gpt-a: {input", f"{KEY}: {{input: 1, output: 1}}\n  gpt-a: {{input"), "prices"),
        (
            ("seed: 7", f"seed: 7\ngateway: {{upstreams: {{openai: 'https://x/{KEY}'}}}}"),
            "gateway.upstreams.openai",
        ),
    ],
)
def test_a_name_is_no_place_for_a_key(trial: MakeTrial, change: tuple[str, str], place: str) -> None:
    with pytest.raises(SpecError) as caught:
        refuse_values(trial(change), {"OPENAI_API_KEY": KEY})

    assert place in str(caught.value)
    assert "holds the value of a key from the environment" in str(caught.value)


def test_free_text_may_quote_a_key_and_is_masked(trial: MakeTrial) -> None:
    changed = trial(
        ('"One?"', f"Use {KEY}"), ("MODE: fast", f"MODE: {KEY}"), ("echo {prompt}", f"echo {KEY}")
    )
    refuse_values(changed, {"OPENAI_API_KEY": KEY})
    receipt = TrialReceipt(
        trial="small",
        plan_id="p",
        seed=7,
        spec=changed.whole.model_dump(mode="json"),
        repos={"app": RepoFact(source=f"https://u:{KEY}@host/app", commit="c")},
    )
    text = masked(receipt, [KEY]).to_json()

    assert KEY not in text
    assert text.count("[redacted]") == 4
