"""Which models the runs of a trial really used: what was requested, what answered, and what it cost.

A run whose agent never called the model under trial proves nothing about it, however well it ended: a CLI may
fall back to another model, or answer from a helper alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import ValidationError

from tiltyard_cluster.estimate_basis import undated
from tiltyard_cluster.layout import run_key
from tiltyard_cluster.places import Files
from tiltyard_cluster.reading import ReadResult
from tiltyard_specs import Call, RunRecord, TrialReceipt, TrialSpec
from tiltyard_specs.kinds import UNMETERED_KINDS
from tiltyard_specs.variants import AgentVariant, expand

SCHEMA_VERSION = 1
CALLS = "calls.jsonl"
_NOT_SENT = frozenset({"free", "refused"})
_ANSWERED = frozenset({"ok", "cut", "hung_up"})
_NO_AGENT = frozenset({"oracle", "nop"})


@dataclass(slots=True)
class Use:
    """Calls with one requested and one resolved model."""

    role: str | None
    """The model that the agent asked for."""
    asked: str | None
    """What a rewrite rule made of it; None where none did."""
    model: str | None
    """The model that the provider says it ran; None where none answered."""
    worker: bool
    """Whether the role is the one under trial."""
    calls: int = 0
    answered: int = 0
    tokens: int = 0
    unknown_tokens: int = 0
    """Answered calls whose usage is not known: `tokens` is a lower bound then."""
    usd: float = 0.0
    unknown_usd: int = 0
    """Answered calls whose cost is not known: `usd` is a lower bound then."""
    imputed: int = 0
    """Calls that the agent's own login paid: their cost is what the tokens cost at list price."""

    def add(self, call: Call) -> None:
        """Count one call."""
        answered = call.outcome in _ANSWERED
        total = call.usage.total if call.usage else None
        self.calls += 1
        self.answered += answered
        self.tokens += total or 0
        self.unknown_tokens += answered and total is None
        self.usd += call.cost_usd or 0.0
        self.unknown_usd += answered and call.cost_usd is None
        self.imputed += call.imputed


@dataclass(frozen=True, slots=True)
class RunFidelity:
    """The models of one run."""

    run_id: str
    capability: str | None
    question: str
    arm: str
    agent: str
    rep: int
    outcome: str
    completed: bool
    """Whether it counts as a pass or a failure."""
    expected: tuple[str, ...]
    """The roles that count as the worker, as names or patterns; empty where any does."""
    uses: tuple[Use, ...]
    faithful: bool | None
    """Whether a worker's call was answered; None where it need not be, or where it is not known."""
    problem: str | None = None
    """Why it is not known."""


@dataclass(frozen=True, slots=True)
class ArmFidelity:
    """The runs of one arm together."""

    arm: str
    runs: int
    completed: int
    faithful: int
    """Completed runs in which a worker's call was answered."""
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """What a whole result shows."""

    schema_version: int
    worker: str | None
    """The pattern that was asked for."""
    runs: tuple[RunFidelity, ...]
    arms: tuple[ArmFidelity, ...]

    @property
    def unfaithful(self) -> tuple[RunFidelity, ...]:
        """Completed runs without an answered call of the worker."""
        return tuple(run for run in self.runs if run.completed and run.faithful is False)

    @property
    def unknown(self) -> tuple[RunFidelity, ...]:
        """Completed runs of which calls are not there."""
        return tuple(run for run in self.runs if run.completed and run.problem is not None)


def check_fidelity(store: Files, result: ReadResult, worker: str | None = None) -> Fidelity:
    """Look at every call of every settled run.

    Args:
        store: Where the files of its runs lie. Files of calls are read line by line.
        result: What was read from it.
        worker: Pattern of the roles that count as the worker; by default what the agent was told to use.
    """
    variants = _variants(result.receipt)
    runs = tuple(_run(store, record, variants, worker) for record in result.records)
    arms = dict.fromkeys(run.arm for run in runs)
    return Fidelity(SCHEMA_VERSION, worker, runs, tuple(_arm(arm, runs) for arm in arms))


def _variants(receipt: TrialReceipt | None) -> Mapping[tuple[str, str], AgentVariant]:
    """Each agent as it runs in each arm, by the spec in the receipt, where that can be read."""
    try:
        spec = TrialSpec.model_validate(receipt.spec if receipt else {})
    except ValidationError:
        return {}
    variants = [variant for agent in spec.agents for variant in expand(agent)]
    return {(arm.name, variant.name): variant.under(arm) for arm in spec.arms for variant in variants}


def _run(
    store: Files,
    record: RunRecord,
    variants: Mapping[tuple[str, str], AgentVariant],
    worker: str | None,
) -> RunFidelity:
    variant = variants.get((record.arm, record.agent))
    asked = variant.model if variant else record.model
    expected = tuple(name for name in (worker or asked,) if name)
    key = f"{run_key(record)}/{CALLS}"
    uses: dict[tuple[str | None, ...], Use] = {}
    seen = 0
    for call in _calls(store, key):
        if call.outcome in _NOT_SENT:
            continue
        seen += 1
        is_worker = fnmatchcase(call.role or "", worker) if worker else _is_role(call.role, asked)
        pair = (call.role, call.asked, call.model)
        uses.setdefault(pair, Use(*pair, worker=is_worker)).add(call)
    problem = _lacking(key, seen, (record.metered.calls or 0) if record.metered else 0)
    exempt = record.kind in _NO_AGENT or (record.kind in UNMETERED_KINDS and not expected and not uses)
    faithful = any(use.worker and use.answered for use in uses.values())
    return RunFidelity(
        run_id=record.run_id,
        capability=record.capability,
        question=record.question,
        arm=record.arm,
        agent=record.agent,
        rep=record.rep,
        outcome=record.outcome.value,
        completed=record.outcome.counted,
        expected=expected,
        uses=tuple(uses.values()),
        faithful=None if exempt or (problem and not faithful) else faithful,
        problem=problem,
    )


def _lacking(key: str, seen: int, calls: int) -> str | None:
    """That calls are missing, in words."""
    if seen >= calls:
        return None
    if not seen:
        return f"{key} is not there, or holds no call"
    return f"{key} holds {seen} of the {calls} calls that the record counts"


def _is_role(role: str | None, asked: str | None) -> bool:
    """Whether an agent that was told to use `asked` names it so.

    CLIs turn a short name into a whole one (`sonnet`), leave a provider's name away and add a date.
    """
    if asked is None:
        return True
    name = asked.rpartition("/")[2]
    return role is not None and (undated(role) == undated(name) or name in role.split("-"))


def _calls(store: Files, key: str) -> Iterator[Call]:
    """The calls of a file that may be large; a line that a kill has cut is left out."""
    for line in _lines(store, key):
        try:
            yield Call.model_validate_json(line)
        except ValidationError:
            continue


def _lines(store: Files, key: str) -> Iterator[bytes]:
    rest = b""
    try:
        for chunk in store.stream(key):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
    except (FileNotFoundError, NotADirectoryError):
        return
    if rest:
        yield rest


def _arm(arm: str, runs: Iterable[RunFidelity]) -> ArmFidelity:
    mine = [run for run in runs if run.arm == arm]
    completed = [run for run in mine if run.completed]
    return ArmFidelity(
        arm, len(mine), len(completed), sum(run.faithful is True for run in completed), _together(mine)
    )


def _together(runs: Sequence[RunFidelity]) -> tuple[Use, ...]:
    """The uses of several runs, by requested and resolved model."""
    sums: dict[tuple[object, ...], Use] = {}
    counts = ("calls", "answered", "tokens", "unknown_tokens", "usd", "unknown_usd", "imputed")
    for use in (use for run in runs for use in run.uses):
        key = (use.role, use.asked, use.model, use.worker)
        total = sums.setdefault(key, Use(use.role, use.asked, use.model, use.worker))
        for name in counts:
            setattr(total, name, getattr(total, name) + getattr(use, name))
    return tuple(sums.values())
