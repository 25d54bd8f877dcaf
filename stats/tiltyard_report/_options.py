"""What a reader may choose: the design, the confidence, and methods other than the calibrated defaults."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tiltyard_report.quality_model import Design
from tiltyard_specs.errors import UsageError
from tiltyard_stats.cost import CostMethod
from tiltyard_stats.cost_questions import QuestionsMethod
from tiltyard_stats.fixed_cases import FixedMethod

DESIGNS: tuple[Design, ...] = get_args(Design)
DEFAULT = "default"
SOURCE = "source"
_OVER_QUESTIONS = get_args(QuestionsMethod)
_ONE_QUESTION = get_args(CostMethod)
_RATES = get_args(FixedMethod)
_POOLED_Z = "pooled-z"
_PAIRED = "paired-bootstrap"
_LEAST, _MOST = 0.5, 0.999
"""Levels of confidence: below is a coin's, and above the tails of the methods are not what they say."""


@dataclass(frozen=True, slots=True)
class Methods:
    """The formula of each statistic."""

    name: str = DEFAULT
    cost: QuestionsMethod = "log-t"
    one_cost: CostMethod = "log-t"
    """Of a comparison on one question."""
    one_question_only: bool = False
    """Whether the cost method has no form for several questions."""
    rate: FixedMethod = "auto"
    repeats: Literal["t", "source"] = "t"
    normal_means: bool = False
    """Whether means pool all runs and take a normal interval."""
    pooled_z: bool = False
    normal_plan: bool = False
    paired_deltas: bool = False
    """Whether differences a run are of paired repetitions, with a bootstrap's interval."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to analyse."""

    confidence: float = 0.95
    design: Design = "curated"
    methods: Methods = Methods()
    pass_k: tuple[int, ...] = (1, 3)
    minimum_trials: int = 5
    threshold: float = 0.05

    @property
    def alpha(self) -> float:
        return 1 - self.confidence


def options(
    *,
    confidence: float,
    design: str,
    method: str,
    pass_k: Sequence[int],
    minimum_trials: int,
    regression_threshold: float,
) -> Options:
    """Check the choices.

    Raises:
        UsageError: One is not allowed.
    """
    if not _LEAST <= confidence <= _MOST:
        raise UsageError(f"confidence is {confidence}, it must be from {_LEAST} to {_MOST}, such as 0.95.")
    known = next((name for name in DESIGNS if name == design), None)
    if known is None:
        raise UsageError(f"design is {design!r}, it must be one of {', '.join(DESIGNS)}.")
    if not pass_k or any(k < 1 for k in pass_k):
        raise UsageError(f"pass-k is {list(pass_k)}, it must be whole numbers of at least 1, such as 1,3.")
    if minimum_trials < 1:
        raise UsageError(f"minimum-trials is {minimum_trials}, it must be at least 1.")
    if not 0 <= regression_threshold < 1:
        raise UsageError(
            f"regression-threshold is {regression_threshold}, it must be a change of the pass rate "
            "from 0 up to 1, such as 0.05."
        )
    ks = tuple(sorted(set(pass_k)))
    return Options(confidence, known, _methods(method), ks, minimum_trials, regression_threshold)


def _methods(name: str) -> Methods:
    if name == DEFAULT:
        return Methods()
    if name == SOURCE:
        return Methods(
            name, "source-report", "source-report", rate="source", repeats="source", normal_means=True,
            pooled_z=True, normal_plan=True, paired_deltas=True,
        )  # fmt: skip
    if name == _POOLED_Z:
        return Methods(name, pooled_z=True)
    if name == _PAIRED:
        return Methods(name, paired_deltas=True)
    rate = next((each for each in _RATES if each == name), None)
    if rate is not None:
        return Methods(name, rate=rate)
    several = next((each for each in _OVER_QUESTIONS if each == name), None)
    one = next((each for each in _ONE_QUESTION if each == name), None)
    if several is not None or one is not None:
        return Methods(
            name, cost=several or "log-t", one_cost=one or "log-t", one_question_only=several is None
        )
    names = sorted({SOURCE, _POOLED_Z, _PAIRED, *_RATES, *_OVER_QUESTIONS, *_ONE_QUESTION} - {"auto"})
    raise UsageError(f"method is {name!r}, it must be one of {', '.join(names)}.")
