"""`tiltyard report` on a real terminal: as wide as it is, nothing cut, nothing obeyed."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import ModuleType

import pytest

from tiltyard_cli.site_source import load_site
from tiltyard_cluster import open_result
from tiltyard_report import render_markdown

pytestmark = pytest.mark.slow
TILTYARD = str(Path(sys.executable).with_name("tiltyard"))
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(folder: Path, columns: int) -> str:
    """What the command shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [TILTYARD, "report", str(folder)]
    environ = os.environ | {"TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        assert process.wait(120) == 0
    os.close(ours)
    return shown.decode()


def _read(terminal: int) -> bytes:
    """Whatever is there; nothing at the end, which a terminal tells as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.fixture(scope="module")
def folder(sample: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up result, one run of which a terminal would obey."""
    folder = tmp_path_factory.mktemp("terminal") / "results"
    sample.write_sample(folder, 2, 4)
    record = next(folder.glob("runs/*/docs/claude/1/run.json"))
    text = record.read_text().replace('"reason": null', '"reason": "x\\u001b[2J\\u0007"')
    record.write_text(text.replace('"outcome": "passed"', '"outcome": "failed"'))
    return folder


@pytest.mark.parametrize("columns", [60, 120])
def test_the_whole_report_is_shown(folder: Path, columns: int) -> None:
    """Coloured, within the width, and with every number and word that the Markdown has."""
    shown = on_terminal(folder, columns)
    plain = _COLOUR.sub("", shown)
    name = str(folder)
    markdown = render_markdown(load_site(name, open_result(name), None, None).report)

    assert "\x1b[1m" in shown
    assert max(map(len, plain.splitlines())) <= columns
    assert "…" not in plain
    letters, wanted = (re.sub(r"[^\w.%$]", "", text) for text in (plain, markdown))
    if columns == 120:
        assert letters == wanted
    assert sorted(letters) == sorted(wanted)


def test_nothing_is_obeyed(folder: Path) -> None:
    """What a record holds is shown: but for colours and line ends there is no control character."""
    plain = _COLOUR.sub("", on_terminal(folder, 100))

    assert r"x\x1b[2J\x07" in plain
    assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]", plain)
