"""How much the tokens of one agent vary from run to run, and how many runs a comparison would need."""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from tiltyard_report._measures import by_question, counted, tokens
from tiltyard_report._runs import total
from tiltyard_report._sample import ByQuestion
from tiltyard_report._selection import Selection
from tiltyard_report.model import SpreadRow
from tiltyard_stats import cv, pilot_factor, runs_per_arm
from tiltyard_stats._result import FloatArray
from tiltyard_stats.cells import Cells

_EFFECT = 0.2
_POWER = 0.8
_Cells = Mapping[str, FloatArray]


def spread_row(agent: str, chosen: Selection) -> SpreadRow:
    """The spread of one agent, over its arms."""
    own = {arm: runs for (name, arm), runs in chosen.cells.items() if name == agent}
    arms = {arm: by_question(runs, tokens) for arm, runs in own.items()}
    runs = {arm: len(cells.cells.flat) for arm, cells in arms.items()}
    fewest, known = min(runs.values()), sum(runs.values())
    unknown = sum(len(counted(runs)) for runs in own.values()) - known
    source = chosen.options.methods.normal_plan
    values = _relative(arms, chosen.baseline) if source else _within(arms)
    if not len(values):
        return SpreadRow(agent, fewest, unknown, None, None, None)
    spread = cv(values)
    if not spread.cv > 0:
        return SpreadRow(agent, fewest, unknown, spread, None, None)
    cautious = spread.cv * pilot_factor(spread.df)
    formula: Literal["normal", "log"] = "normal" if source else "log"
    needed, careful = (
        runs_per_arm(value, _EFFECT, power=_POWER, method=formula) for value in (spread.cv, cautious)
    )
    return SpreadRow(agent, fewest, unknown, spread, needed, careful)


def _within(arms: Mapping[str, ByQuestion]) -> Cells:
    cells = [each.cells for each in arms.values()]
    return Cells(np.concatenate([each.flat for each in cells]), np.concatenate([each.n for each in cells]))


def _relative(arms: Mapping[str, _Cells], baseline: str | None) -> list[FloatArray]:
    """As one of the sources has it: relative costs of an arm, pooled over its questions."""
    base = {question: total(cell) / len(cell) for question, cell in arms.get(baseline or "", {}).items()}
    pooled = [
        [cell / base[question] for question, cell in cells.items() if base.get(question)]
        for arm, cells in arms.items()
        if arm != baseline
    ]
    return [np.concatenate(values) for values in pooled if values]
