"""The line in which an agent says what it did to check its answer: read, bounded, kept out of the score."""

import json
import time

import pytest

from tiltyard_specs.answer_key import score_answer
from tiltyard_specs.claim import MAX_CLAIM_CHARS, MAX_NOTE_CHARS, MAX_NOTES, read_claim, without_claims

STATED = {"ran": ["pytest -q"], "result": "passed", "could_not_verify": ["Windows"], "missing": ["a db"]}
LINE = f"VERIFICATION: {json.dumps(STATED)}"


@pytest.mark.parametrize(
    "answer",
    [
        LINE,
        f"The answer.\n\n{LINE}\n",
        f"The answer.\n\n```\n{LINE}\n```\n",
        f"The answer.\n\n```json\n{LINE}\n```\nThat is all.",
        f"The answer.\n\nVERIFICATION:\n```json\n{json.dumps(STATED, indent=2)}\n```\nThat is all.",
        f"The answer.\n**VERIFICATION:** `{json.dumps(STATED)}`",
        f"The answer.\n**{LINE}**\n",
        f"- {LINE}",
        f"> {LINE}",
        f"The answer. {LINE} That is all.",
        f'VERIFICATION: {{"result": "failed"}}\nI went on.\n{LINE}',
        f"VERIFICATION: not yet\n{LINE}",
        f"The answer.\r\n{LINE}\r\n",
    ],
)
def test_a_claim_is_found_wherever_agents_put_it(answer: str) -> None:
    claim = read_claim(answer)

    assert claim.model_dump(mode="json", exclude={"problem", "state"}) == STATED
    assert (claim.state, claim.problem) == ("stated", None)
    assert "pytest" not in without_claims(answer)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("VERIFICATION: all tests passed", "no JSON object follows"),
        ("VERIFICATION:", "no JSON object follows"),
        ("VERIFICATION: {'result': 'passed'}", "its JSON is broken"),
        ('VERIFICATION: {"result": "passed"', "its JSON is broken"),
        ('VERIFICATION: {"result": "passed",}', "its JSON is broken"),
        ('VERIFICATION: {"result": "passed|failed|not-run"}', "result is not one of passed, failed, not-run"),
        ('VERIFICATION: {"result": ["passed"]}', "result is not one of"),
        ('VERIFICATION: {"ran": []}', "result is not one of"),
        ('VERIFICATION: {"result": "passed", "ran": "pytest"}', "ran is not a list of texts"),
        ('VERIFICATION: {"result": "passed", "missing": [1]}', "missing is not a list of texts"),
        ('VERIFICATION: {"result": "failed", "result": "passed"}', "gives a key twice"),
        ('VERIFICATION: {"result": "passed", "x": NaN}', "holds NaN"),
        ("VERIFICATION: " + '{"a":' * 3000, "too deep"),
        ('VERIFICATION: {"result": "' + "x" * MAX_CLAIM_CHARS, "longer than 16384 characters"),
        (f"{LINE}\nVERIFICATION: in the end I did not", "no JSON object follows"),
    ],
)
def test_what_would_have_to_be_guessed_is_no_claim(answer: str, problem: str) -> None:
    claim = read_claim(answer)

    assert (claim.state, claim.result, claim.ran) == ("malformed", None, ())
    assert problem in (claim.problem or "")


@pytest.mark.parametrize("answer", [None, "", "4", "The VERIFICATION: line is missing.", "verification: {}"])
def test_no_claim(answer: str | None) -> None:
    assert read_claim(answer).state == "absent"


def test_a_claim_is_bounded_and_can_be_written() -> None:
    data = {"result": "not-run", "ran": ["x" * 600, "\ud800", *["y"] * 100]}
    claim = read_claim(f"VERIFICATION: {json.dumps(data)}")

    assert (len(claim.ran), len(claim.ran[0])) == (MAX_NOTES, MAX_NOTE_CHARS)
    assert claim.ran[1].encode() == "\ufffd".encode()


def test_the_key_does_not_see_the_claim() -> None:
    """Neither for the answer nor against it; the text around it is scored."""
    answer = 'Option\nVERIFICATION: {"result": "passed", "ran": ["grep Argument"]}\nParameter'
    scored = without_claims(answer)

    assert scored == "Option\n\nParameter"
    assert score_answer(scored, ["Option", "Argument", "Parameter"]).missing == ("Argument",)
    assert score_answer(scored, ["Option"], ["grep"]).correct
    assert without_claims("Option\nVERIFICATION: Argument as well\nParameter") == "Option\n\nParameter"
    assert without_claims("no claim at all") == "no claim at all"


@pytest.mark.slow
@pytest.mark.parametrize(
    "flood",
    [
        "VERIFICATION: {" * 70_000,
        ('VERIFICATION: {"a":"' + "x" * 100) * 8_000,
        "VERIFICATION: {}\n" * 60_000,
        "VERIFICATION:\n" * 70_000,
        'VERIFICATION: {"' + "VERIFICATION: {" * 70_000,
        " \t>*_`#-" * 120_000,
        "VERIFICATION: ```" * 60_000,
    ],
)
def test_a_hostile_answer_takes_no_time(flood: str) -> None:
    """Half a second where one look after another takes hours."""
    began = time.process_time()
    read_claim(flood)
    without_claims(flood)
    assert time.process_time() - began < 20
