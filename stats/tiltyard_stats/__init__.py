"""Statistics as pure functions on arrays: every number that a report prints, calibrated and with its claim.

The package knows arrays only: no files, no records, no containers, no global random state. It needs numpy,
and `scipy.special` when a quantile is first asked for.
"""

from tiltyard_stats._result import Decision, Interval, Intervals, SampleSize, Spread, TestResult
from tiltyard_stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from tiltyard_stats.allocate import Allocation, BestReps, best_reps, design_variance, neyman
from tiltyard_stats.bootstrap import bootstrap_mean, bootstrap_means
from tiltyard_stats.boschloo import boschloo_drop
from tiltyard_stats.claims import do_not_claim, estimand
from tiltyard_stats.clustered import clustered, clustered_diff
from tiltyard_stats.comparison import (
    CaseChanges,
    ChangedFactors,
    CommonCases,
    case_changes,
    changed_factors,
    common_cases,
    few_trials,
)
from tiltyard_stats.components import Components, DesignEffect, design_effect, variance_components
from tiltyard_stats.cost import cost_ratio, cost_ratios
from tiltyard_stats.cost_questions import cost_ratio_stratified, cost_ratio_test, cost_ratio_totals
from tiltyard_stats.decide import token_verdict
from tiltyard_stats.delta import cost_per_success_delta, paired_bootstrap_delta
from tiltyard_stats.designs import CLAIMS, Curated, curated, curated_diff
from tiltyard_stats.equivalence import Equivalence, parity, parity_pairs, tost_paired, tost_welch
from tiltyard_stats.factors import FactorLevel, FactorLevels, factor_levels
from tiltyard_stats.fixed_cases import FixedRate, fixed_cases
from tiltyard_stats.fixed_diff import fixed_cases_diff
from tiltyard_stats.gates import (
    Gate,
    GateRule,
    GateSize,
    Outcome,
    SizeRow,
    corrected_confidence,
    gate,
    gate_size,
    max_cost_ratio,
    max_infra,
    max_no_answer,
    max_slice_drop,
    min_rule_rate,
    min_runs,
    no_regression,
    no_rule_regression,
    no_significant_drop,
    visible_drop,
)
from tiltyard_stats.judge import (
    JudgeConsistency,
    JudgeRates,
    Majority,
    confusion,
    judge_consistency,
    judge_rates,
    majority,
)
from tiltyard_stats.judge_correction import rogan_gladen
from tiltyard_stats.mean import cell_means, mean_interval, mean_intervals, stratified_mean
from tiltyard_stats.mean_diff import stratified_mean_diff
from tiltyard_stats.multiple import benjamini_hochberg, bonferroni, e_bh, holm
from tiltyard_stats.noninferiority import (
    NonInferiority,
    Settling,
    mde,
    non_inferiority,
    runs_to_settle,
    t_interval,
)
from tiltyard_stats.paired import mcnemar, paired_diff_t
from tiltyard_stats.pareto import Frontier, FrontierProbability, pareto, pareto_probability
from tiltyard_stats.per_success import cost_per_success, cost_per_success_ratio
from tiltyard_stats.plan import runs_per_arm
from tiltyard_stats.plan_state import PlanState, ProjectedSpend, plan_state, projected_spend
from tiltyard_stats.proportion import clopper_pearson, jeffreys, mid_p, wilson
from tiltyard_stats.regression import Regression, regression_verdict
from tiltyard_stats.repeats import RepeatRate, pass_at_k, pass_at_k_by_case, pass_hat_k, pass_hat_k_by_case
from tiltyard_stats.resample import Resamples, bootstrap_weights, exact_bootstrap
from tiltyard_stats.runs import MeanDifference, runs_t, welch
from tiltyard_stats.sampled import sampled, sampled_diff
from tiltyard_stats.sequential import (
    Boundary,
    CostEvidence,
    EProcess,
    beta_binomial_cs,
    betting_cs,
    conditional_power,
    cost_evalue,
    discordant_evalue,
    lan_demets,
    repeated_interval,
    t_eprocess,
    t_evalue,
)
from tiltyard_stats.shock import ShockTest, shock_test, shock_test_exact
from tiltyard_stats.spread import cv, pilot_factor
from tiltyard_stats.stability import CaseCounts, case_counts, consistency, reliability
from tiltyard_stats.stratified import StratifiedTest, stratified_test
from tiltyard_stats.switch import Candidate, CandidateOutcome, Switch, switch, switch_confidence
from tiltyard_stats.two_proportions import fisher_drop, newcombe_diff, two_proportion_z

__all__ = [
    "CLAIMS",
    "Allocation",
    "BestReps",
    "Boundary",
    "Candidate",
    "CandidateOutcome",
    "CaseChanges",
    "CaseCounts",
    "ChangedFactors",
    "CommonCases",
    "Components",
    "CostEvidence",
    "Curated",
    "Decision",
    "DesignEffect",
    "EProcess",
    "Equivalence",
    "FactorLevel",
    "FactorLevels",
    "FixedRate",
    "Frontier",
    "FrontierProbability",
    "Gate",
    "GateRule",
    "GateSize",
    "Interval",
    "Intervals",
    "JudgeConsistency",
    "JudgeRates",
    "Majority",
    "MeanDifference",
    "NonInferiority",
    "Outcome",
    "PlanState",
    "ProjectedSpend",
    "Regression",
    "RepeatRate",
    "Resamples",
    "SampleSize",
    "Settling",
    "ShockTest",
    "SizeRow",
    "Spread",
    "StratifiedTest",
    "Switch",
    "TestResult",
    "benjamini_hochberg",
    "best_reps",
    "beta_binomial_cs",
    "betting_cs",
    "bonferroni",
    "bootstrap_mean",
    "bootstrap_means",
    "bootstrap_weights",
    "boschloo_drop",
    "case_changes",
    "case_counts",
    "cell_means",
    "changed_factors",
    "clopper_pearson",
    "clustered",
    "clustered_diff",
    "cohen_kappa",
    "common_cases",
    "conditional_power",
    "confusion",
    "consistency",
    "corrected_confidence",
    "cost_evalue",
    "cost_per_success",
    "cost_per_success_delta",
    "cost_per_success_ratio",
    "cost_ratio",
    "cost_ratio_stratified",
    "cost_ratio_test",
    "cost_ratio_totals",
    "cost_ratios",
    "curated",
    "curated_diff",
    "cv",
    "design_effect",
    "design_variance",
    "discordant_evalue",
    "do_not_claim",
    "e_bh",
    "estimand",
    "exact_bootstrap",
    "factor_levels",
    "few_trials",
    "fisher_drop",
    "fixed_cases",
    "fixed_cases_diff",
    "fleiss_kappa",
    "gate",
    "gate_size",
    "holm",
    "jeffreys",
    "judge_consistency",
    "judge_rates",
    "krippendorff_alpha",
    "lan_demets",
    "majority",
    "max_cost_ratio",
    "max_infra",
    "max_no_answer",
    "max_slice_drop",
    "mcnemar",
    "mde",
    "mean_interval",
    "mean_intervals",
    "mid_p",
    "min_rule_rate",
    "min_runs",
    "newcombe_diff",
    "neyman",
    "no_regression",
    "no_rule_regression",
    "no_significant_drop",
    "non_inferiority",
    "paired_bootstrap_delta",
    "paired_diff_t",
    "pareto",
    "pareto_probability",
    "parity",
    "parity_pairs",
    "pass_at_k",
    "pass_at_k_by_case",
    "pass_hat_k",
    "pass_hat_k_by_case",
    "pilot_factor",
    "plan_state",
    "projected_spend",
    "regression_verdict",
    "reliability",
    "repeated_interval",
    "rogan_gladen",
    "runs_per_arm",
    "runs_t",
    "runs_to_settle",
    "sampled",
    "sampled_diff",
    "shock_test",
    "shock_test_exact",
    "stratified_mean",
    "stratified_mean_diff",
    "stratified_test",
    "switch",
    "switch_confidence",
    "t_eprocess",
    "t_evalue",
    "t_interval",
    "token_verdict",
    "tost_paired",
    "tost_welch",
    "two_proportion_z",
    "variance_components",
    "visible_drop",
    "welch",
    "wilson",
]
