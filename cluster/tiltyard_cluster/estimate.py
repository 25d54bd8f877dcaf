"""What a trial will cost, from what earlier runs did; nothing is started and nothing is spent.

A mean is no promise: each number comes with the cheapest and the dearest of its basis, with the number of
runs that it rests on, and with what limits and budget allow at most. Without a basis it is unknown, never 0.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from tiltyard_cluster.estimate_basis import LEVELS, Basis, BasisReader, Earlier, Like, left_out
from tiltyard_cluster.estimate_bounds import Bound, bound_of, standing
from tiltyard_cluster.estimate_model import SCHEMA_VERSION, Estimate, Part, Range, Situation, Support
from tiltyard_cluster.plan import PlannedRun, calls_model
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.store import Store
from tiltyard_specs import AgentVariant, PriceRow, Trial
from tiltyard_specs.errors import DataError
from tiltyard_specs.prices import PRICES, price_version
from tiltyard_specs.rewrite import rewrite_model

_MILLION = 1_000_000


def make_estimate(trial: Trial, left: Sequence[PlannedRun], basis: Basis, now: Situation) -> Estimate:
    """Estimate the runs of a trial that are left.

    Args:
        trial: The trial.
        left: Its runs to do.
        basis: Earlier runs.
        now: What else bears on it.
    """
    maker = _Maker(trial, basis, now.price_per_mtok)
    parts = tuple(maker.part(runs) for runs in _by_pair(trial, left))
    tokens, usd = _total(part.tokens for part in parts), _total(part.usd for part in parts)
    unknown_tokens = sum(part.runs for part in parts if part.counts and part.tokens is None)
    unknown_usd = sum(part.runs for part in parts if part.counts and part.usd is None)
    budget = trial.spec.budget
    expected, unknown = (tokens, unknown_tokens) if budget and budget.tokens else (usd, unknown_usd)
    stands = standing(budget, now.spent, expected, unknown_runs=unknown, rows=maker.rows(left))
    return Estimate(
        schema_version=SCHEMA_VERSION,
        runs=len(left),
        done=now.done,
        parts=parts,
        tokens=tokens,
        usd=usd,
        unknown_tokens_runs=unknown_tokens,
        unknown_usd_runs=unknown_usd,
        earlier_runs=len(maker.used),
        most=Bound.total([part.most for part in parts]).within(stands),
        budget=stands,
        spent=now.spent,
        scripted=now.scripted,
        prices=price_version(trial.spec.prices).get(PRICES),
        price_per_mtok=now.price_per_mtok,
        notes=tuple(maker.notes()),
    )


def estimate_left(
    trial: Trial,
    publisher: Publisher,
    left: Sequence[PlannedRun],
    now: Situation,
    *,
    name: str,
    prior: Sequence[tuple[str, Store]] = (),
) -> Estimate:
    """Estimate what is left from the results folder itself and from other ones.

    Args:
        trial: The trial.
        publisher: Through which the runs of the plan were looked up.
        left: The runs to do.
        now: What else bears on it.
        name: What to call the results folder.
        prior: Names and stores of other results.

    Raises:
        DataError: One of `prior` holds no trial.
    """
    reader = BasisReader(trial.spec.prices, scripted=now.scripted)
    # No record in it is no error here: the trial may be new, or its first start was killed.
    with suppress(DataError):
        reader.result(read_result(publisher.store, name), name, publisher.superseded)
    for source, store in prior:
        reader.result(read_result(store, source), source)
    return make_estimate(trial, left, reader.basis(), now)


def _by_pair(trial: Trial, left: Sequence[PlannedRun]) -> Iterable[list[PlannedRun]]:
    """The runs of each arm with each agent, in the order of the spec."""
    groups: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in left:
        groups.setdefault((run.arm, run.agent), []).append(run)
    pairs = [(arm.name, agent.name) for arm in trial.spec.arms for agent in trial.agents]
    return (groups[pair] for pair in pairs if pair in groups)


class _Maker:
    """Looks the basis of each run up, and remembers what was used."""

    def __init__(self, trial: Trial, basis: Basis, price_per_mtok: float | None) -> None:
        self._trial = trial
        self._basis = basis
        self._price = price_per_mtok
        self.used: dict[int, Earlier] = {}

    def part(self, runs: Sequence[PlannedRun]) -> Part:
        """The estimate of the runs of one arm with one agent."""
        first = runs[0]
        agent = self._trial.agent(first.agent).under(self._trial.arm(first.arm))
        found = [self._basis.nearest(Like(run.question, run.arm, agent)) for run in runs]
        part = Part(
            arm=first.arm,
            agent=first.agent,
            model=agent.model,
            runs=len(runs),
            tokens=_sums(found, lambda run: run.tokens),
            usd=_sums(found, lambda run: run.usd),
            basis=self._support(found),
            missing=None,
            most=bound_of(self._trial.spec, len(runs), priced=self._priced(agent)),
        )
        return self._explained(self._projected(part), agent)

    def rows(self, runs: Sequence[PlannedRun]) -> list[PriceRow]:
        """The prices of the models that some runs may call, as far as they are known."""
        pairs = {(run.agent, run.arm) for run in runs}
        agents = [self._trial.agent(agent).under(self._trial.arm(arm)) for agent, arm in sorted(pairs)]
        models = {model for agent in agents if calls_model(agent) for model in _models(agent)}
        return [row for model, row in self._trial.spec.prices.items() if model in models]

    def _priced(self, agent: AgentVariant) -> bool:
        return all(model in self._trial.spec.prices for model in _models(agent))

    def _projected(self, part: Part) -> Part:
        if self._price is None or part.usd is not None or part.tokens is None:
            return part
        price, tokens = self._price / _MILLION, part.tokens
        low, high = (None if each is None else each * price for each in (tokens.low, tokens.high))
        return replace(part, usd=Range(tokens.mean * price, low, high), projected=True)

    def _explained(self, part: Part, agent: AgentVariant) -> Part:
        named = f"{part.agent} ({agent.model})" if agent.model else part.agent
        if agent.kind in {"oracle", "nop"}:
            return replace(part, tokens=Range(0, 0, 0), usd=Range(0, 0, 0), most=Bound(0, 0.0))
        if part.tokens is None:
            why = f"no earlier runs of {named}" if calls_model(agent) else None
            return replace(part, missing=why)
        if part.usd is None:
            return replace(part, missing=f"{named} has no row in prices")
        return part

    def _support(self, found: Sequence[Sequence[tuple[int, list[Earlier]]]]) -> tuple[Support, ...]:
        levels: dict[int, dict[int, Earlier]] = {}
        for near in found:
            for level, runs in near[:1]:
                levels.setdefault(level, {}).update({id(run): run for run in runs})
                self.used.update({id(run): run for run in runs})
        return tuple(
            Support(LEVELS[level], len(runs), tuple(sorted({run.source for run in runs.values()})))
            for level, runs in sorted(levels.items())
        )

    def notes(self) -> Iterable[str]:
        yield from self._basis.notes
        if self._basis.left_out:
            whose = "its" if self._basis.left_out == 1 else "their"
            yield f"{left_out(self._basis.left_out)}: {whose} usage is not fully known"
        if other := sum(run.other_prices for run in self.used.values()):
            yield f"the cost of {other} earlier runs is at the prices of their time: they have no row today"


def _models(agent: AgentVariant) -> list[str | None]:
    return [agent.model and rewrite_model(agent.model, agent.rewrite), *agent.rewrite.values()]


def _sums(
    found: Sequence[Sequence[tuple[int, list[Earlier]]]], value: Callable[[Earlier], float | None]
) -> Range | None:
    """The sum over runs; None when one has no basis."""
    ranges = [
        _expect([[v for run in runs if (v := value(run)) is not None] for _, runs in near]) for near in found
    ]
    known = [each for each in ranges if each is not None]
    return _total(known) if len(known) == len(ranges) else None


def _expect(levels: Iterable[Sequence[float]]) -> Range | None:
    """What one run is expected to use: the mean of the nearest level.

    One earlier run shows no spread. Then the spread of the next level stands in, in proportion.
    """
    known = [values for values in levels if values]
    if not known:
        return None
    mean = sum(known[0]) / len(known[0])
    for values in known:
        middle = sum(values) / len(values)
        if len(values) > 1 and middle:
            low, high = (mean * end / middle for end in (min(values), max(values)))
            return Range(mean, min(low, mean), max(high, mean))  # no rounding puts it outside
        if len(values) > 1:
            return Range(mean, min(values), max(values))
    return Range(mean, None, None)


def _total(ranges: Iterable[Range | None]) -> Range | None:
    known = [each for each in ranges if each is not None]
    return sum(known[1:], known[0]) if known else None
