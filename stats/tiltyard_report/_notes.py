"""Alerts before the numbers, and notes and methods after them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tiltyard_report import _audit, _health, _registered, _uneven
from tiltyard_report import _format as fmt
from tiltyard_report._drift import drift
from tiltyard_report._measures import counted
from tiltyard_report._receipt import ALLOW, Facts
from tiltyard_report._records import Run
from tiltyard_report._selection import Selection
from tiltyard_report.model import AgentReport, AuditRow
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats.decide import MINIMUM_RUNS, SETTLED_RUNS


def alerts(chosen: Selection, audit: Sequence[AuditRow]) -> tuple[str, ...]:
    """What must be read before any number."""
    lines = []
    if chosen.partial:
        lines.append(_partial(chosen))
    lines += _health.alerts(chosen.runs, chosen.audits)
    lines += _uneven.alert(_uneven.losses(chosen.runs))
    lines += _audit.alert(audit)
    lines += _registered.alert(chosen.facts)
    if chosen.facts.scripted:
        lines.append("SCRIPTED: the replies came from a script, so these numbers say nothing about a model.")
    return tuple(lines)


def _partial(chosen: Selection) -> str:
    done, planned = fmt.plural(chosen.recorded, "run"), chosen.facts.expected_runs or 0
    if chosen.facts.shard is None:
        return f"PARTIAL: {done} of {planned:,} planned are recorded: no verdicts yet."
    part = f"this is shard {chosen.facts.shard}, with {done} of its {planned:,} recorded"
    return f"PARTIAL: {part}: no verdicts before all shards are merged."


def notes(runs: Sequence[Run], agents: Sequence[AgentReport], facts: Facts) -> tuple[str, ...]:
    """What a careful reader needs to know about the data."""
    lines = [*_registered.note(facts), *_network(facts), *drift(runs), *_sources(runs), *_left_out(agents)]
    lines += _uneven.note(_uneven.losses(runs))
    unmetered = sum(run.outcome is Outcome.UNMETERED for run in runs)
    if unmetered:
        made = fmt.plural(unmetered, "run")
        lines.append(f"{made} made no metered call though the agent must be metered; excluded.")
    lines += [f"{text} ({fmt.plural(count, 'run')})." for text, count in _warnings(runs)]
    return tuple(lines)


def methods(confidence: float, comparisons: int) -> tuple[str, ...]:
    """How the numbers were computed."""
    level = fmt.level(confidence)
    lines = [
        f"Intervals are {level}% intervals and speak about these questions.",
        "Correct: Wilson's interval on the runs.",
        "Timeout, limit, no_answer and tampered count as failures; infra and its like are excluded.",
        "Tokens, turns and seconds: mean of the question means; Student's t, spread within questions.",
        "Relative cost: ratio of arithmetic means by question, their geometric mean, and a log-t interval.",
        f"Verdicts need {MINIMUM_RUNS} runs a side and are provisional under {SETTLED_RUNS}.",
    ]
    if comparisons > 1:
        lines.append(f"Verdicts are corrected for {comparisons} comparisons (Holm); the intervals are not.")
    return tuple(lines)


def _network(facts: Facts) -> Iterable[str]:
    if facts.network == "open":
        yield "The network was open: the agent could reach anything, also models beside the meter."
    elif facts.network and facts.network.startswith(ALLOW):
        yield f"Besides the meter the agent could reach these hosts: {facts.network.removeprefix(ALLOW)}."


def _sources(runs: Sequence[Run]) -> Iterable[str]:
    valid = counted(runs)
    unknown = sum(run.tokens is None for run in valid)
    if unknown:
        which = f"{unknown} of {fmt.plural(len(valid), 'counted run')}"
        yield (
            f"Tokens are not fully known for {which}; they are not taken as 0, "
            "and a comparison with them gets no ratio and no verdict."
        )
    reported = sum(run.tokens is not None and not run.metered for run in valid)
    if reported:
        which = fmt.plural(reported, "run")
        yield f"Tokens and cost of {which} are as the agent reported them, not metered."
    imputed = sum(run.accounts.imputed for run in runs)
    if imputed:
        which = fmt.plural(imputed, "run")
        yield f"USD of {which} are imputed at list price: the agent's own login paid. Tokens are the truth."


def _left_out(agents: Sequence[AgentReport]) -> Iterable[str]:
    for agent in agents:
        for row in agent.arms:
            comparison = row.relative_tokens
            if comparison and comparison.ratio and comparison.left_out:
                names = ", ".join(comparison.left_out)
                yield f"{agent.agent}, {row.arm}: {names} on one side only: in the means, not in the ratio."
            if comparison and comparison.ratio and "pooled-variance" in comparison.ratio.warnings:
                yield f"{agent.agent}, {row.arm}: a question with one run borrows the others' spread."


def _warnings(runs: Sequence[Run]) -> list[tuple[str, int]]:
    found = Counter(text.rstrip(".") for run in runs for text in run.warnings)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:5]
