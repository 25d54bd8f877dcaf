"""An estimate as data: expected use with bounds, what it rests on, and the most that there can be."""

from dataclasses import dataclass, field

from tiltyard_cluster.budget import Spent
from tiltyard_cluster.estimate_bounds import Bound, Standing

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Range:
    """What is expected, and the bounds that the basis shows."""

    mean: float
    low: float | None
    """As if every run were as cheap as the cheapest of its basis; None when a basis has one run alone."""
    high: float | None
    """As if every run were as dear as the dearest."""

    def __add__(self, other: "Range") -> "Range":
        return Range(self.mean + other.mean, _sum(self.low, other.low), _sum(self.high, other.high))


@dataclass(frozen=True, slots=True)
class Support:
    """What an estimate rests on."""

    level: str
    """How near the earlier runs are."""
    runs: int
    """So many earlier runs."""
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The runs to do of one arm with one agent."""

    arm: str
    agent: str
    model: str | None
    runs: int
    tokens: Range | None
    """None when unknown."""
    usd: Range | None
    """None when unknown."""
    basis: tuple[Support, ...]
    missing: str | None
    """Why something is unknown, in words."""
    projected: bool = False
    """Whether USD rest on one price for all tokens."""
    most: Bound = field(default_factory=Bound)
    """What the limits of a run allow all these runs together."""

    @property
    def counts(self) -> bool:
        """Whether it can spend anything that is known of."""
        return self.tokens is not None or self.missing is not None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is left of a trial, and what it may cost."""

    schema_version: int
    runs: int
    """To do."""
    done: int
    parts: tuple[Part, ...]
    tokens: Range | None
    """Of all parts that are known; None where none is."""
    usd: Range | None
    unknown_tokens_runs: int
    """Runs whose tokens are not in the sum."""
    unknown_usd_runs: int
    earlier_runs: int
    """How many earlier runs all this rests on."""
    most: Bound
    """What limits and budget allow at most."""
    budget: Standing
    spent: Spent
    scripted: bool
    """Whether a script answers: nothing is paid, and USD are what it would be."""
    prices: str | None
    """Version of the price table."""
    price_per_mtok: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Situation:
    """What bears on an estimate beside the runs that are left."""

    done: int = 0
    """Runs that are done."""
    spent: Spent = field(default_factory=Spent)
    """What the trial has spent so far."""
    scripted: bool = False
    """Whether a script answers."""
    price_per_mtok: float | None = None
    """USD per million tokens of any kind, where a cost is not known."""


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right
