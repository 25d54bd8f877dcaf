"""Earlier runs that tell what further ones may cost, and which of them are nearest to a run that is to come.

A run of a scripted model says nothing about a real one, nor the reverse. What did not count (infra, a setup
that failed, cancelled) broke off at some point and says nothing about a whole run.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiltyard_cluster.reading import ReadResult
from tiltyard_cluster.words import counted
from tiltyard_gateway.prices import cost_usd, find_price
from tiltyard_specs import AgentVariant, PriceRow, RunRecord, Usage
from tiltyard_specs.prices import PRICES, price_version
from tiltyard_specs.rewrite import rewrite_model

ANY = "*"
"""Stands for every model, where an agent names none."""
_DATED = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
"""Providers answer with dated names."""

LEVELS = (
    "the same question, arm and agent",
    "the same question and agent",
    "the same agent",
    "the same model",
)
"""How near an earlier run is, the nearest first."""
_Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """One earlier run."""

    record: RunRecord
    source: str
    """The results that it comes from."""
    tokens: int
    usd: float | None
    """At today's prices where the model has one, else as it was recorded; None when unknown."""
    other_prices: bool = False
    """Whether the cost rests on a price table that is not today's."""


@dataclass(frozen=True, slots=True)
class Like:
    """What a run that is to come has in common with earlier ones."""

    question: str
    arm: str
    agent: AgentVariant

    def keys(self, level: int) -> list[_Key]:
        """What an earlier run of this level is filed under; a rewritten model under both names."""
        asked = self.agent.model
        names = [ANY] if asked is None else [asked, rewrite_model(asked, self.agent.rewrite)]
        return [self._key(level, undated(name)) for name in dict.fromkeys(names)]

    def _key(self, level: int, model: str) -> _Key:
        who = (self.agent.name, model)
        return (
            (self.question, self.arm, *who),
            (self.question, *who),
            who,
            (self.agent.kind, model, self.agent.effort),
        )[level]


class Basis:
    """Earlier runs by what they have in common with others.

    Args:
        runs: The earlier runs.
        left_out: Those that were left out because their usage is not fully known.
        notes: What else was left out, one sentence each.
    """

    def __init__(self, runs: Iterable[Earlier], left_out: int = 0, notes: Sequence[str] = ()) -> None:
        self.left_out = left_out
        self.notes = tuple(notes)
        self._runs: dict[tuple[int, _Key], list[Earlier]] = {}
        for run in runs:
            for level, key in _filed(run.record):
                self._runs.setdefault((level, key), []).append(run)

    def nearest(self, like: Like) -> list[tuple[int, list[Earlier]]]:
        """The earlier runs of each level that has some, the nearest level first."""
        found = []
        for level in range(len(LEVELS)):
            if level == len(LEVELS) - 1 and (like.agent.model is None or not like.agent.metered):
                break
            runs = [run for key in like.keys(level) for run in self._runs.get((level, key), ())]
            if runs:
                found.append((level, runs))
        return found


def _filed(record: RunRecord) -> Iterable[tuple[int, _Key]]:
    for model in {undated(record.model or ANY), ANY}:
        who = (record.agent, model)
        yield 0, (record.question, record.arm, *who)
        yield 1, (record.question, *who)
        yield 2, who
        yield 3, (record.kind, model, record.effort)


def left_out(runs: int) -> str:
    """That some earlier runs do not count."""
    return f"{counted(runs, 'earlier run')} {'is' if runs == 1 else 'are'} left out"


def undated(model: str) -> str:
    """A model's name without the date that a provider adds."""
    return _DATED.sub("", model)


class BasisReader:
    """Collects earlier runs from several results, each run once.

    Args:
        prices: Today's price table.
        scripted: Whether a script will answer.
    """

    def __init__(self, prices: Mapping[str, PriceRow], *, scripted: bool) -> None:
        self._prices = prices
        self._scripted = scripted
        self._runs: dict[tuple[str, int], Earlier] = {}
        self._left_out = 0
        self._unserved = 0
        self._notes: list[str] = []
        self._table = price_version(prices).get(PRICES)

    def result(self, result: ReadResult, source: str, more: Sequence[RunRecord] = ()) -> None:
        """Add the runs of a result that has been read, and records that an older spec left there."""
        records = [record for record in (*result.records, *more) if record.outcome.counted]
        was_scripted = result.receipt is not None and result.receipt.policy.get("models") == "scripted"
        if records and was_scripted != self._scripted:
            answered = "a script answered there" if was_scripted else "a provider answered there"
            self._notes.append(f"{source} is left out: {answered}")
            return
        for record in records:
            self._add(record, source)
        if result.problems:
            self._notes.append(f"{len(result.problems)} damaged files in {source} are left out")

    def basis(self) -> Basis:
        """All that was added."""
        notes = list(self._notes)
        if self._unserved:
            whom = "it" if self._unserved == 1 else "them"
            notes.append(f"{left_out(self._unserved)}: no model answered {whom}")
        return Basis(self._runs.values(), self._left_out, notes)

    def _add(self, record: RunRecord, source: str) -> None:
        key = (record.run_id, record.attempt)
        if key in self._runs:
            return
        usage = _whole_usage(record)
        if usage is None or usage.total is None:
            self._left_out += 1
            return
        if record.metered is not None and not usage.total:
            # Its agent broke down before its first call: the next one will not.
            self._unserved += 1
            return
        usd, other = self._usd(record, usage)
        self._runs[key] = Earlier(record, source, usage.total, usd, other)

    def _usd(self, record: RunRecord, usage: Usage) -> tuple[float | None, bool]:
        """The cost, and whether it rests on other prices than today's."""
        if not usage.total:
            return 0.0, False
        recorded = record.metered.cost_usd if record.metered else None
        if recorded is not None and record.versions.get(PRICES) == self._table:
            return recorded, False
        today = cost_usd(usage, find_price(self._prices, record.model, undated(record.model or "")))
        return (recorded, recorded is not None) if today is None else (today, False)


def _whole_usage(record: RunRecord) -> Usage | None:
    """The tokens of a run; none used where a run that need not call a model made no call."""
    if record.metered is None and record.reported is None and record.kind in {"text", "oracle", "nop"}:
        return Usage(input=0, output=0)
    return record.usage
