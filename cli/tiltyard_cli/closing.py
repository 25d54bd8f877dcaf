"""The last lines of a run: what there is now, whether to believe it, and what to do next."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tiltyard_cli.counts import plural
from tiltyard_cli.invocation import again, suggest

if TYPE_CHECKING:
    from tiltyard_cluster import TrialResult


def closing(result: "TrialResult", spec: Path, folder: str) -> Iterator[str]:
    """The lines, for standard output.

    Args:
        result: What the trial came to.
        spec: The spec's file, as the user named it.
        folder: Where the results lie, as the user knows it.
    """
    yield _counts(result, folder)
    for reason in result.unhealthy_because:
        yield f"UNHEALTHY: {reason}"
    for alarm in result.alarms:
        yield f"WARNING: {alarm}"
    if result.over_budget:
        yield f"{result.stopped}. To go on: raise `budget` in {spec}, then {again()}"
    elif result.stopped:
        yield f"{result.stopped}. To go on: {again()}"
    yield f"Report: {suggest('report', folder)}"


def _counts(result: "TrialResult", folder: str) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(result.outcomes.items()))
    spent = f"; {result.spent.words(scripted=result.scripted)}" if result.spent.tokens else ""
    recorded = f"{len(result.records)} of {plural(len(result.plan.runs), 'run')} recorded in {folder}"
    return f"{recorded}: {outcomes or 'none'}{spent}"
