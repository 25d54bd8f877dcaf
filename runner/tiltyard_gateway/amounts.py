"""What calls use and what they may use, in whole numbers: sums of a million calls stay exact."""

import math
from dataclasses import dataclass
from typing import Literal, Self

_PICO = 10**12

Resource = Literal["usd", "tokens", "turns"]


@dataclass(frozen=True, slots=True)
class Amount:
    """A use of money, tokens and model calls."""

    pico: int = 0
    """Millionths of a millionth of a US dollar."""
    tokens: int = 0
    turns: int = 0

    @classmethod
    def of(cls, usd: float | None, tokens: int | None, turns: int = 0) -> Self:
        """From dollars, rounded up: what is unknown counts nothing."""
        return cls(math.ceil((usd or 0.0) * _PICO - 1e-3), tokens or 0, turns)

    @property
    def usd(self) -> float:
        """In dollars."""
        return self.pico / _PICO

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.pico + other.pico, self.tokens + other.tokens, self.turns + other.turns)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.pico - other.pico, self.tokens - other.tokens, self.turns - other.turns)


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be used; None is no limit."""

    pico: int | None = None
    tokens: int | None = None
    turns: int | None = None

    @classmethod
    def of(cls, usd: float | None, tokens: int | None, turns: int | None = None) -> Self:
        """From dollars, rounded down."""
        return cls(None if usd is None else math.floor(usd * _PICO + 1e-3), tokens, turns)

    @property
    def limits_spend(self) -> bool:
        """Whether calls need a reserve."""
        return self.pico is not None or self.tokens is not None

    def passed_by(self, amount: Amount) -> Resource | None:
        """The first resource of which the amount is more than there may be."""
        if self.pico is not None and amount.pico > self.pico:
            return "usd"
        if self.tokens is not None and amount.tokens > self.tokens:
            return "tokens"
        if self.turns is not None and amount.turns > self.turns:
            return "turns"
        return None
