"""Whether each solution can solve its question: a broken key is found here before money is spent on it."""

from pathlib import Path

from tiltyard_specs.answer_key import SlowPatternError, score_answer
from tiltyard_specs.draft import Draft
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.questions import Question
from tiltyard_specs.record import Score
from tiltyard_specs.scalars import shown
from tiltyard_specs.solutions import is_patch

MAX_ANSWER_BYTES = 1024 * 1024
"""The oracle's answer is read no further than any agent's."""
_SHOWN_PATTERNS = 3


def check_solutions(draft: Draft) -> None:
    """A question with verify is solved by a patch; one without, by a text that satisfies its key."""
    for i, question in draft.items("questions", Question):
        # Of a question in which something else is wrong, the sound part says nothing about its solution.
        broken = any(known[:2] == ("questions", i) for known in draft.found)
        if question.solution is None or broken:
            continue
        _check(draft, ("questions", i, "solution"), question, draft.folder / question.solution)


def _check(draft: Draft, path: KeyPath, question: Question, file: Path) -> None:
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_ANSWER_BYTES + 1)
    except OSError as error:
        draft.report(path, f'the file "{question.solution}" cannot be read: {error.strerror}')
        return
    if is_patch(content) != (question.verify is not None):
        draft.report(path, *_wrong_form(question))
    elif question.verify is None and len(content) > MAX_ANSWER_BYTES:
        draft.report(path, f'"{question.solution}" is longer than an answer can be, {MAX_ANSWER_BYTES} bytes')
    elif question.verify is None:
        _check_key(draft, path, question, content.decode("utf-8", "replace").strip())


def _wrong_form(question: Question) -> tuple[str, str]:
    if question.verify is None:
        message = f'"{question.solution}" is a patch, but the question has no verify command to try it by'
        return message, "give the text of the right answer, or add verify"
    message = f'"{question.solution}" is not a patch, and the question is decided by verify'
    return message, "give a patch as git diff writes it"


def _check_key(draft: Draft, path: KeyPath, question: Question, answer: str) -> None:
    try:
        score = score_answer(answer or None, question.expect, question.forbid, question.min_recall)
    except SlowPatternError as error:
        draft.report(path, f"the key cannot be tried on the solution: {str(error).rstrip('.')}")
        return
    if not score.correct:
        message = f"the right answer does not satisfy the question's own key: {_why(score)}"
        draft.report(path, message, "correct the key or the solution")


def _why(score: Score) -> str:
    parts = []
    if score.missing:
        parts.append(f"{_listed(score.missing)} of expect not found")
    if score.forbidden:
        parts.append(f"{_listed(score.forbidden)} of forbid found")
    return ", ".join(parts)


def _listed(patterns: tuple[str, ...]) -> str:
    more = len(patterns) - _SHOWN_PATTERNS
    names = ", ".join(_quoted(pattern) for pattern in patterns[:_SHOWN_PATTERNS])
    return names + (f" and {more} more" if more > 0 else "")


def _quoted(pattern: str) -> str:
    # As a YAML file has it: shown() would double each backslash.
    return f"'{pattern}'" if pattern.isprintable() and "'" not in pattern else shown(pattern)
