"""A price table's version says what it says, and nothing else."""

import pytest

from tiltyard_specs import PriceRow
from tiltyard_specs.prices import price_table_id, price_version

A = PriceRow(input=1, output=2)
B = PriceRow(input=3, output=4, cache_read=0.5, max_output=100)


def test_the_order_of_rows_and_the_way_a_number_is_written_do_not_matter() -> None:
    again = {"b": PriceRow.model_validate(B.model_dump(mode="json")), "a": PriceRow(input=1.0, output=2.0)}

    assert price_table_id({"a": A, "b": B}) == price_table_id(again)


@pytest.mark.parametrize(
    "other",
    [
        {"a": A},
        {"a": A, "c": B},
        {"a": A, "b": B.model_copy(update={"output": 4.5})},
        {"a": A, "b": B.model_copy(update={"cache_read": None})},
        {"a": A, "b": B.model_copy(update={"cache_read": 0})},
        {"a": B, "b": A},
    ],
)
def test_any_other_table_has_another_version(other: dict[str, PriceRow]) -> None:
    assert price_table_id({"a": A, "b": B}) != price_table_id(other)


def test_the_version_of_a_table_stays() -> None:
    """Records of years name it."""
    assert price_version({"a": A, "b": B}) == {"prices": "d860315c3953"}


def test_no_table_has_no_version() -> None:
    assert price_version({}) == {}
