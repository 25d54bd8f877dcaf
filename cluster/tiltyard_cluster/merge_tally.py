"""What a merge finds: what its parts hold of the plan, and why they may not make a whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiltyard_cluster.merge_sources import Source
from tiltyard_specs.errors import DataError
from tiltyard_specs.plan_file import PlanFile

_NAMED = 5
"""How many runs a message names."""


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
    tally = Tally(expected=len(expected))
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
        raise differ(first, source, run, tally)
    return tally


def require_whole(tally: Tally, *, allow_partial: bool) -> None:
    """See that every run of the plan is there, and no other.

    Raises:
        MergeError: One is foreign, or is missing and may not be.
    """
    if tally.foreign:
        raise MergeError(f"the parts hold runs that are not in the plan: {_some(tally.foreign)}", tally)
    if tally.missing and not allow_partial:
        raise MergeError(
            f"runs are missing: {_some(tally.missing)}; run what is left, "
            "or merge what there is with --allow-partial",
            tally,
        )


def differ(first: Source, second: Source, run: str, tally: Tally) -> MergeError:
    """What to raise where two parts do not say the same of a run."""
    return MergeError(
        f"{first.name} and {second.name} differ on run {run}: leave the one out that you do not trust", tally
    )


def _some(runs: Sequence[str]) -> str:
    more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return ", ".join(runs[:_NAMED]) + more
