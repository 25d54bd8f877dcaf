"""Lost runs are counted by arm, and tested: an arm that loses its hard runs looks better than it is."""

from types import ModuleType
from typing import Any

import pytest
from scipy.stats import fisher_exact

from tiltyard_report import analyse
from tiltyard_report.model import Report


def _report(make: ModuleType, **arms: tuple[int, int]) -> Report:
    """Arms with so many lost runs of so many."""
    records: list[Any] = []
    for arm, (lost, total) in arms.items():
        records += [
            make.record("q", arm, "codex", rep, outcome="infra" if rep <= lost else "passed", reason="529")
            for rep in range(1, total + 1)
        ]
    return analyse(records, baseline="plain")


def test_an_arm_that_lost_more_than_chance_explains(make: ModuleType) -> None:
    report = _report(make, plain=(0, 20), docs=(8, 20))
    pvalue = fisher_exact([[0, 20], [8, 12]]).pvalue
    (line,) = [line for line in report.alerts if "by arm" in line]

    assert line == (
        "WARNING: lost runs (infra, unmetered) by arm: docs 8 of 20, plain 0 of 20 "
        f"(Fisher's exact test, p={pvalue:.3f}): docs lost more than chance explains, "
        "so the runs that are left may not be a fair sample of it."
    )


def test_a_loss_that_chance_explains_is_a_note(make: ModuleType) -> None:
    report = _report(make, plain=(0, 20), docs=(1, 20))

    assert not any("by arm" in line for line in report.alerts)
    assert (
        "Lost runs (infra, unmetered) by arm: docs 1 of 20, plain 0 of 20 "
        "(Fisher's exact test, p=1.000): no sign that the arm has to do with it."
    ) in report.notes


@pytest.mark.parametrize("lost", [0, 3])
def test_arms_that_lost_alike_need_no_word(make: ModuleType, lost: int) -> None:
    report = _report(make, plain=(lost, 20), docs=(lost, 20))

    assert not any("by arm" in line for line in (*report.alerts, *report.notes))


def test_among_many_arms_one_must_stand_out_further(make: ModuleType) -> None:
    """The worst of six is compared with the rest: the chance that some arm is the worst counts six times."""
    two = _report(make, plain=(0, 12), a=(4, 12))
    six = _report(make, plain=(0, 12), a=(4, 12), b=(1, 12), c=(1, 12), d=(2, 12), e=(1, 12))

    assert any("by arm" in line for line in (*two.alerts, *two.notes))
    assert not any("by arm" in line for line in six.alerts)


def test_excluded_runs_are_out_of_the_pass_rate_and_counted(make: ModuleType) -> None:
    report = _report(make, plain=(0, 20), docs=(8, 20))
    rows = {row.arm: row for row in report.agents[0].arms}

    assert (rows["docs"].correct.successes, rows["docs"].correct.n, rows["docs"].excluded) == (12, 12, 8)
