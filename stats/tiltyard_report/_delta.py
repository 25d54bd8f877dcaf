"""Each arm against the baseline: passes, cost, time, what changed, what flips, what would settle it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np

from tiltyard_report import _format as fmt
from tiltyard_report._factors import factor_changes
from tiltyard_report._measures import (
    by_question,
    counted,
    score,
    seconds,
    tokens,
    tool_calls,
    turns,
    usd,
)
from tiltyard_report._options import Options
from tiltyard_report._passes import Judged, judge, pair
from tiltyard_report._rates import claim_sentence
from tiltyard_report._run import Cell, Run
from tiltyard_report._sample import Quantity, sample
from tiltyard_report._selection import Selection
from tiltyard_report._sensitivity import Sensitivity, sensitivity
from tiltyard_report._settle import settle_passes, settle_tokens
from tiltyard_report._verdicts import UNEVEN
from tiltyard_report.delta_model import Delta, PassDifference
from tiltyard_report.model import Comparison
from tiltyard_stats import (
    Interval,
    case_changes,
    cost_per_success_ratio,
    estimand,
    mde,
    paired_bootstrap_delta,
    stratified_mean_diff,
)
from tiltyard_stats._result import FloatArray

_MANY = 1_000_000
"""Degrees of freedom where the error is known as that of a normal interval."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What all comparisons of a report share."""

    chosen: Selection
    options: Options
    pairs: Mapping[Cell, tuple[Sequence[Run], Sequence[Run]]]
    tokens: Mapping[Cell, Comparison]
    judged: Mapping[Cell, Judged]
    uneven: bool


def deltas(
    chosen: Selection, compared: Mapping[Cell, Comparison], *, uneven: bool = False
) -> dict[Cell, Delta]:
    """Every arm beside the baseline of its agent; `uneven` where an arm lost more than chance explains."""
    options = chosen.options
    pairs = {
        (agent, arm): (runs, chosen.cells[agent, chosen.baseline])
        for (agent, arm), runs in chosen.cells.items()
        if chosen.baseline is not None and arm != chosen.baseline and (agent, chosen.baseline) in chosen.cells
    }
    judged = judge(
        {cell: pair(*sides) for cell, sides in pairs.items()},
        options,
        chosen.clusters,
        partial=chosen.partial,
    )
    work = _Work(chosen, options, pairs, compared, judged, uneven)
    counted_otherwise = sensitivity(pairs, compared, judged, chosen)
    return {cell: _delta(cell, work, counted_otherwise[cell]) for cell in pairs}


def _delta(cell: Cell, work: _Work, otherwise: Sensitivity) -> Delta:
    agent, arm = cell
    chosen, options = work.chosen, work.options
    sides = work.pairs[cell]
    judged, comparison = work.judged.get(cell), work.tokens.get(cell)
    factors = factor_changes(chosen.facts, chosen.baseline or "", arm)
    changes = _changes(judged, options.threshold)
    return Delta(
        passes=_passes(cell, judged, work, lost=otherwise.bounds is not None) if judged else None,
        factors=factors[0],
        factor_warnings=factors[1],
        regressed=changes[0],
        improved=changes[1],
        threshold=options.threshold,
        tokens=_difference(sides, tokens, options),
        usd=_difference(sides, usd, options),
        seconds=_difference(sides, seconds, options),
        score=_difference(sides, score, options),
        turns=_difference(sides, turns, options),
        tool_calls=_difference(sides, tool_calls, options),
        tokens_per_success=_per_success(sides, tokens, options),
        usd_per_success=_per_success(sides, usd, options),
        seconds_per_success=_per_success(sides, seconds, options),
        **_tokens_words(f"{arm} over {chosen.baseline} with {agent}", comparison, work),
        policies=otherwise.rows,
        flips=any(row.flips for row in otherwise.rows),
        bounds=otherwise.bounds,
        settle=(*settle_tokens(comparison, *sides), *settle_passes(judged, *sides)),
    )


def _passes(cell: Cell, judged: Judged, work: _Work, *, lost: bool) -> PassDifference:
    test, both = judged.tested, judged.pair
    who = f"{cell[1]} minus {work.chosen.baseline} with {cell[0]}"
    interval, decision = test.interval, judged.decision
    if lost and work.uneven:
        decision = replace(decision, warnings=(*decision.warnings, UNEVEN))
    return PassDifference(
        design=work.options.design,
        rule=test.rule,
        interval=interval,
        pvalue=test.pvalue,
        adjusted=judged.adjusted,
        midp=test.midp,
        p_drop=test.p_drop,
        p_rise=test.p_rise,
        test=test.test,
        n_arm=both.ours.n,
        n_baseline=both.theirs.n,
        questions=both.ours.questions,
        left_out=both.left_out,
        detectable=_detectable(interval),
        decision=decision,
        method=_pass_method(judged, len(work.judged)),
        claim=claim_sentence("difference in the pass rate", interval.claim),
        estimand=estimand(
            f"pass rate of {who}",
            interval.claim,
            method=interval.method,
            n=interval.n,
            confidence=interval.confidence,
        ),
    )


def _detectable(interval: Interval) -> float:
    error = interval.standard_error
    if isnan(error) or error <= 0:
        return nan
    df = _MANY if isnan(interval.df) else interval.df
    return mde(error, df, confidence=interval.confidence)


def _pass_method(judged: Judged, family: int) -> str:
    test, both = judged.tested, judged.pair
    level = fmt.level(test.interval.confidence)
    text = (
        f"Mean over {fmt.plural(len(both.ours.questions), 'question')} of the difference in pass rates "
        f"({both.ours.n} against {both.theirs.n} runs); {level}% interval: {test.interval.method}; "
        f"test: {test.test}"
    )
    if family > 1 and not isnan(test.pvalue):
        text += f", corrected for {family} comparisons (Holm)"
    return f"{text}."


def _tokens_words(who: str, comparison: Comparison | None, work: _Work) -> dict[str, str]:
    ratio = comparison.ratio if comparison else None
    if ratio is None or comparison is None:
        return {"tokens_method": "", "tokens_claim": "", "tokens_estimand": ""}
    family = sum(not isnan(item.adjusted) for item in work.tokens.values())
    corrected = f", corrected for {family} comparisons (Holm)" if family > 1 else ""
    method = (
        f"Ratio of mean tokens over {fmt.plural(len(comparison.questions), 'question')} "
        f"({comparison.n_arm} against {comparison.n_baseline} runs); "
        f"{fmt.level(ratio.confidence)}% interval: {ratio.method}; its p value{corrected}."
    )
    said = estimand(
        f"mean tokens of {who}", ratio.claim, method=ratio.method, n=ratio.n, confidence=ratio.confidence
    )
    return {
        "tokens_method": method,
        "tokens_claim": claim_sentence("relative cost", ratio.claim),
        "tokens_estimand": said,
    }


def _changes(judged: Judged | None, threshold: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if judged is None:
        return (), ()
    ours, theirs = judged.pair.ours, judged.pair.theirs
    found = case_changes(
        ours.passes / ours.runs, theirs.passes / theirs.runs, cases=ours.questions, threshold=threshold
    )
    return tuple(map(str, found.regressed)), tuple(map(str, found.improved))


def _difference(
    sides: tuple[Sequence[Run], Sequence[Run]], quantity: Quantity, options: Options
) -> Interval | None:
    if not all(sample(side).whole(quantity) for side in sides):
        return None
    if options.methods.paired_deltas:
        return _paired(sides, quantity, options)
    ours, theirs = (by_question(side, quantity) for side in sides)
    common = np.intersect1d(ours.places, theirs.places, assume_unique=True)
    if not len(common):
        return None
    return stratified_mean_diff(ours.on(common), theirs.on(common), confidence=options.confidence)


def _paired(
    sides: tuple[Sequence[Run], Sequence[Run]], quantity: Quantity, options: Options
) -> Interval | None:
    """Of the same repetition of the same question on both sides, as one of the sources has it."""
    ours, theirs = (
        {(run.question, run.source, run.rep): quantity(run) for run in counted(side)} for side in sides
    )
    pairs = [
        (mine, base)
        for key, mine in sorted(ours.items())
        if mine is not None and (base := theirs.get(key)) is not None
    ]
    if not pairs:
        return None
    columns = [mine for mine, _ in pairs], [base for _, base in pairs]
    return paired_bootstrap_delta(*columns, confidence=options.confidence)


def _per_success(
    sides: tuple[Sequence[Run], Sequence[Run]], quantity: Quantity, options: Options
) -> Interval | None:
    parts: list[FloatArray] = []
    for side in map(sample, sides):
        values = side.values(quantity)
        if not side.whole(quantity) or not values.sum() > 0:
            return None
        parts += [values, side.counted.column("passed").astype(np.float64)]
    if not parts[3].any():
        return None
    return cost_per_success_ratio(*parts, confidence=options.confidence)
