"""What a call cost, from tokens and a price row. An unknown price is unknown, never 0."""

from collections.abc import Mapping

from tiltyard_specs.trial import PriceRow
from tiltyard_specs.usage import Usage

_MILLION = 1_000_000


def find_price(prices: Mapping[str, PriceRow], model: str | None, role: str | None) -> PriceRow | None:
    """The row of the model that ran, else of the one asked for: providers answer with dated names."""
    return next((prices[name] for name in (model, role) if name is not None and name in prices), None)


def cost_usd(usage: Usage | None, row: PriceRow | None) -> float | None:
    """USD of one call, or None when its tokens or one of the prices it needs are unknown."""
    if usage is None or row is None or usage.input is None or usage.output is None:
        return None
    hour = usage.cache_write_1h or 0
    parts = (
        (usage.input, row.input),
        (usage.output, row.output),
        (usage.cache_read or 0, row.cache_read),
        ((usage.cache_write or 0) - hour, row.cache_write),
        (hour, row.cache_write_1h),
    )
    total = 0.0
    for tokens, price in parts:
        if tokens and price is None:
            return None
        total += tokens * (price or 0.0)
    return total / _MILLION
