"""The runs of a site: where each one's page lies, and the few facts that lists and filters need."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiltyard_report.model import Report
from tiltyard_report.site.files import Record
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.slug import slug

_AUDITS = frozenset({"oracle", "nop"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One run."""

    place: int
    """Of its record among all records."""
    capability: str | None
    question: str
    """`<capability>+<question>` where capabilities are used."""
    question_slug: str
    arm: str
    agent: str
    rep: int
    outcome: str
    tokens: float | None
    usd: float | None
    seconds: float | None

    @property
    def path(self) -> str:
        """Of its page in the site."""
        return f"run/{self.question_slug}/{slug(self.arm)}/{slug(self.agent)}/{self.rep}.html"

    @property
    def mark(self) -> str:
        """`pass`, `fail` or `muted`, for what is neither."""
        outcome = Outcome(self.outcome)
        return "pass" if outcome.passed else "fail" if outcome.counted else "muted"


def read_entries(records: Iterable[Record], report: Report) -> list[Entry]:
    """The runs of the questions and agents that the report is about, the audited ones too."""
    questions = {row.question for row in report.questions} | {row.question for row in report.audit}
    agents = {agent.agent for agent in report.agents}
    entries = (_entry(place, record) for place, record in enumerate(records) if _kept(record, agents))
    return [entry for entry in entries if entry.question in questions]


def _kept(record: Record, agents: set[str]) -> bool:
    return record.get("agent") in agents or record.get("kind") in _AUDITS


def _entry(place: int, record: Record) -> Entry:
    capability = record.get("capability")
    question, rep = str(record["question"]), record.get("rep")
    name = slug(question)
    return Entry(
        place,
        None if capability is None else str(capability),
        question if capability is None else f"{capability}+{question}",
        name if capability is None else f"{slug(str(capability))}+{name}",
        str(record["arm"]),
        str(record["agent"]),
        rep if isinstance(rep, int) else 0,
        Outcome(str(record["outcome"])).value,
        tokens_of(record.get("usage")),
        usd_of(record),
        number(record.get("seconds")),
    )


def tokens_of(usage: object) -> float | None:
    """All tokens of a usage; None unless what goes in and out is known."""
    if not isinstance(usage, dict):
        return None
    parts = [number(usage.get(name)) for name in ("input", "output", "cache_read", "cache_write")]
    if parts[0] is None or parts[1] is None:
        return None
    return sum(part or 0 for part in parts)


def usd_of(record: Record) -> float | None:
    """The metered cost of a run, or what its agent reported where nothing was metered."""
    for source in ("metered", "reported"):
        spend = record.get(source)
        if isinstance(spend, dict):
            return None if spend.get("incomplete") else number(spend.get("cost_usd"))
    return None


def number(value: object) -> float | None:
    """A number, or None."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def names(values: Iterable[str], first: Sequence[str]) -> list[str]:
    """Names without doubles: the ones that the report lists in its order, then others."""
    present = set(values)
    return [name for name in dict.fromkeys(first) if name in present] + sorted(present - set(first))
