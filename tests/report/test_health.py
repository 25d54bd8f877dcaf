"""When a trial is not fit to be read, the report says so first."""

from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import analyse, render_markdown


def ends(make: ModuleType, *outcomes: str, **changes: Any) -> list[dict[str, Any]]:
    """Runs of one cell that end so."""
    return [
        make.record("a", "plain", "codex", rep, outcome=outcome, **changes)
        for rep, outcome in enumerate(outcomes, 1)
    ]


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        (["infra", "infra"], "All 2 runs were lost (2 infra: no engine): there is nothing to compare."),
        (["infra"], "The only run was lost (1 infra: no engine): there is nothing to compare."),
        (
            ["infra", "setup_failed", "infra"],
            "All 3 runs were lost (2 infra, 1 setup_failed; most often: no engine)",
        ),
        (["cancelled", "cancelled"], "All 2 runs were lost (2 cancelled: no engine)"),
    ],
)
def test_nothing_worked(make: ModuleType, outcomes: list[str], sentence: str) -> None:
    """The headline names the cause and the way on; there is no empty table of pass rates."""
    report = analyse(ends(make, *outcomes, reason=" no\nengine. "))
    text = render_markdown(report)

    assert report.headline.startswith(sentence)
    assert report.headline.endswith("again with --retry-failed.")
    assert text.startswith("# UNHEALTHY: Trial\n")
    assert "0/0" not in text
    assert "## With" not in text
    assert report.do_not_claim == ("Anything: no run counts.",)


def test_nothing_worked_yet(make: ModuleType) -> None:
    """An unfinished trial may still get somewhere."""
    report = analyse(ends(make, "infra", "infra", reason=None), receipt={"runs_expected": 4})

    assert report.headline.startswith("All 2 runs so far were lost (2 infra): there is nothing to compare.")
    assert render_markdown(report).startswith("# PARTIAL, UNHEALTHY: Trial\n")


@pytest.mark.parametrize(("lost", "healthy"), [(1, True), (2, False)])
def test_share_of_lost_runs(make: ModuleType, lost: int, *, healthy: bool) -> None:
    """One of 20 is 5%, which is allowed; two are not."""
    report = analyse(ends(make, *["infra"] * lost, *["passed"] * (20 - lost), reason="overloaded"))
    alerts = [alert for alert in report.alerts if alert.startswith("UNHEALTHY")]

    assert report.healthy is healthy
    if healthy:
        assert alerts == []
    else:
        (alert,) = alerts
        assert alert == (
            "UNHEALTHY: 2 of 20 runs (10%) were lost (2 infra: overloaded), more than the 5% that a trial "
            "may lose. Do them again with --retry-failed."
        )
        assert report.headline.endswith("Do not build on it: the trial is UNHEALTHY.")


def test_cancelled_runs_are_nobodys_fault(make: ModuleType) -> None:
    """Whoever stops a trial knows it."""
    assert analyse(ends(make, "passed", "cancelled", "cancelled")).healthy


def test_an_agent_that_never_answers(make: ModuleType) -> None:
    """It is named with its most frequent reason; one answer is enough to clear it."""
    silent = ends(make, "no_answer", "no_answer", "infra", reason="crash: no config")
    alerts = analyse(silent).alerts

    assert any(
        alert.startswith("WARNING: codex gave no answer in all 2 runs (most often: crash: no config)")
        for alert in alerts
    )
    silent[0]["outcome"] = "failed"
    assert not any(alert.startswith("WARNING") for alert in analyse(silent).alerts)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ((127, 127), "WARNING: the verify command of a could not run in all 2 runs (exit code 127: command"),
        ((126,), "WARNING: the verify command of a could not run in its only run (exit code 126: cannot be"),
        ((126, 127), "(exit code 126: cannot be executed or 127: command not found)"),
        ((127, 1), None),
        ((127, None), None),
        ((1, 1), None),
    ],
)
def test_a_verify_command_that_cannot_run(
    make: ModuleType, codes: tuple[int | None, ...], said: str | None
) -> None:
    """It fails every agent alike, so its question says nothing."""
    records = ends(make, *["failed"] * len(codes))
    for record, code in zip(records, codes, strict=True):
        record["verify"] = {"command": "x", "exit_code": code, "passed": False, "seconds": 1.0}
    warnings = [alert for alert in analyse(records).alerts if alert.startswith("WARNING")]

    assert (said is None and warnings == []) or (said is not None and said in warnings[0])
