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
_TEXTS = {"few-runs": "fewer than 4 runs on one side"}


def call(function: str, inputs: Result) -> Result:
    """Run a vector's function on its inputs."""
    return TABLE[function](**{name: _number(value) for name, value in inputs.items()})


def _number(value: Any) -> Any:
    """JSON has no NaN and no infinity; the vectors write them as text."""
    if isinstance(value, list):
        return [_number(item) for item in value]
    return float(value) if value in {"nan", "inf", "-inf"} else value


def _interval(result: stats.Interval) -> Result:
    return {
        "estimate": result.estimate,
        "low": result.low,
        "high": result.high,
        "df": result.df,
        "warnings": list(result.warnings),
    }


def _wilson(successes: int, n: int, confidence: float) -> Result:
    return _interval(stats.wilson(successes, n, confidence=confidence))


def _fisher_drop(old_successes: int, old_n: int, new_successes: int, new_n: int) -> Result:
    return {"pvalue": stats.fisher_drop(old_successes, old_n, new_successes, new_n).pvalue}


def _size(method: Any) -> Callable[..., Result]:
    def run(cv: float, effect: float, power: float, alpha: float) -> Result:
        result = stats.runs_per_arm(cv, effect, power=power, alpha=alpha, method=method)
        return {"exact": result.exact, "runs": result.runs, "warnings": list(result.warnings)}

    return run


def _cv(values: list[float]) -> Result:
    result = stats.cv([values])
    return {"cv": result.cv, "warnings": list(result.warnings)}


def _holm(pvalues: list[float]) -> Result:
    return {"adjusted": stats.holm(pvalues).tolist()}


def _cost_ratio(arm: list[float], baseline: list[float], confidence: float) -> Result:
    return _interval(stats.cost_ratio(arm, baseline, confidence=confidence))


def _runs_t(run_means: list[float], confidence: float, bounds: list[float]) -> Result:
    return _interval(stats.mean_interval(run_means, confidence=confidence, bounds=(bounds[0], bounds[1])))


def _verdict(estimate: float, low: float, high: float, n_old: int, n_new: int, tolerance: float) -> Result:
    ratio = stats.Interval(estimate, low, high, 0.95, "given", n_old + n_new, "these questions")
    result = stats.token_verdict(ratio, n_arm=n_new, n_baseline=n_old, tolerance=tolerance)
    same = result.verdict in {NO_DIFFERENCE, NO_VERDICT}
    return {
        "verdict": "same" if same else result.verdict,
        "warnings": [_TEXTS.get(code, code) for code in result.warnings],
    }


TABLE: dict[str, Callable[..., Result]] = {
    "wilson": _wilson,
    "fisher_drop": _fisher_drop,
    "runs_per_arm": _size("normal"),
    "runs_per_arm_t": _size("t"),
    "cv": _cv,
    "holm": _holm,
    "cost_ratio_logt": _cost_ratio,
    "runs_t": _runs_t,
    "regression_verdict": _verdict,
}


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
