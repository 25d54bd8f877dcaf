"""Whether lost runs (infra, unmetered) have to do with the arm: then what is left of it is no fair sample."""

from collections.abc import Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._run import Run
from tiltyard_report.group_model import Losses, LossRow, QuestionLoss
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import fisher_drop

_LOST = frozenset({Outcome.INFRA, Outcome.UNMETERED})
_LEVEL = 0.05


def losses(runs: Sequence[Run]) -> Losses | None:
    """The losses by arm; None where all arms lost the same share, or there is one arm alone."""
    arms = sorted({run.arm for run in runs})
    mine: dict[str, list[bool]] = {arm: [] for arm in arms}
    for run in runs:
        mine[run.arm].append(run.outcome in _LOST)
    shares = {arm: sum(ends) / len(ends) for arm, ends in mine.items()}
    if len(set(shares.values())) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    worst = max(arms, key=lambda arm: shares[arm])
    rest = [end for arm, ends in mine.items() if arm != worst for end in ends]
    # The worst arm was picked among all of them, so the test is corrected for as many.
    pvalue = min(1.0, _two_sided(mine[worst], rest) * len(arms) / 2)
    rows = tuple(LossRow(arm, sum(ends), len(ends)) for arm, ends in mine.items())
    return Losses(rows, worst, pvalue, uneven=pvalue <= _LEVEL)


def question_loss(runs: Sequence[Run]) -> QuestionLoss | None:
    """Whether lost runs have to do with the question; None where all lost the same share, or there is one."""
    counts: dict[str, list[int]] = {}
    for run in runs:
        cell = counts.setdefault(run.question, [0, 0])
        cell[0] += run.outcome in _LOST
        cell[1] += 1
    if len({lost / total for lost, total in counts.values()}) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    worst = max(sorted(counts), key=lambda name: counts[name][0] / counts[name][1])
    lost, total = counts[worst]
    rest_lost = sum(cell[0] for cell in counts.values()) - lost
    rest = sum(cell[1] for cell in counts.values()) - total
    kept = rest - rest_lost, rest, total - lost, total
    pvalue = min(1.0, fisher_drop(*kept).pvalue * len(counts))
    return QuestionLoss(worst, lost, total, rest_lost, rest, pvalue, uneven=pvalue <= _LEVEL)


def question_note(found: QuestionLoss | None) -> list[str]:
    """Said only where chance does not explain it: the questions that are left weigh more then."""
    if found is None or not found.uneven:
        return []
    counts = (
        f"{found.question} {found.lost} of {found.runs}, all others {found.rest_lost} of {found.rest_runs}"
    )
    text = (
        f"Lost runs (infra, unmetered) by question: {counts} (Fisher's exact test, "
        f"{fmt.pvalue(found.pvalue)}): "
        "losses have to do with the question, so what is left may be the easier part."
    )
    return [text]


def words(found: Losses) -> str:
    """The counts and the test."""
    counts = ", ".join(f"{row.arm} {row.lost} of {row.runs}" for row in found.arms)
    return f"lost runs (infra, unmetered) by arm: {counts} (Fisher's exact test, {fmt.pvalue(found.pvalue)})"


def alert(found: Losses | None) -> list[str]:
    """What must be read before any number."""
    if found is None or not found.uneven:
        return []
    why = "lost more than chance explains, so the runs that are left may not be a fair sample of it"
    return [f"WARNING: {words(found)}: {found.worst} {why}."]


def note(found: Losses | None) -> list[str]:
    """What a careful reader wants to know all the same."""
    if found is None or found.uneven:
        return []
    text = words(found)
    return [f"{text[0].upper()}{text[1:]}: no sign that the arm has to do with it."]


def _two_sided(worst: Sequence[bool], rest: Sequence[bool]) -> float:
    kept = len(rest) - sum(rest), len(rest), len(worst) - sum(worst), len(worst)
    return min(1.0, 2 * fisher_drop(*kept).pvalue)
