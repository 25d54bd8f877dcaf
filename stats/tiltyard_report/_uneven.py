"""Whether lost runs (infra, unmetered) have to do with the arm: then what is left of it is no fair sample."""

from tiltyard_report import _format as fmt
from tiltyard_report._sample import Sample
from tiltyard_report.group_model import Losses, LossRow, QuestionLoss
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import fisher_drop

_LOST = frozenset({Outcome.INFRA, Outcome.UNMETERED})
_LEVEL = 0.05


def losses(runs: Sample) -> Losses | None:
    """The losses by arm; None where all arms lost the same share, or there is one arm alone."""
    lost, every = _counts(runs, "arm")
    arms = sorted(every)
    shares = {arm: lost[arm] / every[arm] for arm in arms}
    if len(set(shares.values())) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    worst = max(arms, key=lambda arm: shares[arm])
    rest = sum(lost.values()) - lost[worst], len(runs) - every[worst]
    # The worst arm was picked among all of them, so the test is corrected for as many.
    pvalue = min(1.0, _two_sided((lost[worst], every[worst]), rest) * len(arms) / 2)
    rows = tuple(LossRow(arm, lost[arm], every[arm]) for arm in arms)
    return Losses(rows, worst, pvalue, uneven=pvalue <= _LEVEL)


def question_loss(runs: Sample) -> QuestionLoss | None:
    """Whether lost runs have to do with the question; None where all lost the same share, or there is one."""
    lost, every = _counts(runs, "question")
    shares = {name: lost[name] / count for name, count in every.items()}
    if len(set(shares.values())) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    worst = max(sorted(shares), key=shares.__getitem__)
    own, total = lost[worst], every[worst]
    rest_lost, rest = sum(lost.values()) - own, len(runs) - total
    kept = rest - rest_lost, rest, total - own, total
    pvalue = min(1.0, fisher_drop(*kept).pvalue * len(every))
    return QuestionLoss(worst, own, total, rest_lost, rest, pvalue, uneven=pvalue <= _LEVEL)


def _counts(runs: Sample, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """Of each label the lost runs, and all of them."""
    every = {label: count for (label,), count in runs.counts(name)}
    mine = runs.where(runs.having("outcome", _LOST.__contains__))
    return dict.fromkeys(every, 0) | {label: count for (label,), count in mine.counts(name)}, every


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


def _two_sided(worst: tuple[int, int], rest: tuple[int, int]) -> float:
    kept = rest[1] - rest[0], rest[1], worst[1] - worst[0], worst[1]
    return min(1.0, 2 * fisher_drop(*kept).pvalue)
