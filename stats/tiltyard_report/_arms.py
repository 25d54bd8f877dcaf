"""One arm with one agent: every number of its row."""

from collections.abc import Mapping

from tiltyard_report._compare import compare_usd
from tiltyard_report._frontier import frontier
from tiltyard_report._measures import (
    correct,
    counted,
    measure,
    score,
    seconds,
    tokens,
    tool_calls,
    turns,
    usd,
    used_tool,
)
from tiltyard_report._quality import quality
from tiltyard_report._run import Cell
from tiltyard_report._sample import Quantity, Sample
from tiltyard_report._selection import Selection
from tiltyard_report.delta_model import Delta
from tiltyard_report.measure_model import Measure
from tiltyard_report.model import AgentReport, ArmRow, Comparison
from tiltyard_report.quality_model import FrontierPlace


def agent_reports(
    chosen: Selection, compared: Mapping[Cell, Comparison], changed: Mapping[Cell, Delta]
) -> tuple[AgentReport, ...]:
    """All arms of each agent."""
    places = frontier(chosen.cells)
    found: dict[str, list[ArmRow]] = {}
    models: dict[str, set[str]] = {}
    for cell, runs in chosen.cells.items():
        row = _arm(cell, runs, chosen, compared.get(cell), changed.get(cell), places.get(cell))
        found.setdefault(cell[0], []).append(row)
        models.setdefault(cell[0], set()).update(filter(None, runs.distinct("model")))
    return tuple(
        AgentReport(agent, tuple(sorted(models[agent])), tuple(rows)) for agent, rows in found.items()
    )


def _arm(
    cell: Cell,
    runs: Sample,
    chosen: Selection,
    relative: Comparison | None,
    delta: Delta | None,
    place: FrontierPlace | None,
) -> ArmRow:
    valid, options = counted(runs), chosen.options
    base = chosen.cells.get((cell[0], chosen.baseline or ""), ())

    earlier = chosen.earlier
    for name, label in zip(("agent", "arm"), cell, strict=True):
        earlier = earlier.where(earlier.having(name, label.__eq__))

    def mean(quantity: Quantity) -> Measure:
        return measure(runs, quantity, options.confidence, normal=options.methods.normal_means)

    return ArmRow(
        arm=cell[1],
        baseline=cell[1] == chosen.baseline,
        runs=len(valid),
        excluded=len(runs) - len(valid),
        correct=correct(runs, options.confidence),
        tokens=mean(tokens),
        usd=mean(usd),
        turns=mean(turns),
        seconds=mean(seconds),
        used_tool=used_tool(runs, options.confidence),
        relative_tokens=relative,
        relative_usd=compare_usd(runs, base, options) if relative else None,
        score=mean(score),
        tool_calls=mean(tool_calls),
        quality=quality(runs, earlier, options, chosen.clusters, place),
        delta=delta,
    )
