"""What must not be claimed, one line per claim that the data refuse."""

from tiltyard_report import _format as fmt
from tiltyard_report._headline import these
from tiltyard_report._refusals import quality_refusals
from tiltyard_report._topic import Topic
from tiltyard_report._verdicts import Compared, comparisons, unknown_tokens
from tiltyard_report.model import Comparison
from tiltyard_stats.decide import MINIMUM_RUNS, NO_DIFFERENCE, SETTLED_RUNS

CAUTION = (
    "Token totals of different agents are not comparable: they count, cache and prompt differently. "
    "Compare an agent only with itself."
)


def do_not_claim(topic: Topic) -> tuple[str, ...]:
    """What the data refuse. The first line always stands."""
    rows = [row for agent in topic.agents for row in agent.arms]
    if not any(row.runs for row in rows):
        return (_nothing(topic),)
    lines = [f"Anything beyond {these(topic.questions)}: the trial cannot say how the arms do on others."]
    compared = comparisons(topic.agents)
    lines += [line for item in compared if (line := _refusal(item, topic.baseline or "the baseline"))]
    lines += quality_refusals(topic.agents, topic.baseline or "the baseline")
    if any(row.tokens.unknown or not row.tokens.interval for row in rows):
        lines.append("Anything about tokens or cost where they are unknown: unknown is not 0.")
    if topic.facts.scripted:
        lines.append("Anything about a real model: the replies were scripted.")
    if topic.facts.network == "open":
        lines.append("That the spend is whole: with an open network, calls beside the meter are not seen.")
    if topic.partial:
        lines.append("Anything that the missing runs could change: they may not be missing by chance.")
    return tuple(lines)


def _nothing(topic: Topic) -> str:
    if topic.agents:
        return "Anything: no run counts."
    return "Anything about an agent: none competed." if topic.audit else "Anything: there are no records."


def _refusal(item: Compared, baseline: str) -> str | None:
    comparison, codes = item.comparison, item.codes
    pair = f"{item.row.arm} and {baseline} ({item.agent.agent})"
    why = _no_difference_known(item)
    if why:
        return f"A difference in tokens between {pair}, either way: {why}."
    if comparison.ratio and item.verdict == NO_DIFFERENCE:
        bounds = f"{fmt.factor(comparison.ratio.low)}x to {fmt.factor(comparison.ratio.high)}x"
        return f"That {pair} cost the same: the data are compatible with {bounds}."
    if "provisional" in codes:
        return f"That {pair} are settled: under {SETTLED_RUNS} runs a side, a verdict is provisional."
    return None


def _no_difference_known(item: Compared) -> str | None:
    comparison, codes = item.comparison, item.codes
    if "unknown-tokens" in codes:
        return f"{unknown_tokens(comparison)}, and those may be the dear ones"
    if comparison.ratio and "few-runs" in codes:
        return _too_few(comparison)
    if comparison.ratio and "unknown-bound" in codes:
        return f"the uncertainty is not known ({fmt.unknown_bounds(comparison.ratio)})"
    return None


def _too_few(comparison: Comparison) -> str:
    return f"{comparison.n_arm} against {comparison.n_baseline} runs, and {MINIMUM_RUNS} a side are needed"
