"""Runs grouped by arm, capability, question, and model and effort; each agent apart.

No score goes over capabilities: a capability of many questions would weigh most, and nobody meant that.
"""

from collections.abc import Callable, Iterable, Sequence

from tiltyard_report._measures import correct, counted, measure, seconds, tokens, usd
from tiltyard_report._run import Run
from tiltyard_report._selection import Selection
from tiltyard_report.group_model import Group

_Key = Callable[[Run], str]


def groups(chosen: Selection) -> tuple[tuple[Group, ...], int]:
    """The groups, and how many were left out because runs of them are missing."""
    done, left_out = _completed(chosen)
    several = any(run.capability is not None for run in done)
    levels: list[tuple[str, _Key]] = [("arm", lambda run: run.arm)]
    if several:
        levels.append(("capability", lambda run: run.capability or ""))
    levels += [("question", lambda run: run.question_id), ("variant", lambda run: run.agent)]
    order = {name: rank for rank, name in enumerate((*chosen.arms, *_questions(chosen), *chosen.agents))}
    agents = dict.fromkeys(_base(agent) for agent in chosen.agents)
    found: list[Group] = []
    for agent in agents:
        own = [run for run in done if _base(run.agent) == agent]
        found += _grouped(own, agent, levels, order, chosen.confidence)
    return tuple(found), left_out


def _grouped(
    runs: Sequence[Run],
    agent: str,
    levels: Sequence[tuple[str, _Key]],
    order: dict[str, int],
    confidence: float,
) -> Iterable[Group]:
    if not levels:
        return
    (name, key), rest = levels[0], levels[1:]
    parts: dict[str, list[Run]] = {}
    for run in runs:
        parts.setdefault(key(run), []).append(run)
    level = next(each for each in ("arm", "capability", "question", "variant") if each == name)
    scored = name != "arm" or not any(below == "capability" for below, _ in rest)
    for part in sorted(parts, key=lambda each: (order.get(each, len(order)), each)):
        own = parts[part]
        valid = counted(own)
        yield Group(
            level=level,
            name=part,
            agent=agent,
            runs=len(valid),
            excluded=len(own) - len(valid),
            correct=correct(own, confidence) if scored else None,
            tokens=measure(own, tokens, confidence),
            usd=measure(own, usd, confidence),
            seconds=measure(own, seconds, confidence),
            groups=tuple(_grouped(own, agent, rest, order, confidence)),
        )


def _completed(chosen: Selection) -> tuple[Sequence[Run], int]:
    """The runs of questions that every arm has been asked as often as planned, by agent."""
    if not chosen.partial:
        return chosen.runs, 0
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for run in chosen.runs:
        cell = counts.setdefault((run.question, run.agent), {})
        cell[run.arm] = cell.get(run.arm, 0) + 1
    arms = set(chosen.facts.arms) or set(chosen.arms)
    most = max((count for cell in counts.values() for count in cell.values()), default=0)
    planned = chosen.facts.reps or most
    whole = {key for key, cell in counts.items() if all(cell.get(arm, 0) >= planned for arm in arms)}
    return [run for run in chosen.runs if (run.question, run.agent) in whole], len(counts) - len(whole)


def _questions(chosen: Selection) -> list[str]:
    return [question.rpartition("+")[2] for question in chosen.questions]


def _base(agent: str) -> str:
    return agent.partition("@")[0]
