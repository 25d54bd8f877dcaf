"""Alerts before the numbers, and notes and methods after them."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tiltyard_report import _audit, _health, _registered, _trend, _uneven
from tiltyard_report import _format as fmt
from tiltyard_report._drift import drift
from tiltyard_report._receipt import ALLOW, Facts
from tiltyard_report._sample import Sample
from tiltyard_report._selection import Selection
from tiltyard_report.audit_model import AuditRow
from tiltyard_report.group_model import DriftRow, Losses, QuestionLoss
from tiltyard_report.model import AgentReport, ArmRow
from tiltyard_report.quality_model import PassRate
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats import few_trials

_USUAL = (1, 3)
"""Attempts of which a report tells unasked."""


def alerts(
    chosen: Selection, audit: Sequence[AuditRow], lost: Losses | None, drifts: Sequence[DriftRow]
) -> tuple[str, ...]:
    """What must be read before any number."""
    lines = []
    if chosen.partial:
        lines.append(_partial(chosen))
    lines += _health.alerts(chosen.runs, chosen.audits)
    lines += _uneven.alert(lost)
    lines += _trend.alerts(drifts, len(chosen.arms))
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


def notes(
    chosen: Selection,
    agents: Sequence[AgentReport],
    lost: tuple[Losses | None, QuestionLoss | None],
    drifts: Sequence[DriftRow],
) -> tuple[str, ...]:
    """What a careful reader needs to know about the data."""
    runs, facts = chosen.runs, chosen.facts
    lines = [*_registered.note(facts), *_network(facts), *drift(runs), *_sources(runs), *_left_out(agents)]
    lines += [*_uneven.note(lost[0]), *_uneven.question_note(lost[1])]
    lines += _trend.notes(drifts, len(chosen.arms))
    lines += [*_few_trials(chosen, agents), *_few_attempts(chosen, agents)]
    lines += _shocks(agents)
    lines += _factors(agents)
    unmetered = int(runs.having("outcome", lambda outcome: outcome is Outcome.UNMETERED).sum())
    if unmetered:
        made = fmt.plural(unmetered, "run")
        lines.append(f"{made} made no metered call though the agent must be metered; excluded.")
    lines += [f"{text} ({fmt.plural(count, 'run')})." for text, count in _warnings(runs)]
    return tuple(lines)


def _few_attempts(chosen: Selection, agents: Sequence[AgentReport]) -> Iterable[str]:
    """What was asked for and cannot be had; of what is given without being asked for, nothing is said."""
    given = {item.k for agent in agents for row in agent.arms if row.quality for item in row.quality.repeats}
    for k in chosen.options.pass_k:
        if k not in given and k not in _USUAL:
            yield f"pass@{k} and pass^{k} are not known: no arm has {k} runs of each of its questions."


def _few_trials(chosen: Selection, agents: Sequence[AgentReport]) -> Iterable[str]:
    minimum = chosen.options.minimum_trials
    for agent in agents:
        theirs = next((_complete(row) for row in agent.arms if row.baseline), None)
        for row in agent.arms:
            ours = _complete(row) if row.delta else None
            if ours is not None and theirs is not None and few_trials(ours, theirs, minimum=minimum):
                yield (
                    f"{agent.agent}, {row.arm}: {ours} against {theirs} complete repetitions, "
                    f"fewer than the {minimum} that a comparison should have."
                )


def _complete(row: ArmRow) -> int | None:
    rate = row.quality.rate if row.quality else None
    return rate.complete_runs if rate else None


def _shocks(agents: Sequence[AgentReport]) -> Iterable[str]:
    for agent in agents:
        for row in agent.arms:
            rate = row.quality.rate if row.quality else None
            if rate and rate.rule in _SHOCKED:
                yield (
                    f"{agent.agent}, {row.arm}: whole repetitions differ {fmt.tenths(rate.shock_ratio)}x "
                    f"as much as single questions explain ({fmt.pvalue(rate.shock_pvalue)})."
                    f"{_over_runs(rate)}"
                )


def _over_runs(rate: PassRate) -> str:
    over = rate.over_runs
    if over is None or not over.known:
        return ""
    return f" Over repetitions the pass rate is {100 * over.low:.1f} to {100 * over.high:.1f}%."


_SHOCKED = frozenset({"over-runs", "rerun"})


def _factors(agents: Sequence[AgentReport]) -> Iterable[str]:
    """Said once for each arm: the factors do not depend on the agent."""
    said: set[str] = set()
    for row in (row for agent in agents for row in agent.arms if row.delta and row.arm not in said):
        said.add(row.arm)
        if row.delta and "several-factors" in row.delta.factor_warnings:
            names = fmt.listed([change.name for change in row.delta.factors])
            yield f"{row.arm}: {names} changed together, so no single one can be named as the cause."


def _network(facts: Facts) -> Iterable[str]:
    if facts.network == "open":
        yield "The network was open: the agent could reach anything, also models beside the meter."
    elif facts.network and facts.network.startswith(ALLOW):
        yield f"Besides the meter the agent could reach these hosts: {facts.network.removeprefix(ALLOW)}."


def _sources(runs: Sample) -> Iterable[str]:
    valid = runs.counted
    known = ~np.isnan(valid.column("tokens"))
    unknown = len(valid) - int(known.sum())
    if unknown:
        which = f"{unknown} of {fmt.plural(len(valid), 'counted run')}"
        yield (
            f"Tokens are not fully known for {which}; they are not taken as 0, "
            "and a comparison with them gets no ratio and no verdict."
        )
    reported = int((known & ~valid.column("metered")).sum())
    if reported:
        which = fmt.plural(reported, "run")
        yield f"Tokens and cost of {which} are as the agent reported them, not metered."
    imputed = int(runs.column("imputed").sum())
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
            if comparison and comparison.ratio and comparison.free:
                names = ", ".join(comparison.free)
                yield f"{agent.agent}, {row.arm}: the baseline used 0 tokens in {names}: not in the ratio."
            if comparison and comparison.ratio and "pooled-variance" in comparison.ratio.warnings:
                yield f"{agent.agent}, {row.arm}: a question with one run borrows the others' spread."


def _warnings(runs: Sample) -> list[tuple[str, int]]:
    found: Counter[str] = Counter()
    for (texts,), count in runs.counts("warnings"):
        for text in texts:
            found[text.rstrip(".")] += count
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:5]
