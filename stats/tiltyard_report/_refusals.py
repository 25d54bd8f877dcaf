"""What must not be claimed of pass rates, successes and factors: one line for each refusal of the data."""

from collections.abc import Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report.delta_model import PassDifference
from tiltyard_report.model import AgentReport, ArmRow
from tiltyard_stats import do_not_claim
from tiltyard_stats.decide import MINIMUM_RUNS, NO_DIFFERENCE, SETTLED_RUNS

_MANY = 3
"""Comparisons of one kind beyond which one line speaks of all."""
_Row = tuple[str, ArmRow, PassDifference]


def quality_refusals(agents: Sequence[AgentReport], baseline: str) -> tuple[str, ...]:
    """The lines of all comparisons; of many that are alike, one."""
    rows = [
        (agent.agent, row, row.delta.passes)
        for agent in agents
        for row in agent.arms
        if row.delta and row.delta.passes
    ]
    lines = [*_alike(rows, baseline), *_unproven(rows, baseline), *_few(rows, baseline)]
    for agent, row, passes in rows:
        what = f"the pass rate of {row.arm} ({agent})"
        codes = [code for code in passes.interval.warnings if code in _TOLD]
        lines += map(_phrase, do_not_claim(what, codes))
    return tuple(dict.fromkeys([*lines, *_successes(agents), *_flips(agents)]))


_TOLD = frozenset({"shock", "rerun", "few-clusters", "attempts-not-independent"})
"""Codes of an interval that refuse something which no other line says."""


def _alike(rows: Sequence[_Row], baseline: str) -> Iterable[str]:
    """No difference shown is not no difference."""
    same = [item for item in rows if item[2].decision.verdict == NO_DIFFERENCE]
    if len(same) > _MANY:
        names = fmt.listed([f"{row.arm} with {agent}" for agent, row, _ in same])
        yield f"That arms are as often right as {baseline} where no difference is shown ({names})."
        return
    for agent, row, passes in same:
        bounds = fmt.point_bounds(passes.interval)
        told = f"compatible with {bounds} points" if passes.interval.known else "too few to say"
        yield f"That {row.arm} and {baseline} ({agent}) are equally often right: the data are {told}."


def _unproven(rows: Sequence[_Row], baseline: str) -> Iterable[str]:
    few = [item for item in rows if "few-runs" in item[2].decision.warnings]
    if few:
        names = fmt.listed([f"{row.arm} with {agent}" for agent, row, _ in few])
        need = f"{MINIMUM_RUNS} runs a side are needed"
        yield f"A difference in passes against {baseline}, either way ({names}): {need}."


def _few(rows: Sequence[_Row], baseline: str) -> Iterable[str]:
    early = [item for item in rows if "provisional" in item[2].decision.warnings]
    if early:
        names = fmt.listed([f"{row.arm} with {agent}" for agent, row, _ in early])
        yield f"That the passes of {names} against {baseline} are settled: under {SETTLED_RUNS} runs a side."


def _successes(agents: Sequence[AgentReport]) -> Iterable[str]:
    """What a success costs, where there are too few of them."""
    blocked = [
        f"{row.arm} ({agent.agent})"
        for agent in agents
        for row in agent.arms
        if row.quality
        and (found := row.quality.tokens_per_success or row.quality.seconds_per_success)
        and found.claim == "blocked"
    ]
    if blocked:
        yield f"What a success of {fmt.listed(blocked)} costs: fewer than 5 successes."


def _flips(agents: Sequence[AgentReport]) -> Iterable[str]:
    for agent in agents:
        for row in agent.arms:
            if row.delta and row.delta.flips:
                yield (
                    f"The verdict on {row.arm} ({agent.agent}) without a word on crashed runs: "
                    "it flips when they are counted otherwise."
                )


def _phrase(sentence: str) -> str:
    """As a line below the heading that says it."""
    text = sentence.removeprefix("Do not claim ")
    return text[0].upper() + text[1:]
