"""Nothing that the command prints holds a key, whoever it quotes: sentences, usage errors, tracebacks."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cli import main as front
from tiltyard_cli.masked import masked, masked_output, remember
from tiltyard_cli.progress import LiveProgress
from tiltyard_cluster import Note

MINE = "my-own-words-as-a-key-42"
# In two parts, so that no scanner takes it for a key.
SHAPED = "gh" + "p_abcdefghijklmnopqrst0123456789"


@pytest.mark.parametrize("debug", [False, True])
def test_an_error_that_nobody_expected(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, debug: bool
) -> None:
    """With TILTYARD_DEBUG the traceback is there, its causes and notes included, and masked."""

    def fail(*_: object, **__: object) -> None:
        remember([MINE])
        error = ValueError(f"bad {MINE}")
        error.add_note(f"and {MINE[:12]}")
        raise error from KeyError(SHAPED)

    monkeypatch.setattr(front, "app", fail)
    monkeypatch.setenv("TILTYARD_DEBUG", "1" if debug else "")
    with pytest.raises(SystemExit) as caught:
        front.main([])

    err = capfd.readouterr().err
    assert caught.value.code == 69
    assert ("Traceback" in err, "KeyError" in err) == (debug, debug)
    assert "bad [redacted]" in err
    assert MINE[:12] not in err
    assert SHAPED not in err


def test_a_traceback_of_a_thread(capfd: pytest.CaptureFixture[str]) -> None:
    """Python prints it past every handler of ours."""
    with masked_output():
        remember([MINE])
        # As Python does it, and not as pytest, which wants to know of it.
        threading.__excepthook__(threading.ExceptHookArgs((ValueError, ValueError(MINE), None, None)))
    assert "ValueError: [redacted]" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (("reps: 1", f"reps: {MINE}"), "defaults.reps"),
        (("name: docs", f"name: docs\n    {MINE}: 1"), "arms[1]"),
        (("name: docs", f"name: docs\n    overlay: {MINE}"), "arms[1].overlay"),
        (("- {id: sum", f"- {{repo: {MINE}, id: sum"), "questions[0].repo"),
        (("reps: 1", f"timeout: {'x' * 40}{MINE}"), "defaults.timeout"),
    ],
)
def test_problems_of_a_spec_that_quote_a_key(
    tiltyard: Callable[..., Any], spec: Callable[..., Path], change: tuple[str, str], where: str
) -> None:
    """The spec is wrong, and names the variable all the same; quotes are cut as well."""
    keys = ("defaults:", "gateway: {keys_from: {anthropic: MY_KEY}}\ndefaults:")
    done = tiltyard("check", spec(keys, change).name, MY_KEY=MINE)

    assert done.code == 65
    assert f"{where}" in done.err
    assert MINE[:10] not in done.out + done.err
    assert "[redacted]" in done.err


def test_a_warning_that_quotes_a_key(tiltyard: Callable[..., Any], spec: Callable[..., Path]) -> None:
    path = spec(
        ("defaults:", "gateway: {keys_from: {anthropic: MY_KEY}}\nbudget: {tokens: 10}\ndefaults:"),
        ('kind: text, command: "echo 4"', "kind: claude, model: some-model"),
    )
    done = tiltyard("run", path.name, "--dry-run", MY_KEY="some-model-and-more")

    assert 'the model "[redacted]" has no price' in done.err


def test_a_command_line_that_holds_a_key(tiltyard: Callable[..., Any]) -> None:
    done = tiltyard("run", SHAPED, "--nonsense", "--out", SHAPED)

    assert done.code == 64
    assert SHAPED not in done.out + done.err


def test_a_line_is_masked_before_it_is_wrapped(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """A terminal is narrow, and half a key is known no more."""
    monkeypatch.setenv("COLUMNS", "40")
    with masked_output():
        remember([MINE])
        with LiveProgress() as shown:
            shown(Note(f"{'word ' * 6}{MINE} {SHAPED}"))
    err = capfd.readouterr().err.replace("\n", "")
    assert MINE[:10] not in err
    assert SHAPED[:10] not in err
    assert "[redacted]" in err


def test_what_is_no_key_comes_through(capfd: pytest.CaptureFixture[str]) -> None:
    """Streams are themselves in all else, and themselves again afterwards."""
    out = sys.stdout
    with masked_output():
        assert sys.stdout.fileno() == out.fileno()
        assert sys.stdout.encoding == out.encoding
        sys.stdout.writelines(["sk-placebo-0123456789abcdef ", "é ", "sk-learn-contrib\n"])
    assert sys.stdout is out
    assert capfd.readouterr().out == "sk-placebo-0123456789abcdef é sk-learn-contrib\n"
    assert masked(MINE) == MINE, "forgotten with the block"
    assert os.environ.get("MY_KEY") is None
