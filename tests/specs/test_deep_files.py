"""Files that are nested without measure end in a sentence, whatever they are written in."""

from collections.abc import Callable

import pytest

from tiltyard_specs.problems import SpecError
from tiltyard_specs.source import MAX_DEPTH
from tiltyard_specs.toml_source import read_toml
from tiltyard_specs.yaml_source import read_yaml

SENTENCE = "is nested more than 64 levels deep"


def lists(depth: int) -> str:
    """Lists in lists around a number which, with the key before them, is this deep."""
    return "[" * (depth - 1) + "1" + "]" * (depth - 1)


@pytest.mark.parametrize("depth", [65, 300, 5_000])
@pytest.mark.parametrize(
    "text",
    [
        lambda depth: f"a: {lists(depth)}\n",
        lambda depth: "".join(f"{' ' * n}k:\n" for n in range(depth)),
        lambda depth: '{"a":' * depth + "1" + "}" * depth,
        lambda depth: "? " * depth + "x",
    ],
)
def test_deep_yaml_is_told(text: Callable[[int], str], depth: int) -> None:
    with pytest.raises(SpecError, match=rf"^f.yaml:\d+: {SENTENCE}$"):
        read_yaml("f.yaml", text(depth))


def test_aliases_that_make_it_deep_are_told() -> None:
    """Each anchor holds the one before, so that nothing in the text itself is deep."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 100))]

    with pytest.raises(SpecError, match=rf"^f.yaml:\d+: {SENTENCE}$"):
        read_yaml("f.yaml", "\n".join(lines))


@pytest.mark.parametrize("depth", [65, 300, 5_000])
@pytest.mark.parametrize(
    "text",
    [
        lambda depth: f"a = {lists(depth)}\n",
        lambda depth: ".".join("k" * depth) + " = 1\n",
        lambda depth: f"[{'.'.join('k' * depth)}]\n",
    ],
)
def test_deep_toml_is_told(text: Callable[[int], str], depth: int) -> None:
    with pytest.raises(SpecError, match=f"^f.toml: {SENTENCE}$"):
        read_toml("f.toml", text(depth))


def test_what_is_deep_enough_for_anybody_is_read() -> None:
    for data in (
        read_yaml("f.yaml", f"a: {lists(MAX_DEPTH)}").data,
        read_toml("f.toml", f"a = {lists(MAX_DEPTH)}").data,
    ):
        value, depth = data["a"], 1
        while value != 1:
            value, depth = value[0], depth + 1
        assert depth == MAX_DEPTH
