"""Records as they lie in run.json, read into the few columns that a report needs; `_columns` reads tables."""

from collections.abc import Iterable, Mapping

import numpy as np
from pydantic import ValidationError

from tiltyard_report._accounts import Accounts, read_causes
from tiltyard_report._gather import Gatherer
from tiltyard_report._receipt import network_text
from tiltyard_report._run import Run, Spent, score_of
from tiltyard_report._runs import Runs
from tiltyard_specs.claim_record import Claim
from tiltyard_specs.errors import DataError
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.record import RECORD_VERSION
from tiltyard_specs.record_bounds import MOST, number_words, range_words
from tiltyard_specs.usage import Usage
from tiltyard_specs.visible import visible

_BUCKETS = frozenset(Usage.model_fields)


def read_records(gatherer: Gatherer, records: Iterable[Mapping[str, object]], source: int = 0) -> None:
    """Read the records of one result.

    Args:
        gatherer: Where the runs go.
        records: One object a run.
        source: Which of several results it is.

    Raises:
        DataError: A record lacks a key, has a wrong type or a newer schema.
    """
    gatherer.add_runs([read_run(record, index) for index, record in enumerate(records)], source)


def refuse_doubles(runs: Runs) -> None:
    """Refuse two records of one run.

    Raises:
        DataError: A run stands there twice.
    """
    numbers, first = runs.first("question", "arm", "agent", "rep", "source")
    if len(first) == len(runs):
        return
    index = int(np.flatnonzero(first[numbers] != np.arange(len(runs)))[0])
    question, arm, agent = (runs[index : index + 1].texts(name)[0] for name in ("question", "arm", "agent"))
    double = f"question {question}, arm {arm}, agent {agent}, rep {runs.column('rep')[index]}"
    raise DataError(
        f"Records {first[numbers[index]]} and {index} are both {visible(double, one_line=True)}; "
        "keep one record per run."
    )


def read_run(record: Mapping[str, object], index: int) -> Run:
    """Read one record; `index` names it in errors."""
    source = _Source(record, index)
    source.check_version()
    capability, question = source.text_or_none("capability"), source.text("question")
    metered, reported = source.part("metered"), source.part("reported")
    verify, outcome = source.part("verify"), source.outcome()
    spent, tools = source.spent(metered), source.tools()
    return Run(
        question=question if capability is None else f"{capability}+{question}",
        question_id=question,
        arm=source.text("arm"),
        agent=source.text("agent"),
        rep=source.whole("rep"),
        outcome=outcome,
        counted=outcome.counted,
        passed=outcome.passed,
        reason=source.text_or_none("reason"),
        tokens=None if spent.open_calls else source.usage("usage")[0],
        kind=source.text_or_none("kind") or "",
        metered=metered.get("usage") is not None,
        usd=None if spent.open_calls else source.amount("cost_usd", metered or reported),
        spent=spent,
        accounts=source.accounts(metered, reported),
        turns=source.amount("turns"),
        seconds=source.amount("seconds"),
        used_tool=source.flag("used_tool"),
        verified=bool(verify),
        verify_exit=source.whole_or_none("exit_code", verify),
        model=source.text_or_none("model"),
        network=network_text(source.part("policy").get("network")),
        images=source.part("images"),
        versions=source.part("versions"),
        warnings=source.texts("warnings"),
        claim=source.claim(),
        capability=capability,
        effort=source.text_or_none("effort"),
        score=score_of(outcome, source.recall(), verified=bool(verify)),
        tools=tools,
        tool_calls=source.amount("tool_count") if "tool_count" in record else float(len(tools)),
        position=source.whole_or_none("position", record) or 0,
        started_at=source.text_or_none("started_at") or "",
        tags=source.texts("tags"),
    )


class _Source:
    """Typed access to one record; an error names the record, the key and the value."""

    def __init__(self, record: Mapping[str, object], index: int) -> None:
        if not isinstance(record, Mapping):
            raise DataError(f"Record {index} is {type(record).__name__}, not an object; it may be truncated.")
        self._record = record
        named = f" ({record['run_id']})" if record.get("run_id") else ""
        self._name = visible(f"Record {index}{named}", one_line=True)

    def check_version(self) -> None:
        version = self.whole("schema_version")
        if version > RECORD_VERSION:
            raise DataError(
                f"{self._name} has schema_version {version}, this tiltyard reads at most {RECORD_VERSION}; "
                "upgrade tiltyard."
            )

    def text(self, key: str) -> str:
        value = self.text_or_none(key)
        if not value:
            raise self._error(key, value, "a non-empty text")
        return value

    def text_or_none(self, key: str) -> str | None:
        value = self._record.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self._error(key, value, "a text or null")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._record.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self._error(key, value, "a list")
        return tuple(str(item) for item in value)

    def whole(self, key: str) -> int:
        value = self._record.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise self._error(key, value, f"a whole number {range_words((1, MOST))}")
        return value

    def whole_or_none(self, key: str, part: Mapping[str, object]) -> int | None:
        value = part.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST):
            return value
        raise self._error(key, value, f"a whole number {range_words((-MOST, MOST))} or null")

    def amount(self, key: str, part: Mapping[str, object] | None = None) -> float | None:
        value = (self._record if part is None else part).get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            raise self._error(key, value, f"a number {range_words((0, MOST))} or null")
        return float(value)

    def flag(self, key: str) -> bool | None:
        value = self._record.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self._error(key, value, "true, false or null")

    def part(self, key: str) -> Mapping[str, object]:
        value = self._record.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self._error(key, value, "an object or null")
        return value

    def outcome(self) -> Outcome:
        value = self.text("outcome")
        try:
            return Outcome(value)
        except ValueError:
            raise self._error("outcome", value, f"one of {', '.join(Outcome)}") from None

    def usage(self, key: str, part: Mapping[str, object] | None = None) -> tuple[int | None, int]:
        """Total tokens, None when unknown, and the least that they can be."""
        usage = (self._record if part is None else part).get("usage")
        if usage is None:
            return None, 0
        if not (
            isinstance(usage, Mapping)
            and usage.keys() <= _BUCKETS
            and all(value is None or (type(value) is int and 0 <= value <= MOST) for value in usage.values())
        ):
            usage = self._odd_usage(key, usage)
        known = [usage.get(bucket) for bucket in ("input", "output", "cache_read", "cache_write")]
        least = sum(value or 0 for value in known)
        return (None if known[0] is None or known[1] is None else least), least

    def _odd_usage(self, key: str, usage: object) -> dict[str, int | None]:
        """What the model makes of it, with the error in our words; it is too slow for each record."""
        try:
            counts = Usage.model_validate(usage).model_dump()
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join([key, *map(str, first["loc"])])
            raise self._error(path, first["input"], "token counts in canonical form") from None
        for bucket, count in counts.items():
            if count is not None and not 0 <= count <= MOST:
                raise self._error(f"{key}.{bucket}", count, range_words((0, MOST)))
        return counts

    def recall(self) -> float | None:
        """What share of the answer key matched."""
        part = self.part("score")
        recall = self.amount("recall", part)
        if recall is not None and recall > 1:
            raise self._error("score.recall", recall, "from 0 to 1 or null")
        return recall

    def tools(self) -> tuple[str, ...]:
        calls = self._record.get("tool_calls")
        if calls is None:
            return ()
        if not isinstance(calls, list | tuple) or not all(isinstance(call, Mapping) for call in calls):
            raise self._error("tool_calls", calls, "a list of objects")
        return tuple(str(call.get("name")) for call in calls)

    def claim(self) -> Claim | None:
        part = self.part("claim")
        try:
            return Claim.model_validate(part) if part else None
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join(["claim", *map(str, first["loc"])])
            raise self._error(path, first["input"], "as docs/results.md describes it") from None

    def spent(self, metered: Mapping[str, object]) -> Spent:
        known = self.usage("usage") if metered.get("usage") is None else self.usage("metered.usage", metered)
        return Spent(
            least_tokens=known[1],
            least_usd=self.amount("least_usd", metered) or 0.0,
            open_calls=self.whole_or_none("incomplete", metered) or 0,
            # A charge of 0 for calls that may have been billed means that no price is known.
            most_tokens=self.whole_or_none("charged_tokens", metered) or None,
            most_usd=self.amount("charged_usd", metered) or None,
        )

    def accounts(self, metered: Mapping[str, object], reported: Mapping[str, object]) -> Accounts:
        difference = self.part("difference")
        whole = not self.whole_or_none("incomplete", metered)
        return Accounts(
            metered_calls=bool(metered),
            metered_tokens=self.usage("metered.usage", metered)[0] if whole else None,
            reported_tokens=self.usage("reported.usage", reported)[0],
            metered_usd=self.amount("cost_usd", metered) if whole else None,
            reported_usd=self.amount("cost_usd", reported),
            causes=read_causes(difference),
            explained=difference.get("explained") is True,
            imputed=metered.get("imputed") is True,
        )

    def _error(self, key: str, value: object, rule: str) -> DataError:
        words = number_words(value) if isinstance(value, int | float) else str(value)[:80]
        return DataError(f"{self._name}: {key} is {words!r}, it must be {rule}.")
