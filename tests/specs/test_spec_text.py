"""Characters that neither a command line nor a file can carry, wherever they stand."""

from collections.abc import Callable

import pytest

Sentences = Callable[..., list[str]]
NUL = "holds a NUL character, which no command line can carry; remove it"
HALF = "holds half of a surrogate pair, which is no character"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("name: small", r'name: "sm\0all"', "1: name"),
        ("What is it?", r'"What\0"', "9: questions[0].prompt"),
        ("[it]", r'["i\0t"]', "10: questions[0].expect[0]"),
        ("name: docs", r'{name: docs, setup: ["a\0"]}', "4: arms[1].setup[0]"),
        ("name: docs", r'{name: docs, factors: {"a\0": b}}', "4: arms[1].factors"),
    ],
)
def test_a_nul_character_is_found_anywhere(sentences: Sentences, old: str, new: str, place: str) -> None:
    assert sentences((old, new)) == [f"trial.yaml:{place}: {NUL}"]


def test_toml_can_hold_one_too(sentences: Sentences) -> None:
    text = r"""
        name = "small"
        arms = [{name = "plain"}]
        agents = [{name = "nop"}]
        questions = [{id = "q", prompt = "a\u0000b", expect = ["x"]}]
    """
    assert sentences(text=text, name="trial.toml") == [f"trial.toml:5: questions[0].prompt: {NUL}"]


@pytest.mark.parametrize("new", [r'{name: docs, env: {A: "\ud800"}}', r'{name: docs, env: {"A\udfff": x}}'])
def test_half_a_character_is_found_and_can_be_printed(sentences: Sentences, new: str) -> None:
    found = sentences(("name: docs", new))

    assert found[0].startswith("trial.yaml:4: arms[1].env")
    assert HALF in found[0]
    assert "\n".join(found).encode()


def test_all_else_is_still_checked(sentences: Sentences) -> None:
    found = sentences(("name: small", 'name: "a\\0"\nzebra: 1'), ("What is it?", r'"\ud800 What"'))

    assert [line.split(": ")[1] for line in found] == ["name", "zebra", "questions[0].prompt"]
