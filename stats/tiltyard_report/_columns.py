"""Reads the table of compacted records, column by column: few different values are read once and shared.

A hundred thousand records take about a second this way; as JSON objects they take ten times as long.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

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
_Known = tuple[int | None, int] | None
"""Total tokens, None when unknown, and the least that they can be; None without any usage."""
_USAGES = {"usage": "", "metered": "metered_", "reported": "reported_"}
_PLAIN = (
    *("question", "arm", "agent", "rep", "outcome", "capability", "reason", "score_recall", "verify_passed"),
    *("verify_exit_code", "claim", "turns", "seconds", "started_at", "images", "versions", "policy"),
    *("position", "model", "effort", "kind", "used_tool", "difference", "warnings", "tools"),
    *("metered_cost_usd", "metered_charged_usd", "metered_calls", "metered_incomplete"),
    *("metered_charged_tokens", "metered_imputed", "metered_least_usd", "reported_cost_usd"),
)
USED_COLUMNS = tuple(
    column.name
    for column in COLUMNS
    if column.name in _PLAIN or column.name.rpartition("usage_")[2] in _BUCKETS
)
"""The columns to read from a file."""
LABELS = tuple(name for name in USED_COLUMNS if _KINDS[name] in {"label", "json"})
"""Those of them with few different values: to be read as dictionaries, so that each is made once."""


_Columns = dict[str, list[Any]]
_COUNTED = frozenset(outcome for outcome in Outcome if outcome.counted)
_NO_CAUSES: tuple[tuple[Cause, ...], bool] = ((), False)


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
        """The rows of one batch, made column by column: row by row takes twice as long."""
        raw = {name: self._values(part, name) for name in _PLAIN}
        usages = {name: self._usages(part, prefix) for name, prefix in _USAGES.items()}
        columns = _same_names(raw) | self._derived(raw, usages)
        columns |= _measured(raw, usages)
        return list(map(Run._make, zip(*(columns[name] for name in Run._fields), strict=True)))

    def _derived(self, raw: _Columns, usages: _Columns) -> _Columns:
        rows = len(raw["rep"])
        return {
            "question": list(map(self._labelled, raw["capability"], raw["question"])),
            "question_id": raw["question"],
            "counted": [outcome in _COUNTED for outcome in raw["outcome"]],
            "passed": [outcome is Outcome.PASSED for outcome in raw["outcome"]],
            "kind": [kind or "" for kind in raw["kind"]],
            "network": list(map(self._network, raw["policy"])),
            "images": [images or {} for images in raw["images"]],
            "versions": [versions or {} for versions in raw["versions"]],
            "claim": [None if text is None else self._claim(text) for text in raw["claim"]],
            "tool_calls": [float(len(tools)) for tools in raw["tools"]],
            "position": [position or 0 for position in raw["position"]],
            "started_at": [started or "" for started in raw["started_at"]],
            "accounts": self._accounts(raw, usages),
            "tags": [()] * rows,
            "source": [self._source] * rows,
        }

    def _accounts(self, raw: _Columns, usages: _Columns) -> list[Accounts]:
        whole = [not calls for calls in raw["metered_incomplete"]]
        causes = [self._difference(text) if text else _NO_CAUSES for text in raw["difference"]]
        parts = (
            _any_metered(raw, usages),
            [
                known[0] if known and all_of_it else None
                for known, all_of_it in _pairs(usages["metered"], whole)
            ],
            [known[0] if known else None for known in usages["reported"]],
            [usd if all_of_it else None for usd, all_of_it in _pairs(raw["metered_cost_usd"], whole)],
            raw["reported_cost_usd"],
            [each for each, _ in causes],
            [explained for _, explained in causes],
            [imputed is True for imputed in raw["metered_imputed"]],
        )
        return list(map(Accounts._make, zip(*parts, strict=True)))

    def _network(self, policy: Mapping[str, object] | None) -> str | None:
        """Policies are few, and each is one object."""
        key = "network", id(policy)
        if key not in self._shared:
            self._shared[key] = network_text((policy or {}).get("network"))
        text: str | None = self._shared[key]
        return text

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

    def _labelled(self, capability: str | None, question: str) -> str:
        if capability is None:
            return question
        label: str = self._same(f"{capability}+{question}")
        return label


def _same_names(raw: _Columns) -> _Columns:
    """Columns that a run holds as they are, under whichever name."""
    same = ("arm", "agent", "rep", "outcome", "reason", "turns", "seconds", "used_tool", "model", "warnings")
    columns = {name: raw[name] for name in (*same, "capability", "effort", "tools")}
    return columns | {"verify_exit": raw["verify_exit_code"]}


def _measured(raw: _Columns, usages: _Columns) -> _Columns:
    """What a run used, as far as it is known."""
    open_calls = [calls or 0 for calls in raw["metered_incomplete"]]
    costs = zip(
        open_calls,
        _any_metered(raw, usages),
        raw["metered_cost_usd"],
        raw["reported_cost_usd"],
        strict=True,
    )
    verified = [passed is not None for passed in raw["verify_passed"]]
    scores = zip(raw["outcome"], raw["score_recall"], verified, strict=True)
    least = [known[1] if known else 0 for known in _first(usages["metered"], usages["usage"])]
    usd = [amount or 0.0 for amount in raw["metered_least_usd"]]
    charged = ([amount or None for amount in raw[f"metered_charged_{unit}"]] for unit in ("tokens", "usd"))
    return {
        "tokens": [
            known[0] if known and not calls else None for known, calls in _pairs(usages["usage"], open_calls)
        ],
        "metered": [known is not None for known in usages["metered"]],
        "usd": [None if calls else ours if metered else theirs for calls, metered, ours, theirs in costs],
        "spent": list(map(Spent._make, zip(least, usd, open_calls, *charged, strict=True))),
        "verified": verified,
        "score": [score_of(outcome, recall, verified=by_command) for outcome, recall, by_command in scores],
    }


def _totals(usages: list[Any], whole: list[bool]) -> list[int | None]:
    return [known[0] if known and all_of_it else None for known, all_of_it in _pairs(usages, whole)]


def _any_metered(raw: _Columns, usages: _Columns) -> list[bool]:
    pairs = _pairs(usages["metered"], raw["metered_calls"])
    return [known is not None or calls is not None for known, calls in pairs]


def _first(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return [one or other for one, other in _pairs(ours, theirs)]


def _pairs(ours: list[Any], theirs: list[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(ours, theirs, strict=True)


def _known(fresh: int | None, output: int | None, read: int | None, written: int | None) -> _Known:
    least = (fresh or 0) + (output or 0) + (read or 0) + (written or 0)
    if fresh is not None and output is not None:
        return least, least
    return None if (fresh, output, read, written) == (None,) * 4 else (None, least)


def _claim(text: str) -> Claim:
    return Claim.model_validate_json(text)


def _difference(text: str) -> tuple[tuple[Cause, ...], bool]:
    difference = json.loads(text)
    return read_causes(difference), difference.get("explained") is True
