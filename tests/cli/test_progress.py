"""Progress: what a log gets line by line, and what a terminal shows and gives back."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cli.progress import PlainProgress, Tally
from tiltyard_cluster import AttemptEnded, Note, Planned, RunStarted, Spent
from tiltyard_cluster.words import one_line
from tiltyard_specs import Outcome, RunRecord, Usage
from tiltyard_specs.record import Spend

TILTYARD = str(Path(sys.executable).with_name("tiltyard"))


def record(
    outcome: Outcome = Outcome.PASSED, *, arm: str = "plain", usd: float | None = 0.5, **more: Any
) -> RunRecord:
    usage = Usage(input=1000, output=200)
    facts = {
        "run_id": "x", "trial": "t", "question": "q", "arm": arm, "agent": "a", "rep": 1, "attempt": 1,
        "outcome": outcome, "usage": usage, "metered": Spend(usage=usage, cost_usd=usd, calls=1),
        "seconds": 2.04, "started_at": "", "node": "",
    }  # fmt: skip
    return RunRecord.model_validate(facts | more)


def told(*events: Any) -> list[str]:
    out = io.StringIO()
    with PlainProgress(out) as progress:
        for event in events:
            progress(event)
    return out.getvalue().splitlines()


def test_each_event_is_a_line() -> None:
    started = RunStarted("x", "q plain a #1", 1)
    lines = told(
        Note("building"),
        Planned(3, (record(),)),
        started,
        started,
        AttemptEnded(record(Outcome.INFRA, reason="the engine\nwas  gone"), final=False),
        AttemptEnded(record(Outcome.FAILED, usd=0.25), final=True),
    )

    assert lines[:2] == ["building", "3 runs, 1 of them done already"]
    assert lines[2] == (
        "[1/3 done, 1 running, 1 left, 1,200 tokens, $0.50] "
        "q plain a #1: infra, 2.0 s, 1,200 tokens (the engine was gone); tried again"
    )
    assert lines[3].startswith("[2/3 done, 0 running, 1 left, 2,400 tokens, $0.75, about 1 s to go] ")
    assert lines[3].endswith("q plain a #1: failed, 2.0 s, 1,200 tokens")


def test_what_a_note_tells_of_has_no_line_of_its_own() -> None:
    """It counts all the same."""
    ended = AttemptEnded(record(Outcome.SETUP_FAILED), final=True, told=True)
    lines = told(Planned(2, ()), ended, Note("1 of arm a failed"), AttemptEnded(record(), final=True))

    assert lines[1] == "1 of arm a failed"
    assert lines[2].startswith("[2/2 done, ")


def test_the_last_line_promises_no_more_time() -> None:
    started = RunStarted("x", "q plain a #1", 1)
    lines = told(Planned(1, ()), started, AttemptEnded(record(), final=True))

    assert lines[-1].startswith("[1/1 done, 0 running, 0 left, 1,200 tokens, $0.50] ")


def test_an_attempt_that_the_user_broke_off_is_not_tried_again() -> None:
    (_, line) = told(Planned(1, ()), AttemptEnded(record(Outcome.CANCELLED, reason="stopped"), final=False))

    assert line.endswith("q plain a #1: cancelled, 2.0 s, 1,200 tokens (stopped)")


def test_spend_counts_from_the_first_start() -> None:
    """As the budget does; the price of scripted answers is what it would be."""
    planned = Planned(3, (record(),), Spent(usd=0.75, tokens=2000))
    (_, line) = told(planned, AttemptEnded(record(), final=True))
    scripted = Planned(3, (), Spent(usd=0.75, tokens=2000), scripted=True)
    (_, would_be) = told(scripted, AttemptEnded(record(), final=True))

    assert "1 left, 3,200 tokens, $1.25] " in line
    assert "2 left, 3,200 tokens, would be $1.25] " in would_be


def test_a_second_part_counts_on() -> None:
    """Questions without a solution are graded after those with one."""
    tally = Tally()
    for runs in (2, 1):
        tally.plan(Planned(runs, ()))
        for _ in range(runs):
            tally.end(AttemptEnded(record(), final=True))

    assert tally.line().startswith("3/3 done, 0 running, 0 left")


def test_an_unknown_price_is_never_a_sum() -> None:
    tally = Tally()
    tally.end(AttemptEnded(record(usd=None), final=True))
    assert tally.spend() == "1,200 tokens"
    tally.end(AttemptEnded(record(usd=0.5), final=True))
    assert tally.spend() == "2,400 tokens ($0.50 of it priced)"


def test_outcomes_are_told_by_arm() -> None:
    tally = Tally()
    tally.plan(Planned(9, (record(), record(arm="docs"), record(Outcome.TIMEOUT), record())))

    assert tally.arms() == ["docs: 1 passed", "plain: 2 passed, 1 timeout"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n  b\tc ", "a b c"),
        ("x" * 200, "x" * 200),
        ("a" * 150 + "b" * 150, "a" * 97 + " ... " + "b" * 97),
        (
            "see /var/" + "a" * 60 + "/log " + "word " * 40,
            "see /var/" + "a" * 60 + "/log word word word word ... " + "word " * 18 + "word",
        ),
    ],
)
def test_a_log_becomes_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.engine
@pytest.mark.slow
def test_a_terminal_has_a_panel_and_is_given_back(spec: Callable[..., Path]) -> None:
    """The cursor is shown again, the modes are as before, and the panel has gone from the screen."""
    path = spec(("reps: 1", "reps: 3"), ("echo 4", "sleep 0.3; echo 4"))
    outer, inner = pty.openpty()
    before = termios.tcgetattr(inner)
    process = subprocess.Popen(
        [TILTYARD, "run", path.name],
        cwd=path.parent,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
        stdin=inner,
        stdout=inner,
        stderr=inner,
    )
    screen = _read_to_end(outer, process)
    after = termios.tcgetattr(inner)
    os.close(inner)
    os.close(outer)

    assert process.returncode == 0, screen
    assert before == after
    assert screen.rindex("\x1b[?25h") > screen.rindex("\x1b[?25l")
    assert re.search(r"\d/6 done, \d running, \d left, 0 tokens", screen)
    assert re.search(r"docs: \d passed", screen)
    assert "sum plain probe #1: passed" in screen
    closing = screen[screen.rindex("\x1b[?25h") :]
    assert "6 of 6 runs recorded in trial-results: 6 passed" in closing
    assert "left" not in closing


def _read_to_end(terminal: int, process: "subprocess.Popen[bytes]") -> str:
    parts = []
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        if ready:
            parts.append(os.read(terminal, 65536))
        elif process.poll() is not None:
            return b"".join(parts).decode()


@pytest.mark.engine
@pytest.mark.slow
def test_a_terminal_is_given_back_after_an_interrupt(spec: Callable[..., Path]) -> None:
    """Ctrl-C at the terminal, twice."""
    path = spec(("echo 4", "sleep 20; echo 4"))
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [TILTYARD, "run", path.name],
        cwd=path.parent,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
        preexec_fn=_take_terminal,  # noqa: PLW1509  # only so does Ctrl-C at the terminal reach the process
    )
    os.close(inner)
    screen = ""
    for wanted, key in (("1 running", b"\x03"), ("interrupt again to stop now", b"\x03"), ("To go on", b"")):
        screen += _read_until(outer, wanted)
        os.write(outer, key)
    process.wait(30)
    os.close(outer)

    assert process.returncode == 130
    assert screen.rindex("\x1b[?25h") > screen.rindex("\x1b[?25l")
    assert "stopping now" in screen


def _read_until(terminal: int, wanted: str) -> str:
    text = ""
    while wanted not in text:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"{wanted!r} has not come: {text}"
        try:
            text += os.read(terminal, 65536).decode()
        except OSError:
            pytest.fail(f"{wanted!r} has not come before the end: {text}")
    return text


def _take_terminal() -> None:
    import fcntl  # noqa: PLC0415  # in the child, between fork and exec

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
