"""How far a result is: what it should hold, what it does, what was spent, and who works on it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard_cluster.addresses import Address, open_result, parse_address
from tiltyard_cluster.budget import Spent
from tiltyard_cluster.folder import in_use
from tiltyard_cluster.reading import ReadResult, read_result
from tiltyard_cluster.store import Store
from tiltyard_specs.record import RunRecord
from tiltyard_specs.visible import visible

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """The runs of one arm."""

    arm: str
    expected: int | None
    """None where the receipt does not say."""
    present: int
    outcomes: Mapping[str, int]

    @property
    def missing(self) -> int | None:
        """How many are still to be done."""
        return None if self.expected is None else max(0, self.expected - self.present)


@dataclass(frozen=True, slots=True)
class Status:
    """A result, at a look."""

    name: str
    trial: str | None
    plan_id: str | None
    shard: str | None
    """Which part of a plan it is: 2/5; None for all of it."""
    expected: int | None
    present: int
    arms: tuple[ArmStatus, ...]
    attempts: int
    """Earlier attempts, whose spend counts."""
    spent: Spent
    scripted: bool
    under_way: str | None
    """Who works on it, in words."""
    merged: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What is not counted here."""

    @property
    def missing(self) -> int | None:
        """How many runs are still to be done."""
        return None if self.expected is None else max(0, self.expected - self.present)

    @property
    def partial(self) -> bool:
        """Whether no verdict can rest on it: runs are missing, or it is one part of a plan."""
        return self.shard is not None or not self.complete

    @property
    def complete(self) -> bool:
        """Whether every run is there that it is to hold; of a shard no verdict rests on that alone."""
        return self.missing == 0


def read_status(
    address: Address | str, endpoint: str | None = None, tell: Callable[[str], None] | None = None
) -> Status:
    """Look at a result.

    Args:
        address: A folder or `s3://bucket/prefix`.
        endpoint: Address of the S3 service.
        tell: Told of its outages.

    Raises:
        DataError: There is no trial in it.
    """
    where = parse_address(address)
    store = open_result(where, endpoint, tell)
    name = visible(str(where))
    return _status(name, read_result(store, name), who_works_on(where, store))


def who_works_on(where: Address, store: Store) -> str | None:
    """Who works on a result, in words; None where nobody does.

    Args:
        where: Its address.
        store: The store at it.
    """
    if isinstance(where, Path):
        return "a process on this machine" if in_use(where) else None
    from tiltyard_cluster.s3_store import S3Store  # noqa: PLC0415  # only a result in S3 needs boto3
    from tiltyard_cluster.store_lock import holder  # noqa: PLC0415

    return holder(store) if isinstance(store, S3Store) else None


def _status(name: str, result: ReadResult, under_way: str | None) -> Status:
    receipt = result.receipt
    spent = Spent()
    for record in (*result.records, *result.attempts):
        spent = spent.plus(record)
    return Status(
        name=name,
        trial=receipt.trial if receipt else None,
        plan_id=receipt.plan_id if receipt else None,
        shard=str(receipt.shard) if receipt and receipt.shard else None,
        expected=receipt.runs_expected if receipt else None,
        present=len(result.records),
        arms=tuple(_arms(result.records, receipt.runs_by_arm if receipt else {})),
        attempts=len(result.attempts),
        spent=spent,
        scripted=receipt is not None and receipt.policy.get("models") == "scripted",
        under_way=under_way,
        merged=result.merged,
        problems=result.problems,
        notes=result.notes,
    )


def _arms(records: Iterable[RunRecord], expected: Mapping[str, int]) -> Iterable[ArmStatus]:
    found: dict[str, Counter[str]] = {arm: Counter() for arm in expected}
    for record in records:
        found.setdefault(record.arm, Counter())[record.outcome.value] += 1
    for arm, outcomes in sorted(found.items()):
        yield ArmStatus(arm, expected.get(arm), outcomes.total(), dict(sorted(outcomes.items())))
