"""Folder names: safe everywhere, readable, and never shared by two names."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard_specs.slug import fold, slug


@pytest.mark.parametrize("name", ["plain", "codex@gpt-a@low", "gpt-5.1", "fix_range", "0", "a--b", "_x"])
def test_a_safe_name_is_its_own_folder(name: str) -> None:
    assert slug(name) == name


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("Plain", "plain--0"),
        ("with docs", "with-docs--0"),
        ("a/b", "a-b--0"),
        ("..", "x--0"),
        (".git", "git--0"),
        ("con", "con--0"),
        ("aux.txt", "aux.txt--0"),
        ("a+b", "a-b--0"),
        ("trailing.", "trailing--0"),
        ("-rf", "rf--0"),
        ("Überprüfung", "uberprufung--0"),
        ("日本", "x--0"),
        ("plain--0123456789", "plain-0123456789--0"),
        ("x" * 81, "x" * 60 + "--0"),
    ],
)
def test_an_unsafe_name_gets_a_readable_stem_and_a_hash(name: str, folder: str) -> None:
    assert slug(name)[:-12] == folder.removesuffix("--0")
    assert re.fullmatch(r".*--[0-9a-f]{10}", slug(name))


def test_the_hash_is_that_of_the_name() -> None:
    # Golden: a change here would lose the finished runs of every trial with such a name.
    assert slug("Plain") == "plain--8b854ade2c"


def test_an_empty_name_has_no_folder() -> None:
    with pytest.raises(ValueError, match="an empty name has no folder"):
        slug("")


_NAMES = st.text(min_size=1, max_size=100) | st.from_regex(r"\A[a-zA-Z .+/-]{1,6}(--[0-9a-f]{10})?\Z")


@given(_NAMES)
def test_a_folder_is_safe_on_every_file_system(name: str) -> None:
    folder = slug(name)

    assert re.fullmatch(r"[a-z0-9_@][a-z0-9._@-]*", folder)
    assert len(folder) <= 80
    assert not folder.endswith(".")
    assert folder.split(".")[0] not in {"con", "prn", "aux", "nul", "com1", "lpt1"}
    assert slug(folder) == folder or re.fullmatch(r".*--[0-9a-f]{10}", folder)


@given(_NAMES, _NAMES)
def test_different_names_never_share_a_folder(left: str, right: str) -> None:
    assert (slug(left) == slug(right)) == (left == right)


@given(_NAMES)
def test_a_name_never_takes_the_folder_that_another_got(name: str) -> None:
    if slug(name) != name:
        assert slug(slug(name)) != slug(name)


@pytest.mark.parametrize(
    ("left", "right", "alike"),
    [
        ("Docs", "docs", True),
        ("my docs", "my/docs", True),
        (unicodedata.normalize("NFD", "é"), "é", True),
        ("a_b", "a-b", False),
        ("日本", "中国", False),
    ],
)
def test_names_too_alike_fold_to_the_same(left: str, right: str, alike: bool) -> None:
    assert (fold(left) == fold(right)) == alike
