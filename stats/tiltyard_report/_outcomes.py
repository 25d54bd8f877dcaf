"""How runs ended: counts, reasons and what the excluded ones cost."""

from collections import Counter
from collections.abc import Sequence

from tiltyard_report._measures import spend
from tiltyard_report._run import Run
from tiltyard_report.model import OutcomeCount, OutcomeRow, Reason
from tiltyard_specs.outcomes import Outcome

_REASONS = 3


def outcome_row(arm: str, runs: Sequence[Run]) -> OutcomeRow:
    """The ends of one arm's runs."""
    counts = Counter(run.outcome for run in runs)
    return OutcomeRow(
        arm=arm,
        counts=tuple(OutcomeCount(outcome, counts[outcome]) for outcome in Outcome if counts[outcome]),
        reasons=_reasons(runs),
        excluded=spend([run for run in runs if not run.counted]),
    )


def _reasons(runs: Sequence[Run]) -> tuple[Reason, ...]:
    """The most frequent reasons of ends other than a pass."""
    given = Counter((run.outcome, run.reason) for run in runs if run.reason and not run.passed)
    ranked = sorted(given.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or ""))
    return tuple(Reason(outcome, reason or "", count) for (outcome, reason), count in ranked[:_REASONS])
