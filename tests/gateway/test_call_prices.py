"""Cost per call: every bucket at its price, and an unknown price is unknown."""

from typing import Any

import pytest

from tiltyard_gateway.config import RunMeter
from tiltyard_gateway.prices import cost_usd, find_price
from tiltyard_specs.calls import Call
from tiltyard_specs.trial import PriceRow
from tiltyard_specs.usage import Usage

FULL = PriceRow(input=3, output=15, cache_read=0.3, cache_write=3.75, cache_write_1h=6)
BARE = PriceRow(input=3, output=15)


def test_each_bucket_has_its_price() -> None:
    usage = Usage(
        input=1_000_000,
        cache_read=1_000_000,
        cache_write=3_000_000,
        cache_write_1h=1_000_000,
        output=1_000_000,
    )

    assert cost_usd(usage, FULL) == pytest.approx(3 + 0.3 + 2 * 3.75 + 6 + 15)


def test_a_bucket_that_is_empty_needs_no_price() -> None:
    assert cost_usd(Usage(input=1_000_000, cache_read=0, output=0), BARE) == pytest.approx(3)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input=1, output=1, cache_read=5),
        Usage(input=1, output=1, cache_write=5),
        Usage(input=1),
        Usage(output=1),
        Usage(),
        None,
    ],
)
def test_cost_is_unknown_where_tokens_or_a_needed_price_are(usage: Usage | None) -> None:
    assert cost_usd(usage, BARE) is None


def test_no_row_no_cost() -> None:
    assert cost_usd(Usage(input=1, output=1), None) is None


def test_the_model_that_ran_counts_before_the_one_asked_for() -> None:
    prices = {"asked": BARE, "ran": FULL}

    assert find_price(prices, "ran", "asked") is FULL
    assert find_price(prices, "asked-20260101", "asked") is BARE
    assert find_price(prices, None, "other") is None


def _call(**changes: Any) -> Call:
    return Call(
        index=1,
        started_at="",
        wire="anthropic",
        method="POST",
        path="/v1/messages",
        role="m",
        model="m",
        stream=True,
        status=200,
        outcome="ok",
        usage=None,
        cost_usd=None,
        seconds=0.1,
        first_byte_seconds=None,
        **changes,
    )


def test_a_charge_without_a_price_bounds_nothing() -> None:
    """Adding it as 0 would make a mixed run's bound too low."""
    priced = {"charged": "usage", "charged_usd": 0.5, "charged_tokens": 10}
    unpriced = {"charged": "reserve", "charged_usd": None, "charged_tokens": 99}

    assert RunMeter(calls=(_call(**priced), _call(charged=None))).charged_usd == 0.5
    assert RunMeter(calls=(_call(**priced), _call(**unpriced))).charged_usd is None
    assert RunMeter(calls=()).charged_usd == 0
