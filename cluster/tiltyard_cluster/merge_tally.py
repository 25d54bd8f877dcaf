"""What a merge finds: what its parts hold of the plan, and why they may not make a whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tiltyard_cluster.merge_sources import Source
from tiltyard_cluster.run_names import label_in, missing_words, some
from tiltyard_specs.errors import DataError
from tiltyard_specs.plan_file import PlanFile


@dataclass(slots=True)
class Tally:
    """What a merge has found; printed always."""

    expected: int = 0
    """Runs of the plan."""
    present: int = 0
    """Of them with a record."""
    missing: list[str] = field(default_factory=list)
    """Of them without one."""
    duplicate: int = 0
    """Identical copies that were dropped."""
    foreign: list[str] = field(default_factory=list)
    """Runs that the plan does not hold."""
    attempts: int = 0
    """Earlier attempts, whose spend counts."""
    label: Callable[[str], str] = field(default=str, repr=False, compare=False)
    """What to call a run, by its id."""

    def words(self) -> str:
        """One line for people."""
        return (
            f"{self.expected} expected, {self.present} present, {len(self.missing)} missing, "
            f"{self.duplicate} duplicate, {len(self.foreign)} foreign"
        )


class MergeError(DataError):
    """The parts do not make a whole; the tally says why."""

    def __init__(self, message: str, tally: Tally) -> None:
        super().__init__(f"{message} ({tally.words()})")
        self.tally = tally


def tally_of(plan: PlanFile, sources: Sequence[Source]) -> Tally:
    """What the manifests say that there is.

    Raises:
        MergeError: Two differ on a run.
    """
    found: dict[str, str] = {}
    expected = frozenset(plan.runs.run_id)
    tally = Tally(expected=len(expected), label=lambda run: label_in(plan, run))
    conflicts: list[tuple[str, Source]] = []
    for source in sources:
        again = found.keys() & source.present.keys()
        kept = {run: found[run] for run in again if found[run] != source.present[run]}
        tally.duplicate += len(again) - len(kept)
        conflicts += ((run, source) for run in sorted(kept))
        found |= source.present
        found |= kept
    tally.missing = sorted(expected - found.keys())
    tally.present = tally.expected - len(tally.missing)
    tally.foreign = sorted(found.keys() - expected)
    if conflicts:
        run, source = conflicts[0]
        first = next(each for each in sources if run in each.present)
        raise differ(first, source, [run for run, each in conflicts if each is source], tally)
    return tally


def require_whole(plan: PlanFile, sources: Sequence[Source], tally: Tally, *, allow_partial: bool) -> None:
    """See that every run of the plan is there, and no other.

    Raises:
        MergeError: One is foreign, or is missing and may not be.
    """
    if tally.foreign:
        raise MergeError(f"the parts hold runs that are not in the plan: {some(tally.foreign)}", tally)
    if tally.missing and not allow_partial:
        raise MergeError(
            f"{missing_words(plan, tally.missing, _shards(plan, sources))}; run what is left, "
            "or merge what there is with --allow-partial",
            tally,
        )


def differ(first: Source, second: Source, runs: Sequence[str], tally: Tally) -> MergeError:
    """What to raise where two parts do not say the same of a run."""
    return MergeError(
        f"{first.name} and {second.name} differ on run {some([tally.label(run) for run in runs])}: "
        "leave the one out that you do not trust",
        tally,
    )


def _shards(plan: PlanFile, sources: Sequence[Source]) -> int:
    """Into how many parts the plan was cut: as its parts say, where the plan leaves that to them."""
    said = {source.receipt.shard.of for source in sources if source.receipt.shard}
    return said.pop() if plan.shards == 1 and len(said) == 1 else plan.shards
