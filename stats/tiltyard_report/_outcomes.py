"""How runs ended: counts, reasons and what the excluded ones cost."""

from tiltyard_report._measures import spend
from tiltyard_report._sample import Sample
from tiltyard_report.model import OutcomeCount, OutcomeRow, Reason
from tiltyard_specs.outcomes import Outcome

_REASONS = 3


def outcome_row(arm: str, runs: Sample) -> OutcomeRow:
    """The ends of one arm's runs."""
    counts = {labels[0]: count for labels, count in runs.counts("outcome")}
    return OutcomeRow(
        arm=arm,
        counts=tuple(OutcomeCount(outcome, counts[outcome]) for outcome in Outcome if outcome in counts),
        reasons=_reasons(runs),
        excluded=spend(runs.where(~runs.column("counted"))),
    )


def _reasons(runs: Sample) -> tuple[Reason, ...]:
    """The most frequent reasons of ends other than a pass."""
    given = [item for item in runs.counts("outcome", "reason") if item[0][1] and not item[0][0].passed]
    ranked = sorted(given, key=lambda item: (-item[1], *item[0]))
    return tuple(Reason(outcome, reason, count) for (outcome, reason), count in ranked[:_REASONS])
