"""The headline: what was compared, how it came out, and in a second sentence what not to claim.

It speaks of the first comparison in the order of the spec among those with the strongest verdict, so that
doing a trial again does not make it speak of another agent by chance.
"""

from collections.abc import Sequence

from tiltyard_report import _audit, _health
from tiltyard_report import _format as fmt
from tiltyard_report import _pass_headline as _passes
from tiltyard_report._topic import Topic
from tiltyard_report._verdicts import WORDS, Compared, comparisons
from tiltyard_report.model import AgentReport, ArmRow
from tiltyard_stats.decide import CHEAPER, DEARER, NO_DIFFERENCE, NO_VERDICT

EMPTY = "There are no records here yet, so there is nothing to report."

_ORDER = (CHEAPER, DEARER, NO_DIFFERENCE, NO_VERDICT)
_ONE = {
    CHEAPER: "is cheaper",
    DEARER: "is dearer",
    NO_DIFFERENCE: "shows no clear difference",
    NO_VERDICT: "gets no verdict",
}
_MANY = {
    CHEAPER: "are cheaper",
    DEARER: "are dearer",
    NO_DIFFERENCE: "show no clear difference",
    NO_VERDICT: "get no verdict",
}
_NAMED = 2
"""As many comparisons as one sentence can name."""


def headline(topic: Topic) -> str:
    """One plain sentence on what the trial shows, and one on what not to claim."""
    if not topic.agents:
        return _audit.headline(topic.audit) if topic.audit else EMPTY
    if not any(row.runs for agent in topic.agents for row in agent.arms):
        return _health.all_lost(topic.runs, partial=topic.partial)
    every = comparisons(topic.agents)
    # An arm of which no run counts is told of by its own alert.
    compared = [item for item in every if item.row.runs] or every
    if compared and all(item.verdict == NO_VERDICT for item in compared):
        said = _passes.headline(topic.agents, topic.baseline or "", compared[0])
        if said is not None:
            return f"{said[0]}. {_unclaimed(topic, compared, said[1])}"
    told = _compared(compared, topic.baseline or "") if compared else _rates(topic.agents)
    return f"{told}. {_unclaimed(topic, compared)}"


def _unclaimed(topic: Topic, compared: Sequence[Compared], passes: str | None = None) -> str:
    verdicts = {item.verdict for item in compared} if passes is None else {passes}
    if not topic.healthy:
        return "Do not build on it: the trial is UNHEALTHY."
    if passes == NO_DIFFERENCE and not topic.facts.scripted:
        return "Do not claim that they are equally often right."
    if verdicts == {NO_VERDICT}:
        return "Do not claim a difference either way."
    if topic.facts.scripted:
        return "Do not claim anything about a real model: the replies were scripted."
    if verdicts and verdicts <= {NO_DIFFERENCE, NO_VERDICT}:
        return "Do not claim that they cost the same."
    return f"Do not claim it beyond {these(topic.questions)}."


def these(questions: Sequence[str]) -> str:
    """The questions of the trial, as a claim is limited to them."""
    return "this 1 question" if len(questions) == 1 else f"these {len(questions)} questions"


def _compared(items: Sequence[Compared], baseline: str) -> str:
    named = _named(items)
    others = [item for item in items if item not in named]
    said = _refused(named, baseline) if named[0].verdict == NO_VERDICT else _sized(named, baseline)
    parts = [f"{said}, with {_scores(named)}"]
    if len(others) == 1:
        parts.append(_other(others[0]))
    elif others:
        parts.append(_others(others))
    return "; ".join(parts)


def _named(items: Sequence[Compared]) -> list[Compared]:
    """All comparisons when one sentence can hold them, else the first with the strongest verdict."""
    alike = len({item.row.arm for item in items}) == 1 or len({item.agent.agent for item in items}) == 1
    refusals = {item.why for item in items if item.verdict == NO_VERDICT}
    judged = any(item.verdict != NO_VERDICT for item in items)
    if len(items) <= _NAMED and alike and len(refusals) <= (0 if judged else 1):
        return list(items)
    first = min(items, key=lambda item: max(1, _ORDER.index(item.verdict)))
    against = [item for item in items if _opposite(first, item)]
    return [first, *sorted(against, key=lambda item: _ORDER.index(item.verdict))[:1]]


def _opposite(first: Compared, other: Compared) -> bool:
    """Whether the same arm came out the other way with another agent: one alone is half of the truth."""
    if other.row.arm != first.row.arm or NO_VERDICT in {first.verdict, other.verdict}:
        return False
    ours, theirs = first.comparison.ratio, other.comparison.ratio
    return ours is not None and theirs is not None and (ours.estimate - 1) * (theirs.estimate - 1) < 0


def _sized(named: Sequence[Compared], baseline: str) -> str:
    """The ratios with their intervals, then the verdicts."""
    first, rest = named[0], named[1:]
    text = f"{first.row.arm} needs {_ratio(first)} the tokens of {baseline} with {first.agent.agent}"
    text += f" ({_bounds(first, level=True)})"
    for item in rest:
        same_arm = item.row.arm == first.row.arm
        who = f"{_ratio(item)} with {item.agent.agent}" if same_arm else f"{item.row.arm} {_ratio(item)}"
        text += f" and {who} ({_bounds(item)})"
    clear = NO_DIFFERENCE not in {item.verdict for item in named}
    apart = "the agents differ: " if clear and rest and _opposite(first, rest[0]) else ""
    return f"{text}; {apart}{_judged(named)}"


def _judged(named: Sequence[Compared]) -> str:
    """The verdicts with their reservations, in one clause."""
    clear = named[0].verdict != NO_DIFFERENCE
    if len(named) == 1:
        return f"{'it is' if clear else 'there is'} {named[0].verdict}{_reserved(named[0])}"
    together = len({_reserved(item) for item in named}) == 1
    if together and len({item.verdict for item in named}) == 1:
        said = f"both are {named[0].verdict}" if clear else "neither is a clear difference"
        return f"{said}{_reserved(named[0])}"
    one_arm = len({item.row.arm for item in named}) == 1
    told = " and ".join(
        f"{item.verdict} {'with' if one_arm else 'for'} {item.agent.agent if one_arm else item.row.arm}"
        f"{'' if together else _reserved(item)}"
        for item in named
    )
    return told + _reserved(named[0]).replace("(", "(both ", 1) if together else told


def _reserved(item: Compared) -> str:
    """The reservations of a verdict, and the runs that a provisional one rests on."""
    ours, theirs = item.comparison.n_arm, item.comparison.n_baseline
    runs = f"{ours} runs a side" if ours == theirs else f"{ours} against {theirs} runs"
    words = [f"{WORDS[code]}: {runs}" if code == "provisional" else WORDS[code] for code in item.codes]
    return f" ({', '.join(words)})" if words else ""


def _refused(named: Sequence[Compared], baseline: str) -> str:
    first = named[0]
    arms = " or ".join(dict.fromkeys(item.row.arm for item in named))
    agents = " or ".join(dict.fromkeys(item.agent.agent for item in named))
    text = f"{arms} against {baseline} with {agents} gets no verdict: {first.why}"
    ratio = first.comparison.ratio
    if "unknown-bound" in first.codes and ratio and len(named) == 1:
        text += f" ({fmt.factor(ratio.estimate)}x, {fmt.unknown_bounds(ratio)})"
    if "few-runs" in first.codes and len(named) == 1:
        text += f" ({first.comparison.n_arm} against {first.comparison.n_baseline})"
    return text


def _other(item: Compared) -> str:
    text = f"{item.row.arm} with {item.agent.agent} {_ONE[item.verdict]}"
    return f"{text}: {item.why}" if item.verdict == NO_VERDICT else f"{text} ({_ratio(item)})"


def _others(items: Sequence[Compared]) -> str:
    """How many other comparisons there are, and how they came out."""
    groups = {verdict: [item for item in items if item.verdict == verdict] for verdict in _ORDER}
    found = {verdict: group for verdict, group in groups.items() if group}
    if len(found) == 1:
        verdict = next(iter(found))
        return f"the {len(items)} other comparisons {_MANY[verdict]}{_reason(items)}"
    told = [
        f"{len(group)} {(_ONE if len(group) == 1 else _MANY)[verdict]}{_reason(group)}"
        for verdict, group in found.items()
    ]
    return f"of the {len(items)} other comparisons {', '.join(told[:-1])} and {told[-1]}"


def _reason(items: Sequence[Compared]) -> str:
    reasons = {item.why for item in items if item.verdict == NO_VERDICT}
    return f" ({next(iter(reasons))})" if len(reasons) == 1 else ""


def _scores(named: Sequence[Compared]) -> str:
    """Pass rates against the baseline's, in the order of the comparisons."""
    scores = [f"{_score(item.row)} against {_baseline_score(item.agent)}" for item in named]
    if len(scores) > 1 and len(set(scores)) == 1:
        return f"pass rates of {scores[0]} in both"
    return f"pass rates of {' and '.join(scores)}"


def _rates(agents: Sequence[AgentReport]) -> str:
    """Pass rates where nothing is compared."""
    rows = [(agent, row) for agent in agents for row in agent.arms if row.runs]
    shown = rows if len(rows) <= _NAMED else rows[:1]
    text = " and ".join(_rate(agent, row) for agent, row in shown)
    rest = [row.correct.successes / row.correct.n for _, row in rows if row.correct.n][len(shown) :]
    if rest:
        low, high = fmt.percent(min(rest)), fmt.percent(max(rest))
        span = f"{low}%" if low == high else f"{low}% to {high}%"
        text += f", and the {len(rest)} other arms and agents pass in {span}"
    return f"{text}; nothing is compared"


def _rate(agent: AgentReport, row: ArmRow) -> str:
    text = f"{row.arm} with {agent.agent} passed in {_score(row)} runs"
    interval = row.correct.interval
    if interval is None:
        return text
    bounds = f"{fmt.percent(interval.low)} to {fmt.percent(interval.high)}"
    return f"{text} ({fmt.level(interval.confidence)}% interval {bounds}%)"


def _ratio(item: Compared) -> str:
    ratio = item.comparison.ratio
    return f"{fmt.factor(ratio.estimate)}x" if ratio else "unknown"


def _bounds(item: Compared, *, level: bool = False) -> str:
    ratio = item.comparison.ratio
    if ratio is None:
        return "unknown"
    bounds = f"{fmt.factor(ratio.low)} to {fmt.factor(ratio.high)}"
    return f"{fmt.level(ratio.confidence)}% {bounds}" if level else bounds


def _baseline_score(agent: AgentReport) -> str:
    return next((_score(row) for row in agent.arms if row.baseline), "no runs")


def _score(row: ArmRow) -> str:
    return f"{row.correct.successes}/{row.correct.n}" if row.correct.n else "no run that counts"
