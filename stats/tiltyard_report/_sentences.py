"""What the report says in words: its headline, its alerts, and what must not be claimed."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard_report import _format as fmt
from tiltyard_report._receipt import Facts
from tiltyard_report.model import AgentReport, ArmRow, Comparison
from tiltyard_stats.decide import CHEAPER, DEARER, MINIMUM_RUNS, NO_DIFFERENCE, SETTLED_RUNS

CAUTION = (
    "Token totals of different agents are not comparable: they count, cache and prompt differently. "
    "Compare an agent only with itself."
)
EMPTY = "There are no records here yet, so there is nothing to report."

Compared = tuple[AgentReport, ArmRow, Comparison]


@dataclass(frozen=True, slots=True)
class Topic:
    """What the sentences are about."""

    agents: tuple[AgentReport, ...]
    baseline: str | None
    questions: tuple[str, ...]
    facts: Facts
    partial: bool


def headline(topic: Topic) -> str:
    """One plain sentence: which arm, by how much, how sure, what not to claim."""
    if not topic.agents:
        return EMPTY
    compared, baseline = comparisons(topic.agents), topic.baseline
    beyond = f"do not claim it beyond {_these(topic.questions)}"
    if not compared or baseline is None:
        return f"{_rates(topic.agents)}; nothing is compared, and {beyond}."
    clear = sorted((item for item in compared if _verdict(item) in {CHEAPER, DEARER}), key=_certainty)
    if clear:
        others = "" if len(compared) == 1 else f" (clear in {len(clear)} of {len(compared)} comparisons)"
        return f"{_clear(clear[0], baseline)}{others}; {beyond}."
    open_ended = [item for item in compared if _verdict(item) == NO_DIFFERENCE]
    if open_ended:
        return _no_difference(open_ended, compared, baseline)
    return _no_verdict(compared, baseline)


def comparisons(agents: Sequence[AgentReport]) -> list[Compared]:
    """Every comparison of tokens in the report."""
    rows = [(agent, row, row.relative_tokens) for agent in agents for row in agent.arms]
    return [(agent, row, comparison) for agent, row, comparison in rows if comparison]


def do_not_claim(topic: Topic) -> tuple[str, ...]:
    """What the data refuse. The first line always stands."""
    if not topic.agents:
        return ("Anything: there are no records.",)
    lines = [f"Anything beyond {_these(topic.questions)}: the trial cannot say how the arms do on others."]
    compared = comparisons(topic.agents)
    lines += [line for item in compared if (line := _refusal(item, topic.baseline or "the baseline"))]
    if compared:
        lines.append("That the arms are equally often right: pass rates stand side by side here, untested.")
    if not all(row.tokens.interval for agent in topic.agents for row in agent.arms):
        lines.append("Anything about tokens or cost where they are unknown: unknown is not 0.")
    if topic.facts.scripted:
        lines.append("Anything about a real model: the replies were scripted.")
    if topic.facts.network == "open":
        lines.append("That the spend is whole: with an open network, calls beside the meter are not seen.")
    if topic.partial:
        lines.append("Anything that the missing runs could change: they may not be missing by chance.")
    return tuple(lines)


def _refusal(item: Compared, baseline: str) -> str | None:
    agent, row, comparison = item
    pair = f"{row.arm} and {baseline} ({agent.agent})"
    decision = comparison.decision
    if decision is None or comparison.ratio is None:
        return None
    if decision.verdict == NO_DIFFERENCE:
        bounds = f"{fmt.factor(comparison.ratio.low)}x to {fmt.factor(comparison.ratio.high)}x"
        return f"That {pair} cost the same: the data are compatible with {bounds}."
    if "few-runs" in decision.warnings:
        return f"A difference in tokens between {pair}, either way: {_too_few(comparison)}."
    if "unknown-bound" in decision.warnings:
        why = fmt.unknown_bounds(comparison.ratio).removeprefix("not known: ")
        return f"A difference in tokens between {pair}, either way: the uncertainty is not known ({why})."
    if "provisional" in decision.warnings:
        return f"That {pair} are settled: under {SETTLED_RUNS} runs a side, a verdict is provisional."
    return None


def _verdict(item: Compared) -> str:
    return item[2].decision.verdict if item[2].decision else ""


def _certainty(item: Compared) -> tuple[float, str, str]:
    return item[2].adjusted, item[0].agent, item[1].arm


def _clear(item: Compared, baseline: str) -> str:
    agent, row, comparison = item
    what = f"{row.arm} is {_verdict(item)} than {baseline} with {agent.agent}"
    return f"{what}: {_size(comparison)}, with {_scores(agent, row)}"


def _no_difference(items: Sequence[Compared], compared: Sequence[Compared], baseline: str) -> str:
    agent, row, comparison = items[0]
    if len(compared) == 1:
        return (
            f"No clear difference in tokens between {row.arm} and {baseline} with {agent.agent}: "
            f"{_size(comparison)}, with {_scores(agent, row)}; do not claim that they cost the same."
        )
    return (
        f"No clear difference in tokens from {baseline} in any of {len(compared)} comparisons "
        f"({len(items)} could be judged); do not claim that the arms cost the same."
    )


def _no_verdict(compared: Sequence[Compared], baseline: str) -> str:
    agent, row, comparison = compared[0]
    why = f"{_why(comparison)}, with {_scores(agent, row)}"
    about = f"the tokens of {row.arm} against {baseline} with {agent.agent}:"
    if len(compared) > 1:
        about = (
            f"tokens in any of {len(compared)} comparisons with {baseline}: for {row.arm} with {agent.agent},"
        )
    return f"No verdict on {about} {why}; do not claim a difference either way."


def _why(comparison: Comparison) -> str:
    codes = comparison.decision.warnings if comparison.decision else ()
    if "partial" in codes:
        return "the trial is not complete"
    if "few-runs" in codes:
        return _too_few(comparison)
    if comparison.ratio is None:
        return "there are no known tokens to compare"
    why = fmt.unknown_bounds(comparison.ratio).removeprefix("not known: ")
    return f"the uncertainty of {fmt.factor(comparison.ratio.estimate)}x is not known ({why})"


def _too_few(comparison: Comparison) -> str:
    return f"{comparison.n_arm} against {comparison.n_baseline} runs, and {MINIMUM_RUNS} a side are needed"


def _size(comparison: Comparison) -> str:
    ratio = comparison.ratio
    if ratio is None:
        return "an unknown ratio"
    sure = f"{fmt.level(ratio.confidence)}% interval {fmt.factor(ratio.low)} to {fmt.factor(ratio.high)}"
    codes = comparison.decision.warnings if comparison.decision else ()
    few = ", provisional" if "provisional" in codes else ""
    runs = f"{comparison.n_arm} against {comparison.n_baseline} runs"
    return f"{fmt.factor(ratio.estimate)}x the tokens ({sure}, {runs}{few})"


def _rates(agents: Sequence[AgentReport]) -> str:
    rows = [(agent, row) for agent in agents for row in agent.arms]
    agent, row = rows[0]
    text = f"{row.arm} with {agent.agent} is correct in {_score(row)} runs"
    if row.correct.interval:
        interval = row.correct.interval
        sure = f"{fmt.level(interval.confidence)}% interval"
        text += f" ({sure} {fmt.percent(interval.low)}% to {fmt.percent(interval.high)}%)"
    return text if len(rows) == 1 else f"{text}, the first of {len(rows)} rows"


def _scores(agent: AgentReport, row: ArmRow) -> str:
    base = next((_score(other) for other in agent.arms if other.baseline), "no")
    return f"{_score(row)} against {base} runs correct"


def _score(row: ArmRow) -> str:
    return f"{row.correct.successes}/{row.correct.n}"


def _these(questions: Sequence[str]) -> str:
    return "this 1 question" if len(questions) == 1 else f"these {len(questions)} questions"
