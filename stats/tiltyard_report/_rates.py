"""Pass rates and their differences by the design that the reader names, each with its sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

from tiltyard_report import _format as fmt
from tiltyard_report._grid import Grid
from tiltyard_report._options import Options
from tiltyard_report.quality_model import PassRate
from tiltyard_specs.errors import DataError
from tiltyard_stats import (
    CLAIMS,
    Interval,
    clustered,
    clustered_diff,
    curated,
    curated_diff,
    fixed_cases,
    fixed_cases_diff,
    runs_t,
    sampled,
    sampled_diff,
    stratified_test,
    two_proportion_z,
)
from tiltyard_stats.designs import Rule, curated_rule
from tiltyard_stats.fixed_cases import FixedMethod
from tiltyard_stats.runs import MeanDifference
from tiltyard_stats.shock import ShockTest

_RATE_BOUNDS = (0.0, 1.0)
_DIFFERENCE_BOUNDS = (-1.0, 1.0)
_INCOMPLETE = "incomplete-runs"
_TWO = 2
"""Runs of a question from which they show a variance."""
_SHOCKED = frozenset({"over-runs", "rerun"})
Clusters = Mapping[str, str]
"""The group of each question."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A difference with its test, before any correction."""

    interval: Interval
    rule: str
    pvalue: float = nan
    midp: float = nan
    p_drop: float = nan
    p_rise: float = nan
    test: str = ""


def pass_rate(passes: Grid, options: Options, clusters: Clusters) -> PassRate:
    """The pass rate of one arm; the grid holds at least one run."""
    found = _one(passes, options, clusters)
    reps = passes.complete
    shock = found.shocks[0] if found.shocks else None
    over_runs = runs_t(reps.mean(axis=1), confidence=options.confidence) if len(reps) > 1 else None
    return PassRate(
        design=options.design,
        interval=found.interval,
        rule=found.rule,
        complete_runs=len(reps),
        shock_ratio=shock.ratio if shock else nan,
        shock_pvalue=shock.pvalue if shock else nan,
        over_runs=over_runs,
        claim=claim_sentence("pass rate", found.interval.claim),
    )


def claim_sentence(quantity: str, claim: str) -> str:
    """Of what a number speaks."""
    where = CLAIMS.get(claim, f"on {claim}")
    return f"The {quantity} is claimed {where}."


@dataclass(frozen=True, slots=True)
class _Found:
    interval: Interval
    rule: str
    shocks: tuple[ShockTest, ...] = ()


def _one(passes: Grid, options: Options, clusters: Clusters) -> _Found:
    level = options.confidence
    rates = passes.passes / passes.runs
    match options.design:
        case "sampled":
            return _Found(sampled(rates, confidence=level, bounds=_RATE_BOUNDS), "sampled")
        case "clustered":
            groups = _groups(passes.questions, clusters)
            return _Found(clustered(rates, groups, confidence=level, bounds=_RATE_BOUNDS), "clustered")
    return _curated(passes, options)


def _curated(passes: Grid, options: Options) -> _Found:
    """By the rule of complete repetitions; where some are not complete, fixed cases of uneven counts."""
    level, method = options.confidence, _method(options, passes)
    rule, shocks = _rule(passes)
    if method == "auto" and (rule in _SHOCKED or passes.whole):
        return _Found(curated(passes.complete, confidence=level).interval, rule, shocks)
    interval = fixed_cases(passes.passes, passes.runs, confidence=level, method=method)
    marked = interval if passes.whole else interval.with_warnings(_INCOMPLETE)
    return _Found(marked, rule if rule == "rerun" else "fixed-cases", shocks)


def _rule(*grids: Grid) -> tuple[Rule, tuple[ShockTest, ...]]:
    """By the complete repetitions, where each arm has one."""
    complete = [each.complete for each in grids]
    return curated_rule(*complete) if all(map(len, complete)) else ("fixed-cases", ())


def difference(
    ours: Grid, theirs: Grid, options: Options, clusters: Clusters, *, test: bool = True
) -> Tested:
    """The difference of two arms that hold the same questions, at least one; without `test` its interval."""
    rates = ours.passes / ours.runs, theirs.passes / theirs.runs
    level = options.confidence
    match options.design:
        case "sampled":
            interval = sampled_diff(*rates, confidence=level, bounds=_DIFFERENCE_BOUNDS)
            return Tested(interval, "sampled", test="interval over questions")
        case "clustered":
            groups = _groups(ours.questions, clusters)
            interval = clustered_diff(*rates, groups, confidence=level, bounds=_DIFFERENCE_BOUNDS)
            return Tested(interval, "clustered", test="interval over groups")
    found = _fixed(ours, theirs, options)
    return _tested(ours, theirs, found, options) if test else Tested(*found)


def _fixed(ours: Grid, theirs: Grid, options: Options) -> tuple[Interval, str]:
    level, method = options.confidence, _method(options, ours, theirs)
    rule, _ = _rule(ours, theirs)
    whole = ours.whole and theirs.whole
    if method == "auto" and (whole or rule in _SHOCKED):
        return curated_diff(ours.complete, theirs.complete, confidence=level).interval, rule
    counts = ours.passes, ours.runs, theirs.passes, theirs.runs
    interval = fixed_cases_diff(*counts, confidence=level, method=method)
    marked = interval if whole else interval.with_warnings(_INCOMPLETE)
    return marked, rule if rule == "rerun" else "fixed-cases"


def _method(options: Options, *grids: Grid) -> FixedMethod:
    """What was asked for; a single run shows no variance, and then the sources have Wilson's interval too."""
    method = options.methods.rate
    single = any((each.runs < _TWO).any() for each in grids)
    return "auto" if single and method in {"source", "wilson-neff"} else method


def _tested(ours: Grid, theirs: Grid, found: tuple[Interval, str], options: Options) -> Tested:
    interval, rule = found
    exact = stratified_test(ours.passes, ours.runs, theirs.passes, theirs.runs)
    tested = Tested(
        interval=interval,
        rule=rule,
        pvalue=exact.pvalue,
        midp=exact.midp_two_sided,
        p_drop=exact.p_drop,
        p_rise=exact.p_rise,
        test="exact test within questions",
    )
    if rule == "over-runs":
        pvalue = interval.pvalue if isinstance(interval, MeanDifference) else nan
        return replace(tested, pvalue=pvalue, midp=nan, test="Welch's t over repetitions")
    if rule == "rerun":
        return replace(tested, pvalue=nan, midp=nan)
    if options.methods.pooled_z and max(ours.runs.max(), theirs.runs.max()) > 1:
        z = two_proportion_z(int(ours.passes.sum()), ours.n, int(theirs.passes.sum()), theirs.n)
        return replace(
            tested,
            interval=interval.with_warnings(*z.warnings),
            pvalue=z.pvalue,
            midp=nan,
            test="pooled two-proportion z",
        )
    return tested


def _groups(questions: Sequence[str], clusters: Clusters) -> list[str]:
    found = [clusters.get(question, "") for question in questions]
    if len(set(found)) < 2:  # noqa: PLR2004 - one group has no spread
        raise DataError(
            "The clustered design needs questions of two groups at least: their capability, else their repo, "
            f"else their first tag; there is {fmt.plural(len(set(found)), 'group')}."
        )
    return found
