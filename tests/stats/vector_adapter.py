"""Maps the function names of the reference vectors to the public functions.

`call(function, inputs)` returns what a vector expects, under its keys; an error vector raises.
Later work extends TABLE.
"""

import math
from collections.abc import Callable
from typing import Any

import tiltyard_stats as stats
from tiltyard_stats.decide import NO_DIFFERENCE, NO_VERDICT

Result = dict[str, Any]
_TEXTS = {
    "beyond-margin": "estimate is beyond the margin; more runs would not settle it as a pass",
    "few-runs": "fewer than 4 runs on one side",
    "few-successes": "fewer than 5 successes",
    "no-successes": "no successes",
}


def call(function: str, inputs: Result) -> Result:
    """Run a vector's function on its inputs; options that it names are those of the public function."""
    given = {name: _number(value) for name, value in inputs.items()}
    only = ONLY_ALTERNATIVE.get(function)
    if only is not None and given.pop("alternative", only) != only:
        raise ValueError(f"alternative ({inputs['alternative']!r}) must be {only!r} for {function}.")
    return TABLE[function](**given)


def _number(value: Any) -> Any:
    """JSON has no NaN and no infinity; the vectors write them as text."""
    if isinstance(value, list):
        return [_number(item) for item in value]
    return float(value) if isinstance(value, str) and value in {"nan", "inf", "-inf"} else value


def _interval(result: stats.Interval) -> Result:
    return {
        "estimate": result.estimate,
        "low": result.low,
        "high": result.high,
        "df": result.df,
        "warnings": list(result.warnings),
    }


def _given(statistic: Callable[..., stats.Interval], **fixed: Any) -> Callable[..., Result]:
    """An interval function whose arguments are named as in the vectors."""
    return lambda **inputs: _interval(statistic(**fixed | inputs))


def _tested(test: Callable[..., stats.TestResult]) -> Callable[..., Result]:
    return lambda **inputs: _test(test(**inputs))


def _test(result: stats.TestResult) -> Result:
    return {
        "statistic": result.statistic,
        "pvalue": result.pvalue,
        "df": result.df,
        "warnings": list(result.warnings),
    }


def _mcnemar(method: Any) -> Callable[..., Result]:
    def run(only_a: int, only_b: int) -> Result:
        result = stats.mcnemar(only_a, only_b, method=method)
        return _test(result) | {"n_discordant": result.n}

    return run


def _paired_diff_t(plus: int, minus: int, zero: int, confidence: float = 0.95) -> Result:
    unbounded = (-math.inf, math.inf)
    result = stats.paired_diff_t(plus, minus, zero, confidence=confidence, bounds=unbounded)
    return _interval(result) | {"standard_error": result.standard_error}


def _repeats(by_case: Callable[..., Any]) -> Callable[..., Result]:
    return lambda n, c, k: {"value": float(by_case(c, n, k))}


def _fixed_cases_mean(method: str = "wilson-neff", **inputs: Any) -> Result:
    name: Any = {"normal": "source"}.get(method, method)
    result = stats.fixed_cases(**inputs, method=name)
    return _interval(result) | {"n_eff": result.n_eff, "variance": result.variance}


def _stratified_test(candidate: Any, candidate_runs: Any, baseline: Any, baseline_runs: Any) -> Result:
    result = stats.stratified_test(candidate, candidate_runs, baseline, baseline_runs)
    return {
        "estimate": result.statistic,
        "cmh_statistic": result.cmh_statistic,
        "cmh_pvalue": result.cmh_pvalue,
        "p_drop": result.p_drop,
        "p_rise": result.p_rise,
        "p_two_sided": result.pvalue,
        "midp_drop": result.midp_drop,
        "midp_rise": result.midp_rise,
        "midp_two_sided": result.midp_two_sided,
        "warnings": list(result.warnings),
    }


def _shock(test: Callable[..., stats.ShockTest]) -> Callable[..., Result]:
    def run(run_passes: list[list[int]]) -> Result:
        result = test(run_passes)
        return _test(result) | {"ratio": result.ratio}

    return run


def _welch(a: list[float], b: list[float], confidence: float = 0.95) -> Result:
    result = stats.welch(a, b, confidence=confidence)
    return _interval(result) | {
        "statistic": result.statistic,
        "pvalue": result.pvalue,
        "standard_error": result.standard_error,
    }


def _cluster_mean(**inputs: Any) -> Result:
    result = stats.clustered(**inputs)
    count = result.df + 1
    return _interval(result) | {
        "standard_error_cr1": result.standard_error,
        "standard_error_cr0": result.standard_error * math.sqrt((count - 1) / count),
    }


def _icc(scores: list[list[float]]) -> Result:
    result = stats.variance_components(scores)
    return {
        "between": result.between,
        "within": result.within,
        "icc": result.icc,
        "warnings": list(result.warnings),
    }


def _design_effect(icc: float, runs: int) -> Result:
    result = stats.design_effect(icc, runs)
    return {"deff": result.deff, "effective_attempts_per_case": result.effective_attempts}


def _size(method: Any) -> Callable[..., Result]:
    def run(**inputs: Any) -> Result:
        result = stats.runs_per_arm(**{"method": method} | inputs)
        return {"exact": result.exact, "runs": result.runs, "warnings": list(result.warnings)}

    return run


def _cv(values: list[float]) -> Result:
    result = stats.cv([values])
    return {"cv": result.cv, "warnings": list(result.warnings)}


def _adjusted(adjust: Callable[..., Any]) -> Callable[..., Result]:
    return lambda pvalues: {"adjusted": adjust(pvalues).tolist()}


def _tost(test: Callable[..., stats.Equivalence]) -> Callable[..., Result]:
    def run(**inputs: Any) -> Result:
        result = test(**inputs)
        return _fields(result, "estimate", "pvalue", "p_lower", "p_upper", "df", "claim")

    return run


def _fields(result: Any, *names: str) -> Result:
    return {name: getattr(result, name) for name in names} | {"warnings": list(result.warnings)}


def _non_inferiority(margin: float, **inputs: float) -> Result:
    result = stats.non_inferiority(stats.t_interval(**inputs), margin)
    return _fields(result, "estimate", "low", "high", "decision")


def _runs_to_settle(**inputs: Any) -> Result:
    result = stats.runs_to_settle(**inputs)
    return {"runs": result.runs, "exact": result.exact, "reason": _TEXTS.get(result.reason, result.reason)}


def _lan_demets(**inputs: Any) -> Result:
    result = stats.lan_demets(**inputs)
    return {"bounds": list(result.bounds), "spent": list(result.spent)}


def _discordant(alternative: str = "drop", **inputs: Any) -> Result:
    name = {"less": "drop", "greater": "rise"}.get(alternative, alternative)
    return {"evalue": stats.discordant_evalue(**inputs, alternative=name)}


def _kappa(statistic: Callable[..., stats.Interval]) -> Callable[..., Result]:
    def run(**inputs: Any) -> Result:
        result = statistic(**inputs)
        return _interval(result) | {"kappa": result.estimate, "standard_error": result.standard_error}

    return run


def _judge_rates(**inputs: Any) -> Result:
    result = stats.judge_rates(**inputs)
    rates = {name: getattr(result, name) for name in ("accuracy", "strictness", "leniency", "kappa")}
    bounds = {f"{name}_ci": [rate.low, rate.high] for name, rate in rates.items()}
    codes = [code for rate in rates.values() for code in rate.warnings]
    return {name: rate.estimate for name, rate in rates.items()} | bounds | {"warnings": codes}


def _judge_consistency(verdicts: list[list[Any]]) -> Result:
    result = stats.judge_consistency(verdicts)
    return {
        "flip_rate": result.flip_rate.estimate,
        "mean_pairwise_disagreement": result.disagreement.estimate,
        "warnings": [*result.flip_rate.warnings, *result.disagreement.warnings],
    }


def _verdict(
    estimate: float, low: float | None, high: float | None, n_old: int, n_new: int, tolerance: float = 0.1
) -> Result:
    low, high = (math.nan if bound is None else bound for bound in (low, high))
    ratio = stats.Interval(estimate, low, high, 0.95, "given", 0, "these questions")
    result = stats.token_verdict(ratio, n_arm=n_new, n_baseline=n_old, tolerance=tolerance)
    same = result.verdict in {NO_DIFFERENCE, NO_VERDICT}
    return {
        "verdict": "same" if same else result.verdict,
        "warnings": [_TEXTS.get(code, code) for code in result.warnings],
    }


def _bootstrap(statistic: Callable[..., stats.Interval], samples: list[str]) -> Callable[..., Result]:
    def run(confidence: float = 0.95, method: str = "percentile", **others: Any) -> Result:
        data = [others.pop(name) for name in samples]
        options = {"resamples" if name == "n_resamples" else name: value for name, value in others.items()}
        if "seed" in options:
            options["rng"] = options.pop("seed")
        kind = method.removeprefix("bootstrap-")
        return _interval(statistic(*data, confidence=confidence, method=kind, **options))

    return run


def _cost_per_success(
    costs: list[float], successes: list[float], confidence: float = 0.95, method: Any = "log-t"
) -> Result:
    result = stats.cost_per_success(costs, successes, confidence=confidence, method=method)
    texts = [_TEXTS.get(code, code) for code in result.warnings]
    return _interval(result) | {"claim": result.claim, "warnings": texts}


def _neyman(sd: list[float], cost: list[float], budget: float) -> Result:
    result = stats.neyman(sd, cost, budget)
    return {"n": list(result.exact), "runs": list(result.runs), "warnings": list(result.warnings)}


def _pareto(points: list[list[float | None]], maximize: list[bool]) -> Result:
    result = stats.pareto(points, maximize)
    count = len(result.left_out)
    text = f"{count} point{'' if count == 1 else 's'} left out: missing value"
    return {"frontier": list(result.frontier), "warnings": [text] if count else []}


TABLE: dict[str, Callable[..., Result]] = {
    "wilson": _given(stats.wilson),
    "fisher_drop": _tested(stats.fisher_drop),
    "runs_per_arm": _size("normal"),
    "runs_per_arm_t": _size("t"),
    "cv": _cv,
    "holm": _adjusted(stats.holm),
    "bonferroni": _adjusted(stats.bonferroni),
    "benjamini_hochberg": _adjusted(stats.benjamini_hochberg),
    "tost_paired": _tost(stats.tost_paired),
    "tost_welch": _tost(stats.tost_welch),
    "non_inferiority": _non_inferiority,
    "mde": lambda **inputs: {"mde": stats.mde(**inputs)},
    "runs_to_settle": _runs_to_settle,
    "lan_demets": _lan_demets,
    "t_evalue": lambda **inputs: {"evalue": stats.t_evalue(**inputs)},
    "discordant_evalue": _discordant,
    "beta_binomial_cs": _given(stats.beta_binomial_cs),
    "cohen_kappa": _kappa(stats.cohen_kappa),
    "fleiss_kappa": _kappa(stats.fleiss_kappa),
    "judge_rates": _judge_rates,
    "judge_consistency": _judge_consistency,
    "cost_ratio_logt": _given(stats.cost_ratio),
    "cost_ratio_geometric": _given(stats.cost_ratio, method="geometric"),
    "cost_ratio_bootstrap": _bootstrap(stats.cost_ratio, ["arm", "baseline"]),
    "bootstrap_mean": _bootstrap(stats.bootstrap_mean, ["values"]),
    "cost_per_success": _cost_per_success,
    "neyman": _neyman,
    "pareto": _pareto,
    "runs_t": _given(stats.runs_t),
    "regression_verdict": _verdict,
    "clopper_pearson": _given(stats.clopper_pearson),
    "jeffreys": _given(stats.jeffreys),
    "newcombe_diff": _given(stats.newcombe_diff),
    "two_proportion_z": _tested(stats.two_proportion_z),
    "boschloo_drop": _tested(stats.boschloo_drop),
    "mcnemar_exact": _mcnemar("mcnemar-exact"),
    "mcnemar_midp": _mcnemar("mcnemar-mid-p"),
    "paired_diff_t": _paired_diff_t,
    "pass_at_k": _repeats(stats.pass_at_k_by_case),
    "pass_hat_k": _repeats(stats.pass_hat_k_by_case),
    "fixed_cases_mean": _fixed_cases_mean,
    "stratified_test": _stratified_test,
    "shock_test": _shock(stats.shock_test),
    "shock_test_exact": _shock(stats.shock_test_exact),
    "welch": _welch,
    "cluster_mean": _cluster_mean,
    "icc": _icc,
    "design_effect": _design_effect,
}

ONLY_ALTERNATIVE = {
    "fisher_drop": "less",
    "boschloo_drop": "less",
    "two_proportion_z": "two-sided",
    "mcnemar_exact": "two-sided",
    "mcnemar_midp": "two-sided",
    "welch": "two-sided",
    "stratified_test": "two-sided",
}
"""Tests that have one alternative; a vector may name it."""


def matches(actual: Any, expected: Any, tolerance: float) -> bool:
    """Whether a value is what a vector expects, number by number."""
    expected = _number(expected)
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(
            matches(left, right, tolerance) for left, right in zip(actual, expected, strict=True)
        )
    if isinstance(expected, bool | str) or expected is None:
        return bool(actual == expected)
    if math.isnan(expected):
        return math.isnan(actual)
    return bool(actual == expected or abs(actual - expected) <= tolerance)
