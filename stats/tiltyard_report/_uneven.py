"""Whether lost runs (infra, unmetered) have to do with the arm: then what is left of it is no fair sample."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard_report import _format as fmt
from tiltyard_report._records import Run
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import fisher_drop

_LOST = frozenset({Outcome.INFRA, Outcome.UNMETERED})
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Losses:
    """Lost runs of each arm, and how likely so uneven a loss is when the arm does not matter."""

    by_arm: tuple[tuple[str, int, int], ...]
    """Arm, lost runs, all runs."""
    worst: str
    pvalue: float
    """Of the arm that lost the largest share, against the rest: Fisher's exact test, two-sided."""

    @property
    def uneven(self) -> bool:
        """Whether chance hardly explains it."""
        return self.pvalue <= _LEVEL

    def words(self) -> str:
        """The counts and the test."""
        counts = ", ".join(f"{arm} {lost} of {total}" for arm, lost, total in self.by_arm)
        return (
            f"lost runs (infra, unmetered) by arm: {counts} (Fisher's exact test, {fmt.pvalue(self.pvalue)})"
        )


def losses(runs: Sequence[Run]) -> Losses | None:
    """The losses by arm; None where all arms lost the same share, or there is one arm alone."""
    arms = sorted({run.arm for run in runs})
    mine = {arm: [run.outcome in _LOST for run in runs if run.arm == arm] for arm in arms}
    shares = {arm: sum(ends) / len(ends) for arm, ends in mine.items()}
    if len(set(shares.values())) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    worst = max(arms, key=lambda arm: shares[arm])
    rest = [end for arm, ends in mine.items() if arm != worst for end in ends]
    return Losses(
        tuple((arm, sum(ends), len(ends)) for arm, ends in mine.items()),
        worst,
        min(1.0, _two_sided(mine[worst], rest) * len(arms) / 2),
    )


def alert(found: Losses | None) -> list[str]:
    """What must be read before any number."""
    if found is None or not found.uneven:
        return []
    why = "lost more than chance explains, so the runs that are left may not be a fair sample of it"
    return [f"WARNING: {found.words()}: {found.worst} {why}."]


def note(found: Losses | None) -> list[str]:
    """What a careful reader wants to know all the same."""
    if found is None or found.uneven:
        return []
    text = found.words()
    return [f"{text[0].upper()}{text[1:]}: no sign that the arm has to do with it."]


def _two_sided(worst: Sequence[bool], rest: Sequence[bool]) -> float:
    kept = len(rest) - sum(rest), len(rest), len(worst) - sum(worst), len(worst)
    return min(1.0, 2 * fisher_drop(*kept).pvalue)
