"""A small sound spec, and a way to write variations of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_specs import SpecError, load_trial

SOUND = """\
name: small
arms:
  - name: plain
  - name: docs
agents:
  - {name: claude, model: sonnet}
questions:
  - id: q1
    prompt: What is it?
    expect: [it]
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a spec into an otherwise empty folder; pairs of texts are replaced in the sound one."""

    def _write(*changes: tuple[str, str], text: str = SOUND, name: str = "trial.yaml") -> Path:
        for old, new in changes:
            assert old in text, f"{old!r} is not in the spec"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return _write


@pytest.fixture
def sentences(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., list[str]]:
    """What a user reads who loads a spec with these changes: one line per problem."""

    def _sentences(*changes: tuple[str, str], **options: str) -> list[str]:
        path = write(*changes, **options)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SpecError) as caught:
            load_trial(path.name)
        assert caught.value.exit_code == 65
        return str(caught.value).split("\n")

    return _sentences
