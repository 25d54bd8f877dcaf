"""Tries the graders of a trial before money is spent on it: no model is called.

A verify command that passes an untouched tree, fails the right answer, or changes its mind makes every
number of the trial worthless, and no amount of repetitions shows it.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tiltyard_cluster.layout import run_key
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.stopper import Stopper
from tiltyard_cluster.trial import run_trial
from tiltyard_cluster.trial_result import TrialResult
from tiltyard_cluster.words import one_line
from tiltyard_specs import Agent, AgentVariant, Arm, ExitCode, Question, RunRecord, Trial
from tiltyard_specs.errors import InterruptedTrialError
from tiltyard_specs.receipt import Selection
from tiltyard_specs.variants import expand

ORACLE, NOP = "oracle", "nop"
_OVERRIDES = (set(Arm.model_fields) & set(AgentVariant.model_fields)) - {"name", "env"}
"""What an arm may change about an agent: it would make another of the oracle."""
_TAIL = 4096
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Tries:
    """How often one of the two agents was graded on a question, and how that went."""

    graded: int = 0
    passed: int = 0
    lost: int = 0
    """Runs that came to no verdict: a failed setup, an engine that broke."""
    failure: str = ""
    """Why the first that did not pass did not."""
    loss: str = ""
    """Why the first without a verdict has none."""

    @property
    def flaky(self) -> bool:
        """Whether the grader gave both verdicts on the same thing."""
        return 0 < self.passed < self.graded

    def __str__(self) -> str:
        """For people: `passed 2 of 3`."""
        return f"passed {self.passed} of {self.graded}"


@dataclass(frozen=True, slots=True)
class QuestionAudit:
    """What is known of one question's grader."""

    question: str
    oracle: Tries | None
    """None without a solution."""
    nop: Tries

    @property
    def code(self) -> ExitCode:
        """0: good. 1: the question is bad. 2: its grader is flaky, or too little is known."""
        if self._bad():
            return ExitCode.FAIL
        return ExitCode.INCONCLUSIVE if self._unsure() else ExitCode.OK

    def __str__(self) -> str:
        """One line for people."""
        verdict = "; ".join([*self._bad(), *self._unsure()])
        if self.oracle is None:
            return f"{self.question}: nop {self.nop}: {verdict}"
        return f"{self.question}: the oracle {self.oracle}, nop {self.nop}: {verdict or 'good'}"

    def _bad(self) -> list[str]:
        found = []
        if self.nop.graded and self.nop.passed == self.nop.graded:
            found.append("nop passed: the question proves nothing")
        if self.oracle is not None and self.oracle.graded and not self.oracle.passed:
            found.append(f"the reference solution does not pass: {self.oracle.failure}")
        return found

    def _unsure(self) -> list[str]:
        named = [(name, tries) for name, tries in (("the oracle", self.oracle), ("nop", self.nop)) if tries]
        found = [
            f"the grader disagrees with itself: {tries.passed} of {tries.graded}"
            for _, tries in named
            if tries.flaky
        ]
        found += [
            f"no verdict on {name} {tries.lost} of {tries.lost + tries.graded}: {tries.loss}"
            for name, tries in named
            if tries.lost
        ]
        return found if self.oracle is not None else [*found, "no solution: only nop was tried"]


def can_be_tried(question: Question) -> bool:
    """Whether there is anything to try; a key alone, without the right answer, is not."""
    return question.verify is not None or question.solution is not None


def audit_graders(
    trial: Trial, regrades: int = 3, options: RunOptions | None = None, stopper: Stopper | None = None
) -> tuple[QuestionAudit, ...]:
    """Try each question in the baseline arm: the oracle should pass, nop should fail, every time.

    Args:
        trial: A right trial, after `select`.
        regrades: How often each of the two is graded.
        options: What listens, and the environment.
        stopper: Through which a user's interrupt comes.

    Returns:
        One audit for each question that can be tried, in the order of the spec.

    Raises:
        UnavailableError: No engine, or something that it cannot give.
        DataError: A repo that cannot be read.
        InterruptedTrialError: The user stopped it.
    """
    questions = [question for question in trial.spec.questions if can_be_tried(question)]
    solved = [question for question in questions if question.solution is not None]
    unsolved = [question for question in questions if question.solution is None]
    options, stopper = options or RunOptions(), stopper or Stopper()
    tries: dict[tuple[str, str], Tries] = {}
    for part, agents in ((solved, (ORACLE, NOP)), (unsolved, (NOP,))):
        if part:
            tries |= _try(_derived(trial, part, agents, regrades), options, stopper)
    return tuple(_audit(question, tries) for question in questions)


def _audit(question: Question, tries: dict[tuple[str, str], Tries]) -> QuestionAudit:
    oracle = None if question.solution is None else tries.get((question.id, ORACLE), Tries())
    return QuestionAudit(question.id, oracle, tries.get((question.id, NOP), Tries()))


def _derived(trial: Trial, questions: Sequence[Question], names: Iterable[str], reps: int) -> Trial:
    """The trial of these questions alone, by the agents that need no model, in the baseline arm."""
    spec = trial.spec
    # Both may edit: one image serves them, and it is the one that an agent with edits gets.
    agents = tuple(Agent(name=name, edits=True) for name in names)
    narrowed = spec.model_copy(
        update={
            "arms": (_without_overrides(trial.baseline),),
            "agents": agents,
            "questions": tuple(questions),
            "capabilities": (),
            "budget": None,
            "defaults": spec.defaults.model_copy(update={"reps": reps, "baseline": None}),
        }
    )
    variants = tuple(variant for agent in agents for variant in expand(agent))
    return replace(trial, spec=narrowed, whole=narrowed, agents=variants, selection=Selection())


def _without_overrides(arm: Arm) -> Arm:
    return arm.model_copy(update={name: Arm.model_fields[name].get_default() for name in _OVERRIDES})


def _try(trial: Trial, options: RunOptions, stopper: Stopper) -> dict[tuple[str, str], Tries]:
    with tempfile.TemporaryDirectory(prefix="tiltyard-grade-") as folder:
        result = run_trial(trial, folder, options, stopper)
        if result.interrupted:
            raise InterruptedTrialError("interrupted: the graders were not tried to the end; nothing is kept")
        tries: dict[tuple[str, str], Tries] = {}
        for record in result.records:
            cell = (record.question, record.agent)
            tries[cell] = _counted(tries.get(cell, Tries()), record, result)
    return tries


def _counted(tries: Tries, record: RunRecord, result: TrialResult) -> Tries:
    if not record.outcome.counted:
        return replace(tries, lost=tries.lost + 1, loss=tries.loss or f"{record.outcome}: {record.reason}")
    if record.outcome.passed:
        return replace(tries, graded=tries.graded + 1, passed=tries.passed + 1)
    failure = tries.failure or ": ".join(_why(record, Path(str(result.out))))
    return replace(tries, graded=tries.graded + 1, failure=failure)


def _why(record: RunRecord, out: Path) -> Iterator[str]:
    yield record.reason or str(record.outcome)
    log = out / run_key(record) / "verify.log"
    if record.verify is not None and log.is_file():
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            lines = file.read().decode(errors="replace").split("\n")
        said = [line for line in lines if line.strip()]
        yield from (one_line(line, _LONGEST) for line in said[-1:])
