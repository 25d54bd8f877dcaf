"""Why an agent's account of its usage differs from the meter's, as the record says it."""

from typing import Any, get_args

import pytest

from tiltyard_gateway.config import RunMeter
from tiltyard_runner.agents import AgentResult
from tiltyard_runner.differences import Circumstances, difference
from tiltyard_specs import Call, Usage
from tiltyard_specs.difference_record import MEANINGS, CauseCode, Difference


def call(index: int, tokens: int | None = 100, **changes: Any) -> Call:
    usage = None if tokens is None else Usage(input=tokens - 10, output=10)
    fields = {
        "index": index, "started_at": "2026-01-01T00:00:00Z", "wire": "anthropic", "method": "POST",
        "path": "/v1/messages", "role": "m", "model": "m", "stream": True, "status": 200, "outcome": "ok",
        "usage": usage, "cost_usd": None if tokens is None else tokens * 1e-5, "seconds": 1.0,
        "first_byte_seconds": 0.1, "tools": ("Bash",),
    }  # fmt: skip
    return Call.model_validate(fields | changes)


def told(tokens: int, usd: float | None = None, *, complete: bool = True) -> AgentResult:
    return AgentResult(usage=Usage(input=tokens - 10, output=10), cost_usd=usd, complete=complete)


def compare(calls: list[Call], result: AgentResult, **around: Any) -> Difference | None:
    return difference(RunMeter(tuple(calls)), result, Circumstances(**{"model": "m"} | around))


def codes(found: Difference | None) -> list[tuple[str, int | None, int | None]]:
    assert found is not None
    return [(cause.code, cause.calls, cause.tokens) for cause in found.causes]


def same(tokens: int) -> AgentResult:
    """An account that has the buckets of `tokens` / 100 whole calls."""
    return AgentResult(usage=Usage(input=tokens // 100 * 90, output=tokens // 100 * 10), complete=True)


def test_accounts_that_agree_need_no_word() -> None:
    assert compare([call(1), call(2)], same(200)) is None


def test_nothing_metered_is_nothing_to_compare() -> None:
    assert compare([call(1, outcome="refused")], told(100)) is None


def test_an_agent_that_printed_no_usage() -> None:
    found = compare([call(1)], AgentResult(complete=True))

    assert codes(found) == [("no_usage_printed", None, None)]
    assert found is not None
    assert (found.tokens, found.explained) == (None, False)


def test_an_agent_that_was_killed_before_its_totals() -> None:
    """claude's messages tell the input, but not the output."""
    partial = AgentResult(usage=Usage(input=90), complete=False)

    assert codes(compare([call(1)], partial, forced=True)) == [("ended_early", None, None)]


@pytest.mark.parametrize(
    ("odd", "around", "expected"),
    [
        ({"outcome": "cut"}, {}, "cut_stream"),
        ({"outcome": "hung_up"}, {}, "agent_left"),
        ({"outcome": "hung_up"}, {"forced": True}, "ended_early"),
        ({"outcome": "error", "status": 500}, {}, "failed_calls"),
        ({"tools": ()}, {}, "side_calls"),
        ({"role": "small", "model": "small"}, {}, "side_calls"),
    ],
)
def test_a_cause_is_known_where_its_calls_make_up_the_difference(
    odd: dict[str, Any], around: dict[str, Any], expected: str
) -> None:
    found = compare([call(1), call(2, 37, **odd), call(3)], same(200), **around)

    assert codes(found) == [(expected, 1, 37)]
    assert found is not None
    assert (found.tokens, found.explained) == (37, True)


def test_two_causes_together() -> None:
    calls = [call(1), call(2, 37, outcome="cut"), call(3, 41, tools=()), call(4, 11, outcome="error")]
    found = compare(calls, same(100))

    assert found is not None
    assert found.tokens == 89
    assert found.explained
    assert codes(found) == [("side_calls", 1, 41), ("cut_stream", 1, 37), ("failed_calls", 1, 11)]


def test_calls_after_the_last_word_of_a_run_that_was_ended() -> None:
    found = compare([call(1), call(2), call(3)], told(100, complete=False), forced=True)

    assert codes(found) == [("ended_early", 2, 200)]


def test_what_only_may_matter_is_marked_as_unexplained() -> None:
    found = compare(
        [call(1), call(2, 37, outcome="cut")], AgentResult(usage=Usage(input=50, output=5), complete=True)
    )

    assert found is not None
    assert (found.tokens, found.explained) == (82, False)
    assert codes(found) == [("cut_stream", 1, 37), ("unexplained", None, None)]


def test_usage_that_the_provider_did_not_tell() -> None:
    """The agent knows more than the meter: the metered sum is a lower bound."""
    found = compare([call(1), call(2, None)], same(300))

    assert codes(found) == [("incomplete_meter", 1, None)]
    assert found is not None
    assert found.tokens == -200


@pytest.mark.parametrize(
    ("outcome", "forced", "code"),
    [("cut", False, "cut_stream"), ("hung_up", False, "agent_left"), ("hung_up", True, "ended_early")],
)
def test_calls_that_broke_off_without_usage(outcome: str, forced: bool, code: str) -> None:
    """claude estimates the output of such a call; the meter knows the input alone, or nothing."""
    broken = [call(2, None, outcome=outcome), call(3, None, outcome=outcome, usage=Usage(input=700))]
    found = compare([call(1), *broken], told(824, complete=False), forced=forced)

    assert codes(found) == [(code, 2, None)]
    assert found is not None
    assert (found.tokens, found.explained) == (-24, False)


def test_a_lower_bound_needs_no_further_reason() -> None:
    """One cut call is left out by the agent, and nobody knows the output of any of them."""
    broken = [call(index, outcome="cut", usage=Usage(input=700)) for index in (2, 3)]
    found = compare([call(1), *broken], told(816))

    assert found is not None
    assert (found.tokens, found.explained) == (684, False)
    assert codes(found) == [("cut_stream", 2, 1400)]


def test_an_agent_that_printed_nothing_after_cut_streams() -> None:
    """codex tells no usage of a turn that failed."""
    found = compare([call(1), call(2, None, outcome="cut")], AgentResult(complete=True))

    assert codes(found) == [("no_usage_printed", None, None), ("cut_stream", 1, None)]


@pytest.mark.parametrize(("sealed", "code"), [(True, "unexplained"), (False, "beside_the_meter")])
def test_an_agent_that_reports_more_than_was_metered(sealed: bool, code: str) -> None:
    assert codes(compare([call(1)], same(300), sealed=sealed)) == [(code, None, None)]


def test_the_same_tokens_in_other_buckets() -> None:
    """Cached tokens counted inside the input, say."""
    metered = call(1, usage=Usage(input=10, cache_read=80, output=10))
    found = compare([metered], same(100))

    assert codes(found) == [("counted_otherwise", None, 0)]
    assert found is not None
    assert found.explained


def test_a_cost_by_the_agents_own_price_list() -> None:
    account = AgentResult(usage=Usage(input=90, output=10), cost_usd=0.005, complete=True)
    found = compare([call(1)], account)

    assert codes(found) == [("own_prices", None, None)]
    assert found is not None
    assert found.usd == pytest.approx(-0.004)
    assert (found.tokens, found.explained) == (0, True)


def test_a_cost_of_the_model_that_was_asked_for_before_a_rewrite() -> None:
    account = AgentResult(usage=Usage(input=90, output=10), cost_usd=0.005, complete=True)

    assert codes(compare([call(1, asked="cheap")], account)) == [("rewritten_model", 1, None)]


def test_costs_that_differ_by_rounding_agree() -> None:
    account = AgentResult(usage=Usage(input=90, output=10), cost_usd=0.0010000001, complete=True)

    assert compare([call(1)], account) is None


def test_every_code_has_its_words() -> None:
    assert set(MEANINGS) == set(get_args(CauseCode))
