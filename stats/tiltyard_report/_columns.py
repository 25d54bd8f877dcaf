"""Reads the table of compacted records, column by column, never row by row."""

import json
from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiltyard_report import _arrow
from tiltyard_report._accounts import read_difference
from tiltyard_report._gather import Gatherer
from tiltyard_report._receipt import network_text
from tiltyard_report._runs import Column
from tiltyard_specs.claim_record import Claim
from tiltyard_specs.errors import DataError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record_bounds import bounds_of, range_words
from tiltyard_specs.record_table import COLUMNS
from tiltyard_specs.visible import visible
from tiltyard_stats._result import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 16384
"""Rows of a table that are looked at together."""
_KINDS = {column.name: column.kind for column in COLUMNS}
_BOUNDS = {column.name: bounds for column in COLUMNS if (bounds := bounds_of(column))}
_BUCKETS = ("input", "output", "cache_read", "cache_write")
_NEEDED = ("question", "arm", "agent", "rep", "outcome")
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


class _Usage(NamedTuple):
    """Tokens of some runs."""

    total: FloatArray
    """NaN where they are not fully known."""
    least: FloatArray
    there: BoolArray
    """Whether anything is known."""


def read_table(gatherer: Gatherer, table: "pa.Table", source: int = 0) -> None:
    """Read a table of records, as `tiltyard_specs.record_table` describes it.

    Args:
        gatherer: Where the runs go.
        table: One row a run. A missing column is unknown.
        source: Which of several results it is.

    Raises:
        DataError: A column that every record has is missing or not known in some row.
    """
    read_batches(gatherer, table.to_batches(max_chunksize=_ROWS), source)


def read_batches(gatherer: Gatherer, batches: "Iterable[pa.RecordBatch]", source: int = 0) -> None:
    """The same from batches, such as a file yields them: then no more than one is in memory."""
    for batch in batches:
        for name in _NEEDED:
            if name not in batch.schema.names or batch.column(name).null_count:
                raise DataError(f"The table of records has no whole column {name}; it may be damaged.")
        gatherer.add(_Batch(gatherer, batch).columns(source))


class _Batch:
    """The columns of one batch, as the store has them."""

    def __init__(self, gatherer: Gatherer, part: "pa.RecordBatch") -> None:
        self._gatherer, self._part = gatherer, part
        self._size = len(part)

    def columns(self, source: int) -> dict[str, Column]:
        """All of them."""
        columns = self._labelled()
        return (
            columns | self._measured(columns["outcome"]) | self._accounts() | {"source": self._full(source)}
        )

    def _labelled(self) -> dict[str, Column]:
        columns = {name: self._codes(name, *how) for name, how in _READ.items()}
        tools, calls = self._texts("tools")
        return columns | {
            "question": self._questions(columns["capability"], columns["question_id"]),
            "verify_exit": self._exits(),
            "tools": tools,
            "tool_calls": calls,
            "warnings": self._texts("warnings")[0],
            "tags": self._full(self._gatherer.code("tags", ())),
        }

    def _measured(self, outcomes: Column) -> dict[str, Column]:
        ours, theirs = self._usage("metered_"), self._usage("")
        calls = self._whole("metered_incomplete")
        verified = ~np.isnan(self._numbers("verify_passed"))
        passed = self._ended(outcomes, lambda outcome: outcome.passed)
        by_key = self._ended(outcomes, lambda outcome: outcome in {Outcome.PASSED, Outcome.FAILED})
        recall = self._numbers("score_recall")
        paid = np.where(
            self._seen(ours), self._numbers("metered_cost_usd"), self._numbers("reported_cost_usd")
        )
        return {
            **{name: self._numbers(name) for name in ("turns", "seconds", "used_tool")},
            **{name: self._whole(name) for name in ("rep", "position")},
            "counted": self._ended(outcomes, lambda outcome: outcome.counted),
            "passed": passed,
            "verified": verified,
            "score": np.where(by_key & ~verified & ~np.isnan(recall), recall, passed),
            "tokens": np.where(calls == 0, theirs.total, np.nan),
            "usd": np.where(calls == 0, paid, np.nan),
            "metered": ours.there,
            "open_calls": calls,
            "least_tokens": np.where(ours.there, ours.least, theirs.least),
            "least_usd": np.nan_to_num(self._numbers("metered_least_usd")),
            "most_tokens": self._charge("metered_charged_tokens"),
            "most_usd": self._charge("metered_charged_usd"),
        }

    def _accounts(self) -> dict[str, Column]:
        ours, theirs = self._usage("metered_"), self._usage("reported_")
        whole = self._whole("metered_incomplete") == 0
        return {
            "metered_calls": self._seen(ours),
            "metered_tokens": np.where(whole, ours.total, np.nan),
            "reported_tokens": theirs.total,
            "metered_usd": np.where(whole, self._numbers("metered_cost_usd"), np.nan),
            "reported_usd": self._numbers("reported_cost_usd"),
            "imputed": self._numbers("metered_imputed") == 1,
        }

    def _full(self, value: int) -> IntArray:
        return np.full(self._size, value, dtype=np.int64)

    def _ended(self, outcomes: Column, wanted: Callable[[Outcome], bool]) -> BoolArray:
        return self._gatherer.having("outcome", outcomes, wanted)

    def _seen(self, metered: _Usage) -> BoolArray:
        """Where the meter saw the run at all."""
        seen: BoolArray = metered.there | ~np.isnan(self._numbers("metered_calls"))
        return seen

    def _usage(self, prefix: str) -> _Usage:
        buckets = np.array([self._numbers(f"{prefix}usage_{bucket}") for bucket in _BUCKETS])
        there = ~np.isnan(buckets)
        least = np.nan_to_num(buckets).sum(axis=0)
        return _Usage(np.where(there[0] & there[1], least, np.nan), least, there.any(axis=0))

    def _charge(self, name: str) -> FloatArray:
        """A charge of 0 for calls that may have been billed means that no price is known."""
        charge = self._numbers(name)
        return np.where(charge == 0, np.nan, charge)

    def _numbers(self, name: str) -> FloatArray:
        """NaN where a value is not known."""
        if name not in self._part.schema.names or self._part.column(name).null_count == self._size:
            return np.full(self._size, np.nan)
        values = _arrow.numbers(self._part.column(name))
        self._require_bounds(name, values)
        return values

    def _require_bounds(self, name: str, values: FloatArray) -> None:
        bounds = _BOUNDS.get(name)
        # NaN is in no bounds and out of none: it is what is not known.
        outside = (values < bounds[0]) | (values > bounds[1]) if bounds else np.zeros(0, dtype=bool)
        if bounds and outside.any():
            row = int(outside.argmax())
            which = ", ".join(f"{key} {self._part.column(key)[row].as_py()}" for key in _NEEDED[:4])
            raise DataError(
                f"The table of records has {name} {values[row]:g} for {visible(which, one_line=True)}; "
                f"it must be {range_words(bounds)}."
            )

    def _whole(self, name: str) -> IntArray:
        """0 where a value is not known."""
        return np.nan_to_num(self._numbers(name)).astype(np.int64)

    def _codes(self, name: str, column_name: str, read: Callable[[str | None], Any]) -> IntArray:
        """The numbers of the labels that a column gives."""
        if column_name not in self._part.schema.names:
            return self._full(self._code(name, column_name, None, read))
        column: Any = self._part.column(column_name)
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        texts: list[str | None] = column.dictionary.to_pylist()
        if column.null_count:
            texts.append(None)
        known = [self._code(name, column_name, text, read) for text in texts]
        return np.array(known, dtype=np.int64)[_arrow.places(column)]

    def _code(self, name: str, column: str, text: str | None, read: Callable[[str | None], Any]) -> int:
        try:
            if _KINDS[column] == "json":
                return self._gatherer.code(name, text, lambda: read(text))
            return self._gatherer.code(name, read(text))
        except ValueError:
            raise DataError(f"The table of records has {column} {str(text)[:80]!r}, which is none.") from None

    def _questions(self, capabilities: Column, questions: Column) -> IntArray:
        """By capability and question, where there is a capability."""
        names = self._gatherer.labels("capability"), self._gatherer.labels("question_id")
        pairs, places = np.unique(capabilities * len(names[1]) + questions, return_inverse=True)
        each = [divmod(pair, len(names[1])) for pair in pairs.tolist()]
        texts = [
            names[1][at] if names[0][group] is None else f"{names[0][group]}+{names[1][at]}"
            for group, at in each
        ]
        return np.array([self._gatherer.code("question", text) for text in texts], dtype=np.int64)[places]

    def _exits(self) -> IntArray:
        codes, places = np.unique(self._numbers("verify_exit_code"), return_inverse=True)
        labels = [None if isnan(code) else int(code) for code in codes.tolist()]
        return np.array([self._gatherer.code("verify_exit", each) for each in labels], dtype=np.int64)[places]

    def _texts(self, name: str) -> tuple[IntArray, FloatArray]:
        """Lists of texts: the numbers of those that are alike, and how long each is."""
        if name not in self._part.schema.names or self._part.column(name).null_count == self._size:
            return self._full(self._gatherer.code(name, ())), np.zeros(self._size)
        column: Any = self._part.column(name)
        ends = _arrow.ends(column)
        values = column.values.dictionary_encode()
        words = self._gatherer.words(values.dictionary.to_pylist())[_arrow.places(values)]
        codes = self._gatherer.lists(name, words, ends)
        return codes, np.diff(ends).astype(np.float64)


def _object(text: str | None) -> Mapping[str, object]:
    found: Mapping[str, object] = json.loads(text) if text else {}
    return found


def _optional(text: str | None) -> str | None:
    return text


def _text(text: str | None) -> str:
    return text or ""


def _claim(text: str | None) -> Claim | None:
    return None if text is None else Claim.model_validate_json(text)


_READ: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "outcome": ("outcome", Outcome),
    "question_id": ("question", _text),
    "arm": ("arm", _text),
    "agent": ("agent", _text),
    "kind": ("kind", _text),
    "started_at": ("started_at", _text),
    **{name: (name, _optional) for name in ("reason", "model", "capability", "effort")},
    "images": ("images", _object),
    "versions": ("versions", _object),
    "network": ("policy", lambda text: network_text(_object(text).get("network"))),
    "claim": ("claim", _claim),
    "difference": ("difference", lambda text: read_difference(_object(text))),
}
"""Of each label its column, and how a text of it is read; what JSON says is read once for each text."""
