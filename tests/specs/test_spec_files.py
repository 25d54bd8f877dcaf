"""Text that is no spec, files that cannot be read, and links that lead out of the spec's folder."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_specs import SpecError, load_trial

Sentences = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "trial.yaml: is empty"),
        ("conversations: [{turns: [{text: hi}]}]\n", "trial.yaml: is a model script, not a trial spec; pass it with --model-script"),
        ("- 1\n", "trial.yaml: expected keys and values, such as name: my-trial"),
        ("name: [\n", "trial.yaml:2: not valid YAML: expected the node content, but found '<stream end>' (while parsing a flow node)"),
        ("name: x\n\tarms: 1\n", "trial.yaml:2: not valid YAML: found character '\\t' that cannot start any token (while scanning for the next token); indent with spaces"),
        ("a: {p: What?, q: 1}\n", "trial.yaml:1: not valid YAML: expected ',' or '}', but got '?' (while parsing a flow mapping); put text with a question mark in quotes here"),
        ("a: b: c\n", "trial.yaml:1: not valid YAML: mapping values are not allowed here; put text with a colon in quotes"),
        ("a: &a [*a]\n", "trial.yaml:1: a[0]: a YAML alias contains itself"),
        ("name: x\n---\nname: y\n", "trial.yaml:2: not valid YAML: but found another document (expected a single document in the stream)"),
    ],
)  # fmt: skip
def test_text_that_is_no_spec(sentences: Sentences, text: str, sentence: str) -> None:
    assert sentences(text=text)[0] == sentence


def test_aliases_cannot_blow_up_the_reader(sentences: Sentences) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    assert "too many YAML nodes: are aliases nested?" in sentences(text="\n".join(lines))[0]


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(b"name: \xff\n")
    (tmp_path / "notes.txt").write_text("name: x\n")
    expected = {
        "none.yaml": "none.yaml: no such file",
        ".": ".: is a folder; give the spec file in it",
        "bytes.yaml": "bytes.yaml: is not UTF-8 text (byte 6)",
        "notes.txt": "notes.txt: a spec is a .yaml, .yml, .json or .toml file",
    }
    for name, sentence in expected.items():
        with pytest.raises(SpecError) as caught:
            load_trial(name)
        assert str(caught.value) == sentence


@pytest.mark.parametrize("place", ["overlay", "inner", "hidden"])
def test_a_symbolic_link_must_not_lead_out_of_the_folder(
    sentences: Sentences, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, place: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("x")
    (tmp_path / "real").mkdir()
    targets = {
        "overlay": ("link", outside),
        "inner": ("real/link", outside / "secret"),
        "hidden": ("h", outside / "secret"),
    }
    name, target = targets[place]
    (tmp_path / name).symlink_to(target)
    if place == "hidden":
        change = ("    expect: [it]", "    verify: v\n    hidden: {t.py: h}")
    else:
        change = ("name: docs", f"name: docs\n    overlay: {name.split('/')[0]}")

    (found,) = sentences(change)

    assert found.endswith(f'"{name}" leads out of the spec\'s folder through a symbolic link')


def test_a_link_that_stays_inside_is_fine(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert load_trial(write(("name: docs", "name: docs\n    overlay: link"))).arm("docs").overlay == "link"
