"""Rows of results as JSON Lines, one run each: how results of other harnesses come to a report.

A row has arm, run (a whole pass over the cases, from 1), case, and what became of it: `passed`, `infra_error`
or `no_answer`. Everything else is optional and unknown where it is absent.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, ValidationError

from tiltyard_specs.base import Model
from tiltyard_specs.errors import DataError
from tiltyard_specs.record_bounds import MOST, number_words
from tiltyard_specs.visible import visible

ROW_VERSION = 1
AGENT = "agent"
"""What a report calls the agent of rows: they name arms only."""
_Amount = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False, strict=True)]
_Count = Annotated[int, Field(ge=0, le=MOST, strict=True)]


class Row(Model):
    """One run of one case."""

    # Rows of other tools carry keys of their own.
    model_config = ConfigDict(extra="ignore")

    arm: Annotated[str, Field(min_length=1)]
    run: Annotated[int, Field(ge=1, le=MOST, strict=True)]
    case: Annotated[str, Field(min_length=1)]
    passed: StrictBool | None = None
    """None for a row that holds rule checks alone."""
    infra_error: str | None = None
    no_answer: str | None = None
    cost_usd: _Amount | None = None
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    steps: _Amount | None = None
    tool_calls: _Count | None = None
    latency_s: _Amount | None = None
    tags: tuple[str, ...] = ()
    checks: dict[str, StrictBool] = Field(default_factory=dict)
    schema_version: int = ROW_VERSION


def read_rows(path: Path, problems: list[str] | None = None) -> tuple[Row, ...]:
    """The rows of a file.

    Args:
        path: The file.
        problems: Where to name lines that are no row, and lines that say again what became of a run: they
            are left out then. Without it the first ends the reading.

    Raises:
        DataError: The file cannot be read, holds no row, or a line is none; it names file, line and field.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: it is no row file") from error
    rows = tuple(_rows(path, text, problems))
    if not rows:
        raise DataError("\n".join(problems or ()) or f"{path} holds no row")
    return rows


def row_records(rows: tuple[Row, ...]) -> tuple[list[dict[str, Any]], int]:
    """The rows as records, and how many were left out because they say nothing on a pass."""
    kept = [row for row in rows if _decided(row)]
    return [_record(row) for row in kept], len(rows) - len(kept)


def _rows(path: Path, text: str, problems: list[str] | None) -> Iterator[Row]:
    seen: dict[tuple[str, int, str], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = _row(line, f"{path}:{number}")
            _require_first(path, row, number, seen)
        except DataError as error:
            if problems is None:
                raise
            problems.append(str(error))
        else:
            yield row


def _require_first(path: Path, row: Row, number: int, seen: dict[tuple[str, int, str], int]) -> None:
    first = seen.setdefault((row.arm, row.run, row.case), number) if _decided(row) else number
    if first != number:
        which = visible(f"case {row.case}, arm {row.arm}, run {row.run}", one_line=True)
        again = f"is {which} once more, which stands at {path}:{first}"
        raise DataError(f"{path}:{number}: {again}; keep one row per run")


def _row(line: str, where: str) -> Row:
    try:
        data = json.loads(line, object_pairs_hook=_single)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: is no JSON, it may be cut off: {error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: {error}") from error
    if not isinstance(data, Mapping):
        raise DataError(f"{where}: is {type(data).__name__}, a row must be an object")
    version = data.get("schema_version", ROW_VERSION)
    if isinstance(version, int) and version > ROW_VERSION:
        raise DataError(
            f"{where}: schema_version is {version}, this tiltyard reads at most {ROW_VERSION}; "
            "upgrade tiltyard"
        )
    try:
        return Row.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "missing":
            raise DataError(f"{where}: {field} is missing") from None
        given = first["input"]
        words = number_words(given) if isinstance(given, int | float) else repr(given)
        value = visible(words[:80], one_line=True)
        raise DataError(f"{where}: {field} is {value}: {first['msg']}") from None


def _single(pairs: list[tuple[str, object]]) -> dict[str, object]:
    single = dict(pairs)
    if len(single) != len(pairs):
        raise ValueError("a key stands there twice")
    return single


def _decided(row: Row) -> bool:
    return row.passed is not None or row.infra_error is not None or row.no_answer is not None


def _record(row: Row) -> dict[str, Any]:
    outcome, reason = _outcome(row)
    usage = None
    if row.input_tokens is not None or row.output_tokens is not None:
        usage = {"input": row.input_tokens, "output": row.output_tokens}
    return {
        "schema_version": 1,
        "run_id": f"{row.arm}/{row.case}/{row.run}",
        "question": row.case,
        "arm": row.arm,
        "agent": AGENT,
        "rep": row.run,
        "outcome": outcome,
        "reason": reason,
        "usage": usage,
        "reported": {"usage": usage, "cost_usd": row.cost_usd},
        "turns": row.steps,
        "seconds": row.latency_s,
        "tool_count": row.tool_calls,
        "tags": list(row.tags),
    }


def _outcome(row: Row) -> tuple[str, str | None]:
    if row.infra_error is not None:
        return "infra", row.infra_error
    if row.no_answer is not None and not row.passed:
        return "no_answer", row.no_answer
    return ("passed" if row.passed else "failed"), None
