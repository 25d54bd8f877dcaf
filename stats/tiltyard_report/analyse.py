"""Records in, report out: one pure step that computes every number and sentence."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Literal

from tiltyard_report import _audit, _claims, _health, _notes, _sentences
from tiltyard_report._compare import Cell, compare_tokens, compare_usd
from tiltyard_report._headline import headline
from tiltyard_report._measures import (
    by_question,
    correct,
    counted,
    measure,
    seconds,
    spend,
    tokens,
    turns,
    usd,
    used_tool,
)
from tiltyard_report._outcomes import outcome_row
from tiltyard_report._receipt import combine, read_receipt
from tiltyard_report._records import Run, read_run, read_runs
from tiltyard_report._reported import reported_row
from tiltyard_report._selection import Selection, choose_baseline, select
from tiltyard_report._topic import Topic
from tiltyard_report.model import (
    SCHEMA_VERSION,
    AgentReport,
    ArmRow,
    Comparison,
    QuestionCell,
    QuestionRow,
    Report,
    SpreadRow,
)
from tiltyard_report.reported_model import ReportedRow
from tiltyard_specs.errors import UsageError
from tiltyard_stats import cv, pilot_factor, runs_per_arm

_EFFECT = 0.2
_POWER = 0.8


def analyse(
    records: Sequence[Mapping[str, object]],
    *,
    receipt: Mapping[str, object] | None = None,
    baseline: str | None = None,
    questions: Sequence[str] = (),
    agents: Sequence[str] = (),
    confidence: float = 0.95,
    attempts: Sequence[Mapping[str, object]] = (),
) -> Report:
    """Compute the report of a trial.

    Args:
        records: The run.json objects, one per run, in any order.
        receipt: The trial.json object, where there is one: name, order of arms, runs planned, network.
        baseline: The arm to compare with; default: the receipt's, else the first arm.
        questions: Report on these only; default: all.
        agents: Report on these only; `codex` also selects `codex@model@effort`. Default: all.
        confidence: Nominal coverage of every interval.
        attempts: Earlier attempts of retried runs, whose spend is disclosed.

    Raises:
        DataError: A record or the receipt is not what it should be, or a selected name does not occur.
        UsageError: `confidence` is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}, it must be between 0 and 1, such as 0.95.")
    facts, every = read_receipt(receipt), read_runs(records)
    facts = combine(
        facts,
        {run.network for run in every if run.network},
        {name for run in every for name in run.versions},
    )
    selected = select(every, questions, agents, facts)
    chosen = Selection(
        facts=facts,
        baseline=choose_baseline(baseline, every, facts),
        confidence=confidence,
        partial=facts.shard is not None
        or (facts.expected_runs is not None and len(every) < facts.expected_runs),
        recorded=len(every),
        runs=tuple(run for run in selected if not _audit.audits(run)),
        audits=tuple(run for run in selected if _audit.audits(run)),
        earlier=select(
            [read_run(item, index) for index, item in enumerate(attempts)],
            questions,
            agents,
            facts,
            strict=False,
        ),
    )
    return _report(chosen)


def _report(chosen: Selection) -> Report:
    compared = _compare(chosen)
    agents = tuple(_agent(agent, chosen, compared) for agent in chosen.agents)
    judged = sum(not isnan(comparison.adjusted) for comparison in compared.values())
    audit = _audit.audit(chosen.audited, chosen.audits)
    topic = Topic(
        agents=agents,
        baseline=chosen.baseline,
        questions=chosen.questions,
        facts=chosen.facts,
        partial=chosen.partial,
        healthy=_health.healthy(chosen.runs, chosen.audits),
        runs=chosen.runs,
        audit=audit,
    )
    return Report(
        schema_version=SCHEMA_VERSION,
        name=chosen.facts.name,
        state=_state(chosen),
        healthy=topic.healthy,
        headline=headline(topic),
        alerts=_notes.alerts(chosen, audit),
        scripted=chosen.facts.scripted,
        confidence=chosen.confidence,
        baseline=chosen.baseline,
        runs=len(chosen.runs),
        counted=len(counted(chosen.runs)),
        expected_runs=chosen.facts.expected_runs,
        agents=agents,
        questions=tuple(_question(label, chosen) for label in chosen.questions),
        audit=audit,
        spread=tuple(_spread(agent, chosen) for agent in chosen.agents),
        outcomes=tuple(
            outcome_row(arm, [run for run in chosen.runs if run.arm == arm]) for arm in chosen.arms
        ),
        claims=_claims.claims(chosen.cells),
        reported=tuple(row for agent in chosen.agents if (row := _reported(agent, chosen)) is not None),
        spend=spend(chosen.runs),
        earlier_attempts=spend(chosen.earlier),
        do_not_claim=_sentences.do_not_claim(topic),
        methods=_notes.methods(chosen.confidence, judged),
        notes=_notes.notes(chosen.runs, agents, chosen.facts),
        caution=_sentences.CAUTION,
    )


def _reported(agent: str, chosen: Selection) -> ReportedRow | None:
    return reported_row(agent, [run for run in chosen.runs if run.agent == agent])


def _state(chosen: Selection) -> Literal["complete", "partial", "empty"]:
    if not (chosen.runs or chosen.audits):
        return "empty"
    return "partial" if chosen.partial else "complete"


def _compare(chosen: Selection) -> dict[Cell, Comparison]:
    if chosen.baseline is None or len(chosen.arms) < 2:  # noqa: PLR2004 - a comparison needs two
        return {}
    return compare_tokens(chosen.cells, chosen.baseline, confidence=chosen.confidence, partial=chosen.partial)


def _agent(agent: str, chosen: Selection, compared: Mapping[Cell, Comparison]) -> AgentReport:
    cells = {arm: runs for (name, arm), runs in chosen.cells.items() if name == agent}
    models = {run.model for runs in cells.values() for run in runs if run.model}
    base = cells.get(chosen.baseline or "", [])
    rows = tuple(
        _arm(arm, runs, base, compared.get((agent, arm)), chosen.confidence, baseline=arm == chosen.baseline)
        for arm, runs in cells.items()
    )
    return AgentReport(agent, tuple(sorted(models)), rows)


def _arm(
    arm: str,
    runs: Sequence[Run],
    base: Sequence[Run],
    relative: Comparison | None,
    confidence: float,
    *,
    baseline: bool,
) -> ArmRow:
    valid = counted(runs)
    return ArmRow(
        arm=arm,
        baseline=baseline,
        runs=len(valid),
        excluded=len(runs) - len(valid),
        correct=correct(runs, confidence),
        tokens=measure(runs, tokens, confidence),
        usd=measure(runs, usd, confidence),
        turns=measure(runs, turns, confidence),
        seconds=measure(runs, seconds, confidence),
        used_tool=used_tool(runs, confidence),
        relative_tokens=relative,
        relative_usd=compare_usd(runs, base, confidence) if relative else None,
    )


def _question(label: str, chosen: Selection) -> QuestionRow:
    cells = []
    for (agent, arm), runs in chosen.cells.items():
        here = [run for run in runs if run.question == label]
        cells.append(
            QuestionCell(
                agent, arm, measure(here, tokens, chosen.confidence), correct(here, chosen.confidence)
            )
        )
    return QuestionRow(label, tuple(cells))


def _spread(agent: str, chosen: Selection) -> SpreadRow:
    arms = [by_question(runs, tokens) for (name, _), runs in chosen.cells.items() if name == agent]
    values = [cell for arm in arms for cell in arm.values()]
    fewest = min(sum(map(len, arm.values())) for arm in arms)
    valid = counted(run for run in chosen.runs if run.agent == agent)
    unknown = len(valid) - sum(map(len, values))
    if not values:
        return SpreadRow(agent, fewest, unknown, None, None, None)
    spread = cv(values)
    if not spread.cv > 0:
        return SpreadRow(agent, fewest, unknown, spread, None, None)
    cautious = spread.cv * pilot_factor(spread.df)
    needed, careful = (runs_per_arm(value, _EFFECT, power=_POWER) for value in (spread.cv, cautious))
    return SpreadRow(agent, fewest, unknown, spread, needed, careful)
