"""TOML specs: the same problems, with lines."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard_specs.toml_source import read_toml

SOUND = """\
name = "small"
[[arms]]
name = "plain"
[[arms]] # a comment with [brackets]
name = "docs"
[[agents]]
name = "claude"
model = "sonnet"
[[questions]]
id = "q1"
prompt = \"\"\"
What = "it"?
[not.a.table]\"\"\"
expect = [
  'it',  # with ] and '
  "that",
]
"""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('name = "docs"', 'name = "docs"\nsetupp = 1'), "trial.toml:6: arms[1].setupp: unknown key"),
        (('  "that",', '  "(",'), "trial.toml:16: questions[0].expect[1]: not a valid regular expression"),
        (('model = "sonnet"', "model = 1979-05-27"), "trial.toml:8: agents[0].model: expected text, got 1979-05-27"),
        (("[[questions]]", "[limits]\ncpus = 0\n[[questions]]"), "trial.toml:10: limits.cpus: must be at least 0.01, got 0"),
        (("[[questions]]", "[gateway.upstream]\n[[questions]]"), "trial.toml:9: gateway.upstream: unknown key"),
        (("[[arms]] #", '"x y" = 1\n[[arms]] #'), 'trial.toml:4: arms[0]["x y"]: unknown key'),
        (('name = "docs"', "name = 'docs'\n[arms.env]\nA-B = 'x'"), "trial.toml:7: arms[1].env.A-B: "),
        (('name = "small"', 'name = "small"\nlimits.cpus = "x"'), "trial.toml:2: limits.cpus: expected a number, got"),
        (('name = "small"', 'name = "small"\ngateway = { upstreams = { x = "" } }'), "trial.toml:2: gateway.upstreams.x: "),
        (('name = "docs"', 'name = "docs"\nname = "twice"'), "trial.toml:6: not valid TOML: cannot overwrite a value"),
        (('name = "docs"', "name = "), "trial.toml:5: not valid TOML: invalid value"),
    ],
)  # fmt: skip
def test_problems_in_toml_have_their_lines(
    sentences: Callable[..., list[str]], change: tuple[str, str], sentence: str
) -> None:
    assert sentences(change, text=SOUND, name="trial.toml")[0].startswith(sentence)


def test_windows_line_ends_keep_their_lines(tmp_path: Path) -> None:
    text = SOUND.replace("\n", "\r\n")

    assert read_toml("f", text).lines == read_toml("f", SOUND).lines
    assert tmp_path.exists()


_KEYS = st.text("ab.\"' #[]=é", min_size=1, max_size=5)
_LEAVES = st.one_of(
    st.integers(), st.booleans(), st.text("ab\"'\\#[]{},=\n\té", max_size=8), st.floats(allow_nan=False)
)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


def _quoted(text: str) -> str:
    marks = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(marks.get(c, c) for c in text) + '"'


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[ # a ] comment\n" + ",\n".join(map(_toml, value)) + "\n]" if value else "[]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return repr(value)


def _paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {path} if path else set()
    for key, item in pairs:
        found |= _paths(item, (*path, key))
    return found


@pytest.mark.slow
@given(st.dictionaries(_KEYS, _TREES, max_size=4))
def test_every_key_of_any_document_is_found(document: dict[str, object]) -> None:
    text = "\n".join(f"{_quoted(key)} = {_toml(value)}" for key, value in document.items())

    source = read_toml("f", text)

    assert source.data == tomllib.loads(text) == document
    assert set(source.lines) == _paths(document)
