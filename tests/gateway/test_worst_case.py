"""The reserve of a call: never less than it can cost."""

import json
from typing import Any

import pytest

from tiltyard_gateway.amounts import Amount, Cap
from tiltyard_gateway.contents import look_through
from tiltyard_gateway.wires import Inquiry
from tiltyard_gateway.worst_case import CONTEXT_WINDOW, HIDDEN_PROMPT, MAX_OUTPUT, PICTURE, worst_case
from tiltyard_specs.trial import PriceRow
from tiltyard_specs.usage import Usage

ROW = PriceRow(input=3, output=15, cache_read=0.3, cache_write=3.75, max_output=64_000)
TEXT = {"messages": [{"role": "user", "content": "hi"}]}


def bound(body: dict[str, Any], row: PriceRow | None = ROW, **more: Any) -> Any:
    inquiry = Inquiry(role="m", stream=False, tools=(), **more)
    return worst_case(len(json.dumps(body)), look_through(body), inquiry, row)


def test_input_is_a_token_per_byte_and_the_dearest_price() -> None:
    case = bound(TEXT, output_cap=1000)

    assert case.input == len(json.dumps(TEXT)) + HIDDEN_PROMPT
    assert case.amount == Amount.of((case.input * 3.75 + 1000 * 15) / 1e6, case.input + 1000, 1)


@pytest.mark.parametrize(
    ("row", "more", "output"),
    [
        (ROW, {"output_cap": 70}, 70),
        (ROW, {}, 64_000),
        (ROW, {"choices": 3}, 192_000),
        (PriceRow(input=1, output=1), {}, MAX_OUTPUT),
        (None, {}, MAX_OUTPUT),
    ],
)
def test_output_is_the_cap_or_the_most_that_the_model_gives(
    row: PriceRow | None, more: dict[str, int], output: int
) -> None:
    assert bound(TEXT, row, **more).output == output


@pytest.mark.parametrize(
    ("body", "extra"),
    [
        ({"content": [{"type": "image", "source": {"data": "x"}}]}, PICTURE),
        ({"content": [{"type": "image_url"}, {"type": "input_image"}]}, 2 * PICTURE),
        ({"parts": [{"inlineData": {"mimeType": "image/png"}}]}, PICTURE),
        ({"parts": [{"inline_data": {"mime_type": "video/mp4"}}]}, CONTEXT_WINDOW),
        ({"content": [{"type": "tool_result", "content": [{"type": "document"}]}]}, CONTEXT_WINDOW),
        ({"parts": [{"fileData": {"fileUri": "x"}}]}, CONTEXT_WINDOW),
        ({"previous_response_id": "r"}, CONTEXT_WINDOW),
        ({"cachedContent": "c"}, CONTEXT_WINDOW),
        ({"conversation": None, "prompt": None}, 0),
    ],
)
def test_what_bytes_do_not_bound_is_added(body: dict[str, Any], extra: int) -> None:
    assert bound(body).input == len(json.dumps(body)) + HIDDEN_PROMPT + extra


def test_what_was_not_reported_is_charged_as_reserved() -> None:
    case = bound(TEXT, output_cap=1000)
    whole = Usage(input=10, output=5)

    assert case.charge(whole, ROW) == (Amount.of((10 * 3 + 5 * 15) / 1e6, 15, 1), True)
    partial = Amount.of((10 * 3 + 1000 * 15) / 1e6, 1010, 1)
    assert case.charge(Usage(input=10), ROW) == (partial, False)
    assert case.charge(None, ROW) == (case.amount, False)
    unpriced_bucket = Usage(input=10, output=5, cache_write=4, cache_write_1h=4)
    assert case.charge(unpriced_bucket, ROW) == (Amount(case.amount.pico, 19, 1), False)


def test_amounts_are_whole_numbers_that_round_to_the_safe_side() -> None:
    third = Amount.of(1 / 3, 1)

    assert sum((third for _ in range(3)), Amount()).pico >= 10**12
    assert Cap.of(1.0, None).passed_by(Amount.of(1.0, 9)) is None
    assert Cap.of(1.0, None).passed_by(Amount.of(1.000001, 9)) == "usd"
    assert Amount.of(0.1, 0).pico + Amount.of(0.2, 0).pico == Amount.of(0.3, 0).pico
