"""The questions under audit: the oracle and nop are no competitors, they show whether a question is sound."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tiltyard_report import _format as fmt
from tiltyard_report._run import NOP, ORACLE, Run
from tiltyard_report.audit_model import AuditCount, AuditRow


def audit(questions: Sequence[str], runs: Sequence[Run]) -> tuple[AuditRow, ...]:
    """One row per question that the oracle or nop was asked."""
    by_question: dict[str, list[Run]] = {question: [] for question in questions}
    for run in runs:
        by_question[run.question].append(run)
    return tuple(_row(question, own) for question, own in by_question.items())


def headline(rows: Sequence[AuditRow]) -> str:
    """What a trial shows in which no agent competes."""
    unsound = [row.question for row in rows if row.findings]
    if not unsound:
        return (
            f"The audit found nothing wrong with {fmt.plural(len(rows), 'question')}. "
            "No agent competed, so there is nothing to compare."
        )
    return (
        f"The audit did not clear {len(unsound)} of {fmt.plural(len(rows), 'question')} "
        f"({fmt.listed(unsound)}). No agent competed, so there is nothing to compare."
    )


def alert(rows: Sequence[AuditRow]) -> Iterable[str]:
    """A pass rate on an unsound question means little, so the reader learns of it first."""
    unsound = [row.question for row in rows if row.findings]
    if unsound:
        which = f"{fmt.plural(len(unsound), 'question')} not cleared ({fmt.listed(unsound)})"
        yield f"AUDIT: {which}: see the question audit before you read a pass rate."


def _row(question: str, runs: Sequence[Run]) -> AuditRow:
    oracle = [run for run in runs if run.kind == ORACLE]
    nop = [run for run in runs if run.kind == NOP]
    return AuditRow(
        question=question,
        oracle=_count(oracle),
        nop=_count(nop),
        findings=(*_oracle(question, oracle), *_nop(question, nop)),
    )


def _count(runs: Sequence[Run]) -> AuditCount | None:
    if not runs:
        return None
    counted = [run for run in runs if run.counted]
    return AuditCount(sum(run.passed for run in counted), len(counted), len(runs) - len(counted))


def _oracle(question: str, runs: Sequence[Run]) -> Iterable[str]:
    count = _count(runs)
    if count is None:
        return
    if not count.n:
        yield _unknown(ORACLE, question, runs)
    elif not count.passed:
        yield f"oracle failed {question}: the reference solution does not pass{_because(runs)}."
    elif count.passed < count.n:
        yield (
            f"oracle passed {question} in only {count.passed} of {count.n} runs: "
            f"the reference solution does not always pass{_because(runs)}."
        )


def _nop(question: str, runs: Sequence[Run]) -> Iterable[str]:
    count = _count(runs)
    if count is None:
        return
    if not count.n:
        yield _unknown(NOP, question, runs)
    elif count.passed == count.n:
        yield f"nop passed {question}: doing nothing is enough, so the question proves nothing."
    elif count.passed:
        yield (
            f"nop passed {question} in {count.passed} of {count.n} runs: "
            "doing nothing is sometimes enough, so a pass proves little."
        )


def _unknown(kind: str, question: str, runs: Sequence[Run]) -> str:
    lost = "its only run was lost" if len(runs) == 1 else f"all its {len(runs)} runs were lost"
    return f"{kind} says nothing about {question}: {lost}{_because(runs)}."


def _because(runs: Sequence[Run]) -> str:
    reason = fmt.most_frequent(Counter(run.reason for run in runs if run.reason and not run.passed))
    return f" ({reason})" if reason else ""
