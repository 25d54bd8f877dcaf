"""Statistics as pure functions on arrays: every number that a report prints, calibrated and with its claim.

The package knows arrays only: no files, no records, no containers, no global random state. It needs numpy,
and `scipy.special` when a quantile is first asked for.
"""

from tiltyard_stats._result import Decision, Interval, Intervals, SampleSize, Spread, TestResult
from tiltyard_stats.cost import cost_ratio, cost_ratio_stratified, cost_ratio_test, cost_ratios
from tiltyard_stats.decide import token_verdict
from tiltyard_stats.mean import mean_interval, mean_intervals, stratified_mean
from tiltyard_stats.multiple import holm
from tiltyard_stats.plan import runs_per_arm
from tiltyard_stats.proportion import fisher_drop, wilson
from tiltyard_stats.spread import cv, pilot_factor

__all__ = [
    "Decision",
    "Interval",
    "Intervals",
    "SampleSize",
    "Spread",
    "TestResult",
    "cost_ratio",
    "cost_ratio_stratified",
    "cost_ratio_test",
    "cost_ratios",
    "cv",
    "fisher_drop",
    "holm",
    "mean_interval",
    "mean_intervals",
    "pilot_factor",
    "runs_per_arm",
    "stratified_mean",
    "token_verdict",
    "wilson",
]
