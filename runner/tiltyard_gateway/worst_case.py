"""The most that a call can cost, before it is made.

Input: a token of a byte-level vocabulary stands for at least one byte of text, so a request has no more
tokens than bytes, and JSON's own characters and escapes pay for the few that mark messages. A quarter of
that is usual: this is a bound and not a guess. What bytes do not bound is added: a hidden prompt that makes
tools known, a picture, and what the provider keeps or fetches itself, a context window at most.
"""

from dataclasses import dataclass

from tiltyard_gateway.amounts import Amount
from tiltyard_gateway.contents import Contents
from tiltyard_gateway.prices import cost_usd
from tiltyard_gateway.wires import Inquiry
from tiltyard_specs.trial import PriceRow
from tiltyard_specs.usage import Usage

HIDDEN_PROMPT = 1024
"""Tokens that a provider adds by itself; Anthropic's for tools are the most that is documented, below 900."""
PICTURE = 50_000
"""Tokens of a picture; the dearest that is sold, gpt-4o-mini's at high detail, takes 48,169."""
CONTEXT_WINDOW = 2_097_152
"""The largest context window that is sold."""
MAX_OUTPUT = 128_000
"""Output of a call without a cap, by a model whose price row has no `max_output`."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Bounds of one call."""

    input: int
    output: int
    row: PriceRow | None

    @property
    def amount(self) -> Amount:
        """What is set aside for it. Without a price row only tokens are."""
        return Amount.of(self._usd(), self.input + self.output, 1)

    def charge(self, usage: Usage | None, row: PriceRow | None) -> tuple[Amount, bool]:
        """What a call counts, and whether all of that was reported; where it was not, the bounds stand in."""
        if usage is None or usage.input is None:
            return self.amount, False
        known = usage if usage.output is not None else usage.model_copy(update={"output": self.output})
        cost = cost_usd(known, row)
        unpriced = cost is None and self.row is not None
        amount = Amount.of(self._usd() if unpriced else cost, known.total, 1)
        return amount, known is usage and not unpriced

    def _usd(self) -> float | None:
        row = self.row
        if row is None:
            return None
        prices = (row.input, row.cache_read, row.cache_write, row.cache_write_1h)
        entering = max(price for price in prices if price is not None)
        return (self.input * entering + self.output * row.output) / 1e6


def worst_case(size: int, contents: Contents, inquiry: Inquiry, row: PriceRow | None) -> WorstCase:
    """Bound a request by what it says, and by how many bytes of it are sent."""
    extra = CONTEXT_WINDOW if contents.opaque else contents.pictures * PICTURE
    output = inquiry.output_cap
    if output is None:
        output = ((row.max_output if row else None) or MAX_OUTPUT) * inquiry.choices
    return WorstCase(size + HIDDEN_PROMPT + extra, output, row)
