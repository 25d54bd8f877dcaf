"""Reads the table of compacted records, column by column: few different values are read once and shared.

A hundred thousand records take about a second this way; as JSON objects they take ten times as long.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tiltyard_report._accounts import Accounts, Cause, read_causes
from tiltyard_report._receipt import network_text
from tiltyard_report._run import Run, Spent, score_of
from tiltyard_specs.claim_record import Claim
from tiltyard_specs.errors import DataError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record_table import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 16384
"""Rows that are held as lists at once."""
_KINDS = {column.name: column.kind for column in COLUMNS}
_BUCKETS = ("input", "output", "cache_read", "cache_write")
_NEEDED = ("question", "arm", "agent", "rep", "outcome")


class _Row(NamedTuple):
    """The columns that a report reads."""

    question: str
    arm: str
    agent: str
    rep: int
    outcome: Outcome
    capability: str | None
    reason: str | None
    score_recall: float | None
    verify_passed: bool | None
    verify_exit_code: int | None
    claim: str | None
    turns: int | None
    seconds: float | None
    started_at: str | None
    images: Mapping[str, object] | None
    versions: Mapping[str, object] | None
    policy: Mapping[str, object] | None
    position: int | None
    model: str | None
    effort: str | None
    kind: str | None
    used_tool: bool | None
    difference: str | None
    warnings: tuple[str, ...]
    tools: tuple[str, ...]
    metered_cost_usd: float | None
    metered_charged_usd: float | None
    metered_calls: int | None
    metered_incomplete: int | None
    metered_charged_tokens: int | None
    metered_imputed: bool | None
    reported_cost_usd: float | None
    usage: "_Known | None"
    metered: "_Known | None"
    reported: "_Known | None"


_Known = tuple[int | None, int]
"""Total tokens, None when unknown, and the least that they can be."""
_USAGES = ("usage", "metered", "reported")
_PLAIN = tuple(name for name in _Row._fields if name not in _USAGES)
USED_COLUMNS = tuple(
    column.name
    for column in COLUMNS
    if column.name in _PLAIN or column.name.rpartition("usage_")[2] in _BUCKETS
)
"""The columns to read from a file."""


def read_table(table: "pa.Table", source: int = 0) -> list[Run]:
    """Read a table of records, as `tiltyard_specs.record_table` describes it.

    Args:
        table: One row a run. A missing column is unknown.
        source: Which of several results it is.

    Raises:
        DataError: A column that every record has is missing or not known in some row.
    """
    return read_batches(table.to_batches(max_chunksize=_ROWS), source)


def read_batches(batches: "Iterable[pa.RecordBatch]", source: int = 0) -> list[Run]:
    """The same from batches, such as a file yields them: then no more than one is in memory."""
    reader, runs = _Reader(source), []
    for batch in batches:
        for name in _NEEDED:
            if name not in batch.schema.names or batch.column(name).null_count:
                raise DataError(f"The table of records has no whole column {name}; it may be damaged.")
        runs += reader.read(batch)
    return runs


class _Reader:
    """Makes runs of rows; what many rows share is made once."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._shared: dict[Any, Any] = {}
        self._claim = cache(_claim)
        self._difference = cache(_difference)

    def read(self, part: "pa.RecordBatch") -> list[Run]:
        columns = [self._values(part, name) for name in _PLAIN]
        columns += [self._usages(part, "" if name == "usage" else f"{name}_") for name in _USAGES]
        return [self._run(_Row._make(row)) for row in zip(*columns, strict=True)]

    def _usages(self, part: "pa.RecordBatch", prefix: str) -> list[Any]:
        buckets = [self._values(part, f"{prefix}usage_{bucket}") for bucket in _BUCKETS]
        return [_known(*row) for row in zip(*buckets, strict=True)]

    def _values(self, part: "pa.RecordBatch", name: str) -> list[Any]:
        texts = _KINDS.get(name) == "texts"
        if name not in part.schema.names:
            return [() if texts else None] * len(part)
        if _KINDS[name] in {"label", "json"}:
            return self._labels(part, name)
        values: list[Any] = part.column(name).to_pylist()
        return [self._same(tuple(value or ())) for value in values] if texts else values

    def _labels(self, part: "pa.RecordBatch", name: str) -> list[Any]:
        """The texts of a column, each one an object of its own only once."""
        column: Any = part.column(name)
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        read: Callable[[str], Any] = (
            json.loads if name in {"images", "versions", "policy"} else Outcome if name == "outcome" else str
        )
        known = [self._label(name, read, text) for text in column.dictionary.to_pylist()]
        return [None if at is None else known[at] for at in column.indices.to_pylist()]

    def _label(self, name: str, read: Callable[[str], Any], text: str) -> Any:
        key = name, text
        if key not in self._shared:
            try:
                self._shared[key] = read(text)
            except ValueError:
                raise DataError(f"The table of records has {name} {text[:80]!r}, which is none.") from None
        return self._shared[key]

    def _same(self, value: Any) -> Any:
        return self._shared.setdefault(value, value)

    def _run(self, row: _Row) -> Run:
        any_metered = row.metered is not None or row.metered_calls is not None
        open_calls, verified = row.metered_incomplete or 0, row.verify_passed is not None
        cost = row.metered_cost_usd if any_metered else row.reported_cost_usd
        return Run(
            question=self._labelled(row.capability, row.question),
            question_id=row.question,
            arm=row.arm,
            agent=row.agent,
            rep=row.rep,
            outcome=row.outcome,
            counted=row.outcome.counted,
            passed=row.outcome.passed,
            reason=row.reason,
            tokens=None if open_calls or row.usage is None else row.usage[0],
            kind=row.kind or "",
            metered=row.metered is not None,
            usd=None if open_calls else cost,
            spent=_spent(row, open_calls),
            accounts=self._accounts(row, whole=not open_calls, any_metered=any_metered),
            turns=row.turns,
            seconds=row.seconds,
            used_tool=row.used_tool,
            verified=verified,
            verify_exit=row.verify_exit_code,
            model=row.model,
            network=network_text((row.policy or {}).get("network")),
            images=row.images or {},
            versions=row.versions or {},
            warnings=row.warnings,
            claim=None if row.claim is None else self._claim(row.claim),
            capability=row.capability,
            effort=row.effort,
            score=score_of(row.outcome, row.score_recall, verified=verified),
            tools=row.tools,
            tool_calls=float(len(row.tools)),
            position=row.position or 0,
            started_at=row.started_at or "",
            tags=(),
            source=self._source,
        )

    def _labelled(self, capability: str | None, question: str) -> str:
        if capability is None:
            return question
        label: str = self._same(f"{capability}+{question}")
        return label

    def _accounts(self, row: _Row, *, whole: bool, any_metered: bool) -> Accounts:
        causes, explained = self._difference(row.difference) if row.difference else ((), False)
        return Accounts(
            metered_calls=any_metered,
            metered_tokens=row.metered[0] if row.metered and whole else None,
            reported_tokens=row.reported[0] if row.reported else None,
            metered_usd=row.metered_cost_usd if whole else None,
            reported_usd=row.reported_cost_usd,
            causes=causes,
            explained=explained,
            imputed=row.metered_imputed is True,
        )


def _spent(row: _Row, open_calls: int) -> Spent:
    known = row.metered or row.usage
    least = known[1] if known else 0
    return Spent(least, open_calls, row.metered_charged_tokens or None, row.metered_charged_usd or None)


def _known(fresh: int | None, output: int | None, read: int | None, written: int | None) -> _Known | None:
    least = (fresh or 0) + (output or 0) + (read or 0) + (written or 0)
    if fresh is not None and output is not None:
        return least, least
    return None if (fresh, output, read, written) == (None,) * 4 else (None, least)


def _claim(text: str) -> Claim:
    return Claim.model_validate_json(text)


def _difference(text: str) -> tuple[tuple[Cause, ...], bool]:
    difference = json.loads(text)
    return read_causes(difference), difference.get("explained") is True
