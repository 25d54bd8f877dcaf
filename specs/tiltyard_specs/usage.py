"""Token usage in one canonical form, whatever the provider or the agent calls it."""

from typing import Self

from tiltyard_specs.base import Model


class Usage(Model):
    """Tokens of one call or one run, in disjoint buckets.

    `input` is the uncached part, `output` includes reasoning. None means unknown, which is never 0.
    """

    input: int | None = None
    """Uncached input tokens."""
    cache_read: int | None = None
    """Input tokens served from the provider's prompt cache."""
    cache_write: int | None = None
    """Input tokens written to the provider's prompt cache."""
    output: int | None = None
    """Output tokens, reasoning included."""
    reasoning: int | None = None
    """How much of `output` was reasoning."""
    cache_write_1h: int | None = None
    """The part of `cache_write` that is kept for an hour and priced apart."""

    @property
    def total(self) -> int | None:
        """All tokens in and out, or None when input or output is unknown."""
        if self.input is None or self.output is None:
            return None
        return self.input + self.output + (self.cache_read or 0) + (self.cache_write or 0)

    def __add__(self, other: Self) -> Self:
        """Sum by bucket; a bucket unknown on both sides stays unknown."""
        return type(self)(
            **{name: _sum(getattr(self, name), getattr(other, name)) for name in type(self).model_fields}
        )


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None:
        return right
    return left if right is None else left + right


def total_usage(parts: "list[Usage]") -> Usage | None:
    """The sum of several usages, or None when there are none."""
    result: Usage | None = None
    for part in parts:
        result = part if result is None else result + part
    return result
