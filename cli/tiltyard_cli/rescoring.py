"""Scores stored answers again with the answer keys of a spec: no agent is called and nothing is changed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltyard_specs.outcomes import Outcome

if TYPE_CHECKING:
    from tiltyard_specs import Trial
    from tiltyard_specs.questions import Question
    from tiltyard_specs.record import RunRecord, Score

_BY_KEY = frozenset({Outcome.PASSED, Outcome.FAILED})


@dataclass(frozen=True, slots=True)
class Rescored:
    """One record, and what it is by the keys of the spec."""

    before: "RunRecord"
    after: "RunRecord"

    @property
    def changed(self) -> bool:
        """Whether the run ends otherwise."""
        return self.before.outcome is not self.after.outcome


def rescore(records: Iterable["RunRecord"], trial: "Trial") -> tuple[list[Rescored], Counter[str]]:
    """Score every answer that a key decided.

    Args:
        records: Of settled runs.
        trial: The spec with its keys.

    Returns:
        All records, and how many the keys do not decide, by the reason.
    """
    questions = {question.id: question for question in trial.spec.questions}
    left: Counter[str] = Counter()
    done = []
    for record in records:
        question = questions.get(record.question)
        why = _undecided(record, question)
        if why is not None or question is None:
            left[why or ""] += 1
            done.append(Rescored(record, record))
        else:
            done.append(Rescored(record, _again(record, question)))
    return done, left


def lines(done: Sequence[Rescored], left: Counter[str], limit: int = 40) -> Iterable[str]:
    """What a user reads."""
    scored = len(done) - left.total()
    changed = [item for item in done if item.changed]
    answers = "1 answer was" if scored == 1 else f"{scored} answers were"
    ends = "1 run ends" if len(changed) == 1 else f"{len(changed)} runs end"
    yield f"{answers} scored again, {ends} otherwise; no file was changed."
    for why, count in sorted(left.items()):
        yield f"{'1 run stays as it is' if count == 1 else f'{count} runs stay as they are'}: {why}."
    for item in changed[:limit]:
        run = item.before
        where = f"{run.question} {run.arm} {run.agent} #{run.rep}"
        reason = f" ({item.after.reason})" if item.after.reason else ""
        yield f"  {where}: {run.outcome.value} -> {item.after.outcome.value}{reason}"
    if len(changed) > limit:
        yield f"  and {len(changed) - limit} more"
    for arm, before, after, total in _arms(done):
        yield f"{arm}: {before} of {total} passed before, {after} now"


def _arms(done: Sequence[Rescored]) -> Iterable[tuple[str, int, int, int]]:
    for arm in dict.fromkeys(item.before.arm for item in done):
        counted = [item for item in done if item.before.arm == arm and item.before.outcome.counted]
        before = sum(item.before.outcome.passed for item in counted)
        after = sum(item.after.outcome.passed for item in counted)
        yield arm, before, after, len(counted)


def _undecided(record: "RunRecord", question: "Question | None") -> str | None:
    if question is None:
        return "the spec has no such question"
    if record.verify is not None:
        return "a verify command decided"
    if record.outcome not in _BY_KEY or record.answer is None:
        return "no answer was scored"
    if not question.expect and not question.forbid:
        return "the question has no answer key now"
    return None


def _again(record: "RunRecord", question: "Question") -> "RunRecord":
    from tiltyard_specs.answer_key import SlowPatternError, score_answer  # noqa: PLC0415
    from tiltyard_specs.claim import without_claims  # noqa: PLC0415

    # The key does not see what an agent says of its own checks.
    answer = without_claims(record.answer or "") if record.claim is not None else record.answer
    try:
        score = score_answer(answer, question.expect, question.forbid, question.min_recall)
    except SlowPatternError as error:
        unscored = {"outcome": Outcome.NO_ANSWER, "reason": f"the answer could not be scored: {error}"}
        return record.model_copy(update={**unscored, "score": None})
    outcome = Outcome.PASSED if score.correct else Outcome.FAILED
    return record.model_copy(update={"score": score, "outcome": outcome, "reason": _reason(score)})


def _reason(score: "Score") -> str | None:
    if score.correct:
        return None
    if score.forbidden:
        return "the answer holds what is forbidden: " + ", ".join(score.forbidden)
    return "the answer lacks: " + ", ".join(score.missing)
