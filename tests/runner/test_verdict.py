"""Each way to end, and which of two ways wins."""

from dataclasses import replace
from typing import Any

import pytest

from tiltyard_gateway.config import RunMeter
from tiltyard_runner.agent_process import AgentEnd
from tiltyard_runner.agents import AgentError, AgentResult
from tiltyard_runner.grading.grade import Grade
from tiltyard_runner.meter_facts import MeterFacts
from tiltyard_runner.verdict import BUDGET_SPENT, UNPRICED, Facts, decide
from tiltyard_specs.calls import Call
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import Score, VerifyResult

ANSWERED = AgentResult(answer="42", complete=True)
GOOD = Facts(
    end=AgentEnd(exit_code=0, seconds=3.0),
    result=ANSWERED,
    grade=Grade(),
    score=Score(correct=True, recall=1.0),
    unscored=None,
    missing=(),
    must_be_metered=True,
    meter=MeterFacts(answered=2, succeeded=2, last_status=200),
)


def _verify(code: int | None, *, timed_out: bool = False) -> VerifyResult:
    return VerifyResult(command="v", exit_code=code, passed=code == 0, seconds=1.0, timed_out=timed_out)


def _error(kind: Any, status: int | None = None, message: str = "said why") -> AgentResult:
    return AgentResult(error=AgentError(kind, status, message))


def _end(**changes: Any) -> dict[str, Any]:
    return {"end": replace(GOOD.end, **changes)}


RULES: list[tuple[dict[str, Any], Outcome, str | None]] = [
    # What makes a run void, first of all.
    (_end(cancelled=True), Outcome.CANCELLED, "stopped by the user"),
    (_end(broken="the engine is gone"), Outcome.INFRA, "the engine is gone"),
    (
        {"meter": replace(GOOD.meter, stopped_by="trial budget")},
        Outcome.CANCELLED,
        BUDGET_SPENT,
    ),
    (
        {"meter": replace(GOOD.meter, stopped_by="unpriced", refusal="m has no row in prices")},
        Outcome.CANCELLED,
        f"{UNPRICED}: m has no row in prices",
    ),
    (
        {"result": _error("api_error", 529), "meter": MeterFacts(answered=3, last_status=529)},
        Outcome.INFRA,
        "the provider answered 529 to the last call: said why",
    ),
    # A command of the user's own that takes no notice: no error, an answer even.
    (
        {"meter": MeterFacts(answered=3, last_status=401)},
        Outcome.INFRA,
        "the provider answered 401 to every call",
    ),
    (
        {"meter": MeterFacts(keyless="the key for the provider openai is missing: set KEY")},
        Outcome.INFRA,
        "the key for the provider openai is missing: set KEY",
    ),
    # What ended the agent.
    (_end(disk_bytes=99), Outcome.LIMIT, "disk limit: the run had written 99 bytes"),
    (
        {"meter": replace(GOOD.meter, stopped_by="usd")},
        Outcome.LIMIT,
        "the run's own limit of usd was reached",
    ),
    ({"grade": Grade(overrun="too big")}, Outcome.LIMIT, "too big"),
    (_end(timed_out=True, seconds=60.4), Outcome.TIMEOUT, "ended after 60 s"),
    ({"result": _error("limit")}, Outcome.LIMIT, "said why"),
    (
        _end(flooded=True),
        Outcome.LIMIT,
        "connections: the run flooded its way to the meter until that broke",
    ),
    (
        _end(oom_killed=True, exit_code=137),
        Outcome.LIMIT,
        "memory limit: the kernel ended a process of the run",
    ),
    (_end(exit_code=153), Outcome.LIMIT, "disk limit: the kernel ended the agent at a file that passed it"),
    # What forbids to compare it.
    ({"missing": ("mcp:acme", "skill:x")}, Outcome.UNDELIVERED, "never reached the agent: mcp:acme, skill:x"),
    (
        {"meter": MeterFacts()},
        Outcome.UNMETERED,
        "no model call reached the meter; the agent ended with exit code 0",
    ),
    ({"grade": Grade(tampered=("tests/a.py",))}, Outcome.TAMPERED, "touched protected paths: tests/a.py"),
    # What its work is worth.
    ({"result": _error("api_error", 400)}, Outcome.NO_ANSWER, "api_error: said why"),
    ({"result": _error("crash")}, Outcome.NO_ANSWER, "crash: said why"),
    (
        {"result": AgentResult(answer="x"), **_end(exit_code=1)},
        Outcome.NO_ANSWER,
        "the agent ended with exit code 1",
    ),
    ({"grade": Grade(unusable="odd")}, Outcome.NO_ANSWER, "odd"),
    ({"grade": Grade(verify=_verify(1))}, Outcome.FAILED, "verify ended with exit code 1"),
    ({"grade": Grade(verify=_verify(None, timed_out=True))}, Outcome.FAILED, "verify did not end in time"),
    ({"grade": Grade(verify=_verify(None))}, Outcome.FAILED, "verify was ended at the disk limit"),
    ({"grade": Grade(verify=_verify(0))}, Outcome.PASSED, None),
    ({"score": None, "unscored": "slow"}, Outcome.NO_ANSWER, "the answer could not be scored: slow"),
    ({"result": _error("no_answer")}, Outcome.NO_ANSWER, "the agent ended without an answer"),
    (
        {"score": Score(correct=False, recall=0.5, missing=("a", "b"))},
        Outcome.FAILED,
        "the answer lacks: a, b",
    ),
    (
        {"score": Score(correct=False, forbidden=("z",))},
        Outcome.FAILED,
        "the answer holds what is forbidden: z",
    ),
    ({}, Outcome.PASSED, None),
]
DECIDING = RULES[:16]
"""One case for each rule that ends the search, in the order in which they must be asked."""


@pytest.mark.parametrize(("changes", "outcome", "reason"), RULES)
def test_each_rule(changes: dict[str, Any], outcome: Outcome, reason: str | None) -> None:
    assert decide(replace(GOOD, **changes)) == (outcome, reason)


def _both(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any] | None:
    """Two cases at once; None where they say different things of one fact."""
    merged = dict(first)
    for name, value in second.items():
        if name not in merged:
            merged[name] = value
        elif name == "end":
            merged[name] = _merged_end(merged[name], value)
        else:
            return None
    return merged


def _merged_end(first: AgentEnd, second: AgentEnd) -> AgentEnd:
    plain = GOOD.end
    names = AgentEnd.__dataclass_fields__
    changed = {name: getattr(second, name) for name in names if getattr(second, name) != getattr(plain, name)}
    return replace(
        first,
        **{name: value for name, value in changed.items() if getattr(first, name) == getattr(plain, name)},
    )


PAIRS = [
    (both, outcome)
    for number, (first, outcome, _) in enumerate(DECIDING)
    for second, _, _ in RULES[number + 1 :]
    if (both := _both(first, second)) is not None
]


@pytest.mark.parametrize(("changes", "outcome"), PAIRS)
def test_of_two_ways_to_end_the_earlier_rule_decides(changes: dict[str, Any], outcome: Outcome) -> None:
    assert decide(replace(GOOD, **changes))[0] is outcome


def test_enough_pairs_were_tried() -> None:
    assert len(PAIRS) > 150


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((status, Outcome.INFRA) for status in (401, 429, 500, 503, 529)),
        *((status, Outcome.NO_ANSWER) for status in (400, 413, None)),
    ],
)
def test_the_providers_fault_is_not_the_agents(status: int | None, outcome: Outcome) -> None:
    meter = MeterFacts(answered=1, last_status=status)
    assert decide(replace(GOOD, result=_error("api_error", status), meter=meter))[0] is outcome


@pytest.mark.parametrize(
    "meter",
    [
        MeterFacts(answered=3, succeeded=1, last_status=503),
        MeterFacts(answered=3, last_status=404),
        MeterFacts(answered=3, last_status=400),
    ],
)
def test_what_an_agent_can_bring_about_excuses_nothing(meter: MeterFacts) -> None:
    """A model that does not exist, a malformed request; nor does one failure after an answer."""
    assert decide(replace(GOOD, meter=meter))[0] is Outcome.PASSED


def test_a_change_task_without_an_answer_is_judged_by_verify() -> None:
    silent = replace(GOOD, result=_error("no_answer"), score=None)
    assert decide(replace(silent, grade=Grade(verify=_verify(0)))) == (Outcome.PASSED, None)
    assert decide(replace(silent, grade=Grade(verify=_verify(2))))[0] is Outcome.FAILED


def test_verify_decides_over_the_key() -> None:
    wrong = replace(
        GOOD, score=Score(correct=False, recall=0.0, missing=("a",)), grade=Grade(verify=_verify(0))
    )
    assert decide(wrong)[0] is Outcome.PASSED
    assert decide(replace(GOOD, grade=Grade(verify=_verify(1))))[0] is Outcome.FAILED


def test_an_out_of_memory_child_of_an_agent_that_went_on_ends_nothing() -> None:
    assert decide(replace(GOOD, **_end(oom_killed=True)))[0] is Outcome.PASSED


def test_an_agent_that_needs_no_meter_may_be_unmetered() -> None:
    assert decide(replace(GOOD, must_be_metered=False, meter=MeterFacts()))[0] is Outcome.PASSED


def test_a_complete_answer_counts_whatever_the_exit_code() -> None:
    assert decide(replace(GOOD, **_end(exit_code=1)))[0] is Outcome.PASSED


def _meter(*calls: tuple[str, int | None]) -> MeterFacts:
    made = [
        Call(
            index=number, started_at="", wire="anthropic", method="POST", path="/", role="m", model="m",
            stream=True, status=status, outcome=outcome, usage=None, cost_usd=None, seconds=0.1,
            first_byte_seconds=None,
        )
        for number, (outcome, status) in enumerate(calls, 1)
    ]  # fmt: skip
    return MeterFacts.of(RunMeter(calls=tuple(made)))


@pytest.mark.parametrize(
    ("calls", "failure"),
    [
        ((), None),
        ((("ok", 200),), None),
        ((("error", 429), ("error", 429)), "the provider answered 429 to the last call"),
        ((("ok", 200), ("error", 503)), "the provider answered 503 to the last call"),
        ((("ok", 200), ("cut", 200)), "the provider broke off its last answer"),
        ((("error", 401),), "the provider answered 401 to every call"),
        # An agent that asks for a model that is not there, after calls that went through, fails by itself.
        ((("ok", 200), ("error", 404)), None),
        ((("ok", 200), ("error", 400)), None),
        # What the agent broke off, or what was never sent on, says nothing about the provider.
        ((("error", 529), ("hung_up", None), ("refused", 404)), "the provider answered 529 to the last call"),
    ],
)
def test_the_meter_says_whether_the_provider_failed(calls: Any, failure: str | None) -> None:
    assert _meter(*calls).provider_failure == failure


def test_an_error_that_only_the_agent_tells_excludes_nothing() -> None:
    """Otherwise an agent could have its bad runs repeated by printing a provider's error."""
    outcome, _ = decide(replace(GOOD, result=_error("api_error", 529)))

    assert outcome is Outcome.NO_ANSWER
