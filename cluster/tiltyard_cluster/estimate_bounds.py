"""What the limits of a run and the budget of a trial allow at most, and whether the budget suffices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from tiltyard_cluster.budget import Spent
from tiltyard_gateway.worst_case import MAX_OUTPUT
from tiltyard_specs import Budget, PriceRow, TrialSpec

_MILLION = 1_000_000
Verdict = Literal["no budget", "suffices", "may not suffice", "will not suffice", "unknown"]


class Expected(Protocol):
    """A mean with bounds."""

    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float | None: ...  # noqa: D102
    @property
    def high(self) -> float | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Standing:
    """How an estimate stands to the budget."""

    verdict: Verdict
    unit: Literal["usd", "tokens"] | None = None
    budget: float | None = None
    left: float | None = None
    """Of the budget."""
    call: float | None = None
    """What is set aside at most for the output of one call without a cap of its own, in the budget's unit;
    None where no model in question has a price."""

    @property
    def tight(self) -> bool:
        """Whether a single call may be refused, whatever is expected."""
        return self.call is not None and self.left is not None and self.call > self.left


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that may be used; None where nothing bounds it."""

    tokens: int | None = None
    usd: float | None = None
    by: Literal["limits", "budget"] | None = None
    """What bounds it. The call that reaches a limit of a run may go beyond it; a budget is never passed."""

    @classmethod
    def total(cls, bounds: "Sequence[Bound]") -> "Bound":
        """Of several parts together."""
        tokens = [bound.tokens for bound in bounds if bound.tokens is not None]
        usd = [bound.usd for bound in bounds if bound.usd is not None]
        every = len(bounds)
        whole_tokens = sum(tokens) if every and len(tokens) == every else None
        whole_usd = sum(usd) if every and len(usd) == every else None
        bounded = whole_tokens is not None or whole_usd is not None
        return cls(whole_tokens, whole_usd, "limits" if bounded else None)

    def within(self, stands: Standing) -> "Bound":
        """The same under a budget."""
        left = stands.left
        if left is None:
            return self
        if stands.unit == "usd" and (self.usd is None or left < self.usd):
            return Bound(self.tokens, left, "budget")
        if stands.unit == "tokens" and (self.tokens is None or left < self.tokens):
            return Bound(int(left), self.usd, "budget")
        return self


def bound_of(spec: TrialSpec, runs: int, *, priced: bool) -> Bound:
    """What the limits of a run allow some runs, every attempt that may be repeated included.

    Args:
        spec: The trial's spec.
        runs: How many runs.
        priced: Whether the models that they are to use have prices: else tokens bound no cost.
    """
    attempts = runs * (1 + spec.retries)
    limits = spec.limits
    usd = limits.usd
    if priced and limits.tokens is not None and (dearest := _dearest(spec.prices.values())) is not None:
        by_tokens = limits.tokens * dearest / _MILLION
        usd = by_tokens if usd is None else min(usd, by_tokens)
    tokens = None if limits.tokens is None else limits.tokens * attempts
    most = None if usd is None else usd * attempts
    return Bound(tokens, most, None if tokens is None and most is None else "limits")


def _dearest(rows: Iterable[PriceRow]) -> float | None:
    """The highest price of a token."""
    kinds = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
    prices = (getattr(row, kind) for row in rows for kind in kinds)
    return max((price for price in prices if price is not None), default=None)


def standing(
    budget: Budget | None,
    spent: Spent,
    expected: Expected | None,
    *,
    unknown_runs: int,
    rows: Sequence[PriceRow] = (),
) -> Standing:
    """Whether the rest of a budget suffices for what is expected.

    Args:
        budget: The trial's budget.
        spent: What the trial has spent.
        expected: In the budget's unit, of the runs that are known.
        unknown_runs: How many more runs there are.
        rows: Prices of the models that are to be called.
    """
    if budget is None:
        return Standing("no budget")
    in_usd = budget.usd is not None
    whole = float((budget.usd if in_usd else budget.tokens) or 0)
    left = max(0.0, whole - (spent.charged_usd if in_usd else spent.charged_tokens))
    calls = [(row.max_output or MAX_OUTPUT) * (row.output / _MILLION if in_usd else 1) for row in rows]
    found = Standing("unknown", "usd" if in_usd else "tokens", whole, left, max(calls, default=None))
    verdict = _verdict(left, expected, unknown_runs=unknown_runs)
    return replace(found, verdict="may not suffice" if found.tight and verdict == "suffices" else verdict)


def _verdict(left: float, expected: Expected | None, *, unknown_runs: int) -> Verdict:
    if expected is not None and expected.mean > left:
        return "will not suffice"
    if unknown_runs:
        return "unknown"
    if expected is None:
        return "suffices"
    high = expected.high if expected.high is not None else expected.mean
    return "may not suffice" if high > left else "suffices"
