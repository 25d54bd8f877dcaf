"""Canonical JSON and the ids made of it."""

import json
import math
import struct
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard_specs import canonical_json, content_id

GOLDEN = {
    "b": [1, 2.0, -0.0, 1e21, 1e-7, 0.000001, 123456789012345680000.0, 5e-324, 0.1, 2**63],
    "a": {"é": '\u20ac\n\x01\x7f/"\\', "": None, "z": True, "\U0001f600": False, "\ufb33": ()},
}  # fmt: skip


def test_the_golden_text() -> None:
    assert canonical_json(GOLDEN) == (
        '{"a":{"":null,"z":true,"é":"€\\n\\u0001\x7f/\\"\\\\","\U0001f600":false,"\ufb33":[]},'
        '"b":[1,2,0,1e+21,1e-7,0.000001,123456789012345680000,5e-324,0.1,9223372036854775808]}'
    )


def test_the_golden_ids() -> None:
    assert content_id({}) == "44136fa355b3678a"
    assert content_id(GOLDEN, length=64) == "db4158801a21e76f2ae93a2490c5bef7dcc40366c46ff06c2111e67ecb49bd6f"


# Appendix B of RFC 8785, and section 3.2.2.3.
@pytest.mark.parametrize(
    ("hexadecimal", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_rfc_8785_says(hexadecimal: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(hexadecimal))

    assert canonical_json(value) == text


def test_keys_are_sorted_by_utf_16_units() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]

    assert list(json.loads(canonical_json(dict.fromkeys(keys, 0)))) == [
        "\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "\ud800", {"a": [math.nan]}])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="canonical JSON cannot hold"):
        canonical_json(value)


@pytest.mark.parametrize("value", [{1: 2}, {"a": {None: 1}}, {1, 2}, object(), b"x"])
def test_only_plain_data_is_taken(value: object) -> None:
    with pytest.raises(TypeError, match="canonical JSON"):
        canonical_json(value)


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(_PLAIN)
def test_the_text_is_json_and_reads_back_to_the_same_text(value: object) -> None:
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)


@pytest.mark.slow
@given(st.dictionaries(st.text(), st.integers() | st.text(), min_size=2), st.randoms())
def test_the_order_of_keys_does_not_matter(value: dict[str, int | str], random: Random) -> None:
    items = list(value.items())
    random.shuffle(items)

    assert json.loads(canonical_json(value)) == value
    assert canonical_json(dict(items)) == canonical_json(value)


@given(st.lists(st.text()), st.lists(st.text()))
def test_different_values_have_different_ids(left: list[str], right: list[str]) -> None:
    assert (content_id(left, length=64) == content_id(right, length=64)) == (left == right)
