"""Gate rules: results in, an outcome out; they never see raw data, and a bound that is NaN never passes."""

from tiltyard_stats.gates.differences import no_regression, no_significant_drop
from tiltyard_stats.gates.families import corrected_confidence, max_slice_drop, no_rule_regression
from tiltyard_stats.gates.limits import max_cost_ratio, max_infra, max_no_answer, min_rule_rate, min_runs
from tiltyard_stats.gates.outcome import EXIT_CODES, Gate, Outcome, gate
from tiltyard_stats.gates.sizing import GateRule, GateSize, SizeRow, gate_size, visible_drop

__all__ = [
    "EXIT_CODES",
    "Gate",
    "GateRule",
    "GateSize",
    "Outcome",
    "SizeRow",
    "corrected_confidence",
    "gate",
    "gate_size",
    "max_cost_ratio",
    "max_infra",
    "max_no_answer",
    "max_slice_drop",
    "min_rule_rate",
    "min_runs",
    "no_regression",
    "no_rule_regression",
    "no_significant_drop",
    "visible_drop",
]
