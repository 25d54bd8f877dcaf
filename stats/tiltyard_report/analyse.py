"""Records in, report out: one pure step that computes every number and sentence."""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from tiltyard_report import _audit, _claims, _health, _notes, _sentences, _trace, _trend, _uneven
from tiltyard_report._arms import agent_reports
from tiltyard_report._cells import question_rows
from tiltyard_report._changes import changes
from tiltyard_report._columns import read_batches, read_table
from tiltyard_report._compare import compare_tokens
from tiltyard_report._delta import deltas
from tiltyard_report._factors import factor_rows
from tiltyard_report._gather import Gatherer
from tiltyard_report._groups import groups
from tiltyard_report._headline import headline
from tiltyard_report._measures import spend
from tiltyard_report._methods import methods
from tiltyard_report._options import DEFAULT, options
from tiltyard_report._outcomes import outcome_row
from tiltyard_report._receipt import combine, read_receipt
from tiltyard_report._records import read_records, refuse_doubles
from tiltyard_report._reported import reported_row
from tiltyard_report._run import Cell
from tiltyard_report._sample import Sample, everything
from tiltyard_report._selection import Selection, choose_baseline, select, selection
from tiltyard_report._spread import spread_row
from tiltyard_report._topic import Topic
from tiltyard_report.model import SCHEMA_VERSION, Comparison, Report

if TYPE_CHECKING:
    import pyarrow as pa

    Records = Sequence[Mapping[str, object]] | pa.Table | Iterable[pa.RecordBatch]


def analyse(  # noqa: PLR0913 - the choices of the command
    records: "Records",
    *more: "Records",
    receipt: Mapping[str, object] | None = None,
    baseline: str | None = None,
    questions: Sequence[str] = (),
    agents: Sequence[str] = (),
    confidence: float = 0.95,
    attempts: Sequence[Mapping[str, object]] = (),
    design: str = "curated",
    method: str = DEFAULT,
    pass_k: Sequence[int] = (1, 3),
    minimum_trials: int = 5,
    regression_threshold: float = 0.05,
) -> Report:
    """Compute the report of a trial.

    Args:
        records: The run.json objects, one per run, in any order; or a table of them, or its batches.
        more: Those of further results of the same trial. Each is a run of the whole: arms are compared on the
            questions that every one of them asked.
        receipt: The trial.json object, where there is one: name, order of arms, runs planned, network.
        baseline: The arm to compare with; default: the receipt's, else the first arm.
        questions: Report on these only; default: all.
        agents: Report on these only; `codex` also selects `codex@model@effort`. Default: all.
        confidence: Nominal coverage of every interval.
        attempts: Earlier attempts of retried runs, whose spend is disclosed.
        design: What the questions stand for: `curated` (themselves), `sampled` (questions like them) or
            `clustered` (groups like theirs: capability, else repo, else first tag).
        method: `default`, `source` for the formulas of the source systems, or the name of one formula.
        pass_k: For which k to give pass@k and pass^k.
        minimum_trials: Complete repetitions under which a comparison is warned of.
        regression_threshold: Change of a question's pass rate above which it is listed.

    Raises:
        DataError: A record or the receipt is not what it should be, or a selected name does not occur.
        UsageError: A choice is not one of those that there are.
    """
    choices = options(
        confidence=confidence,
        design=design,
        method=method,
        pass_k=pass_k,
        minimum_trials=minimum_trials,
        regression_threshold=regression_threshold,
    )
    with _no_collections():
        runs, earlier = _read((records, *more), attempts)
        refuse_doubles(runs)
        facts = combine(
            read_receipt(receipt),
            {network for network in runs.distinct("network") if network},
            {name for versions in runs.distinct("versions") for name in versions},
        )
        return _report(
            selection(
                facts,
                choices,
                choose_baseline(baseline, runs, facts),
                runs,
                select(runs, questions, agents, facts),
                select(earlier, questions, agents, facts, strict=False),
            )
        )


@contextmanager
def _no_collections() -> Iterator[None]:
    """So many objects that live on would be looked at again and again, for nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _read(results: Sequence["Records"], attempts: Sequence[Mapping[str, object]]) -> tuple[Sample, Sample]:
    """The runs of all results, and their earlier attempts."""
    gatherer = Gatherer()
    for source, records in enumerate(results):
        if isinstance(records, Sequence) and not (records and hasattr(records[0], "schema")):
            read_records(gatherer, records, source)
            continue
        # Nothing of Arrow is imported to ask what it is.
        table: Any = records
        read = read_table if hasattr(records, "to_batches") else read_batches
        read(gatherer, table, source)
    read_records(gatherer, attempts)
    both = everything(gatherer)
    settled = len(both) - len(attempts)
    return both[:settled], both[settled:]


def _report(chosen: Selection) -> Report:
    compared, choices = _compare(chosen), chosen.options
    lost = _uneven.losses(chosen.runs)
    changed = deltas(chosen, compared, uneven=lost is not None and lost.uneven)
    agents = agent_reports(chosen, compared, changed)
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
    rows = question_rows(chosen)
    drifts, question_lost = _trend.trends(chosen), _uneven.question_loss(chosen.runs)
    grouped, incomplete = groups(chosen, rows)
    by_arm = chosen.runs.split("arm")
    return Report(
        schema_version=SCHEMA_VERSION,
        name=chosen.facts.name,
        state=_state(chosen),
        healthy=topic.healthy,
        headline=headline(topic),
        alerts=_notes.alerts(chosen, audit, lost, drifts),
        scripted=chosen.facts.scripted,
        confidence=chosen.confidence,
        baseline=chosen.baseline,
        runs=len(chosen.runs),
        counted=len(chosen.runs.counted),
        expected_runs=chosen.facts.expected_runs,
        agents=agents,
        questions=rows,
        audit=audit,
        spread=tuple(spread_row(agent, chosen) for agent in chosen.agents),
        outcomes=tuple(outcome_row(arm, by_arm[arm]) for arm in chosen.arms),
        claims=_claims.claims(chosen.cells),
        reported=tuple(row for agent in chosen.agents if (row := reported_row(agent, _of(agent, chosen)))),
        spend=spend(chosen.runs),
        earlier_attempts=spend(chosen.earlier),
        do_not_claim=_sentences.do_not_claim(topic),
        methods=methods(chosen, judged),
        notes=_notes.notes(chosen, agents, (lost, question_lost), drifts),
        caution=_sentences.CAUTION,
        changes=changes(agents, rows, chosen.baseline),
        design=choices.design,
        method=choices.methods.name,
        pass_k=choices.pass_k,
        minimum_trials=choices.minimum_trials,
        regression_threshold=choices.threshold,
        sources=chosen.sources,
        groups=grouped,
        incomplete_groups=incomplete,
        factors=factor_rows(chosen.cells, chosen.facts),
        tools=_trace.tool_rows(chosen.cells),
        losses=lost,
        question_loss=question_lost,
        order=_trace.order_bins(chosen.cells),
        drift=drifts,
        settled=_trace.settled(chosen),
    )


def _of(agent: str, chosen: Selection) -> Sample:
    first, *others = [runs for (name, _), runs in chosen.cells.items() if name == agent]
    return first.followed_by(*others)


def _state(chosen: Selection) -> Literal["complete", "partial", "empty"]:
    if not (chosen.runs or chosen.audits):
        return "empty"
    return "partial" if chosen.partial else "complete"


def _compare(chosen: Selection) -> dict[Cell, Comparison]:
    if chosen.baseline is None or len(chosen.arms) < 2:  # noqa: PLR2004 - a comparison needs two
        return {}
    return compare_tokens(chosen.cells, chosen.baseline, options=chosen.options, partial=chosen.partial)
