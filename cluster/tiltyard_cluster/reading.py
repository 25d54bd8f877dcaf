"""Reads a result back: its receipt and its records, and what of it cannot be read."""

from dataclasses import dataclass

from tiltyard_cluster.layout import RUNS, TRIAL, record_keys
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError
from tiltyard_specs.receipt import TrialReceipt, parse_receipt
from tiltyard_specs.record import RunRecord, parse_record


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a store holds of a trial."""

    receipt: TrialReceipt | None
    records: tuple[RunRecord, ...]
    problems: tuple[str, ...] = ()
    """One sentence for each record that could not be read."""


def read_result(store: Store, name: str) -> ReadResult:
    """Read a result in any state.

    Args:
        store: Where it lies.
        name: What to call it in messages.

    Raises:
        DataError: There is no trial in it.
    """
    text = store.get(TRIAL)
    keys = record_keys(store.list(RUNS))
    if text is None and not keys:
        raise DataError(f"{name} holds no trial: there is neither {TRIAL} nor a record under {RUNS}")
    records: list[RunRecord] = []
    problems: list[str] = []
    for key in keys:
        try:
            records.append(parse_record(store.get(key) or b"", key))
        except DataError as error:
            problems.append(str(error))
    return ReadResult(parse_receipt(text, TRIAL) if text else None, tuple(records), tuple(problems))
