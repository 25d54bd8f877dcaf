"""Prices as data: a price table has a version, which is the hash of what it says.

A cost in a record means something only with the prices that it was computed from. Run ids do not depend on
prices, so a record names its table, and the receipt keeps every table that a start of the trial used.
"""

from collections.abc import Mapping

from tiltyard_specs.canonical import content_id
from tiltyard_specs.trial import PriceRow

PriceTable = dict[str, PriceRow]
"""Rows by exact model name."""
PRICES = "prices"
"""The key under which a record's versions name the table."""


def price_table_id(prices: Mapping[str, PriceRow]) -> str:
    """The version of a table. The order of its rows and what they leave out do not matter."""
    return content_id(
        {name: row.model_dump(mode="json", exclude_none=True) for name, row in prices.items()}, length=12
    )


def price_version(prices: Mapping[str, PriceRow]) -> dict[str, str]:
    """What the versions of a record say about prices: nothing where there are none."""
    return {PRICES: price_table_id(prices)} if prices else {}
