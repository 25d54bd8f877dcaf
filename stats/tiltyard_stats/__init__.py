"""Statistics as pure functions on arrays: every number that a report prints, calibrated and with its claim.

The package knows arrays only: no files, no records, no containers, no global random state. It needs numpy,
and `scipy.special` when a quantile is first asked for.
"""

from tiltyard_stats._result import Decision, Interval, Intervals, SampleSize, Spread, TestResult
from tiltyard_stats.allocate import Allocation, BestReps, best_reps, design_variance, neyman
from tiltyard_stats.bootstrap import bootstrap_mean, bootstrap_means
from tiltyard_stats.cost import cost_ratio, cost_ratios
from tiltyard_stats.cost_questions import cost_ratio_stratified, cost_ratio_test, cost_ratio_totals
from tiltyard_stats.decide import token_verdict
from tiltyard_stats.delta import cost_per_success_delta, paired_bootstrap_delta
from tiltyard_stats.factors import FactorLevel, FactorLevels, factor_levels
from tiltyard_stats.mean import cell_means, mean_interval, mean_intervals, stratified_mean
from tiltyard_stats.mean_diff import stratified_mean_diff
from tiltyard_stats.multiple import holm
from tiltyard_stats.pareto import Frontier, FrontierProbability, pareto, pareto_probability
from tiltyard_stats.per_success import cost_per_success, cost_per_success_ratio
from tiltyard_stats.plan import runs_per_arm
from tiltyard_stats.plan_state import PlanState, ProjectedSpend, plan_state, projected_spend
from tiltyard_stats.proportion import fisher_drop, wilson
from tiltyard_stats.resample import Resamples, bootstrap_weights, exact_bootstrap
from tiltyard_stats.spread import cv, pilot_factor

__all__ = [
    "Allocation",
    "BestReps",
    "Decision",
    "FactorLevel",
    "FactorLevels",
    "Frontier",
    "FrontierProbability",
    "Interval",
    "Intervals",
    "PlanState",
    "ProjectedSpend",
    "Resamples",
    "SampleSize",
    "Spread",
    "TestResult",
    "best_reps",
    "bootstrap_mean",
    "bootstrap_means",
    "bootstrap_weights",
    "cell_means",
    "cost_per_success",
    "cost_per_success_delta",
    "cost_per_success_ratio",
    "cost_ratio",
    "cost_ratio_stratified",
    "cost_ratio_test",
    "cost_ratio_totals",
    "cost_ratios",
    "cv",
    "design_variance",
    "exact_bootstrap",
    "factor_levels",
    "fisher_drop",
    "holm",
    "mean_interval",
    "mean_intervals",
    "neyman",
    "paired_bootstrap_delta",
    "pareto",
    "pareto_probability",
    "pilot_factor",
    "plan_state",
    "projected_spend",
    "runs_per_arm",
    "stratified_mean",
    "stratified_mean_diff",
    "token_verdict",
    "wilson",
]
