"""Durations and sizes as people write them."""

import re
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tiltyard_specs.scalars import parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("1.5h", 5400), ("0.5s", 0.5), (90, 90), (0.25, 0.25)],
)
def test_durations_are_seconds(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "90", "s", "1h30m", "-1s", "1e3s", "0s", 0, -1, True, None, [], "1d", "\u0661s"],
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(PydanticCustomError, match="duration"):
        parse_duration(text)


@given(st.integers(1, 10**6), st.sampled_from([("s", 1), ("m", 60), ("h", 3600)]))
def test_a_duration_is_its_number_times_its_unit(number: int, unit: tuple[str, int]) -> None:
    assert parse_duration(f"{number}{unit[0]}") == number * unit[1]
    assert parse_duration(parse_duration(f"{number}{unit[0]}")) == number * unit[1]


@given(st.text())
def test_any_text_is_a_duration_or_refused_in_words(text: str) -> None:
    refused = pytest.raises(PydanticCustomError, match="duration")
    with nullcontext() if _is_duration(text) else refused:
        assert parse_duration(text) > 0


def _is_duration(text: str) -> bool:
    number = text.strip()[:-1].removesuffix(" ")
    return (
        text.strip()[-1:] in {"s", "m", "h"}
        and re.fullmatch(r"[0-9]+(\.[0-9]+)?", number) is not None
        and float(number) > 0
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("2g", 2**31), ("64m", 2**26), ("512k", 2**19), ("1.5G", 3 * 2**29), ("7", 7), (7, 7), ("1t", 2**40)],
)
def test_sizes_are_bytes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "g", "2gb", "-1g", "0", 0, 1.5, True, None, "1e3", "9" * 400])
def test_what_is_no_size_is_refused(text: object) -> None:
    with pytest.raises(PydanticCustomError, match="size"):
        parse_size(text)


@given(st.integers(1, 2**40))
def test_a_number_of_bytes_is_itself(size: int) -> None:
    assert parse_size(size) == parse_size(str(size)) == size
