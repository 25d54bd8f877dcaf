"""Keys: everything that goes into a layer counts, and nothing else does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard_images import ArmContent, Image, TreeFile
from tiltyard_images.context import dockerfile_dir
from tiltyard_images.keys import key_of, mapping_digest, tree_digest
from tiltyard_images.recipes import arm_key
from tiltyard_images.say import Throttled
from tiltyard_specs.errors import DataError, UnavailableError

PARENT = Image("base", "tiltyard/base:0", "sha256:1", "k" * 64, None, None, built=False)


def test_parts_are_framed() -> None:
    assert key_of("ab", "c") != key_of("a", "bc") != key_of("abc")
    assert (
        mapping_digest({"a": "1", "b": "2"})
        == mapping_digest({"b": "2", "a": "1"})
        != mapping_digest({"a": "2", "b": "1"})
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("text")
    (tmp_path / "link").symlink_to("folder")
    return tmp_path


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda tree: (tree / "folder" / "file").write_text("other"),
    "name": lambda tree: (tree / "folder" / "file").rename(tree / "folder" / "renamed"),
    "executable": lambda tree: (tree / "folder" / "file").chmod(0o755),
    "link": lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("elsewhere")),
    "empty folder": lambda tree: (tree / "more").mkdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_overlay_changes_its_digest(tree: Path, change: str) -> None:
    before = tree_digest(tree)
    CHANGES[change](tree)

    assert tree_digest(tree) != before


def test_times_and_other_modes_do_not_count(tree: Path) -> None:
    before = tree_digest(tree)
    (tree / "folder" / "file").chmod(0o600)
    (tree / "folder" / "file").touch()

    assert tree_digest(tree) == before


def test_a_pipe_in_an_overlay_is_refused_and_not_read(tree: Path) -> None:
    __import__("os").mkfifo(tree / "pipe")

    with pytest.raises(DataError, match="neither a file, a directory nor a link"):
        tree_digest(tree)


@pytest.mark.parametrize(
    "change",
    [
        {"setup": ("b",)},
        {"prepare": ("a",), "setup": ()},
        {"env": {"A": "2"}},
        {"files": (TreeFile("/x", b"2"),)},
        {"files": (TreeFile("/x", b"1", 0o755),)},
        {"writable": False},
        {"history": "full"},
    ],
)
def test_all_that_makes_an_arm_is_in_its_key(change: dict[str, object]) -> None:
    content = ArmContent(setup=("a",), env={"A": "1"}, files=(TreeFile("/x", b"1"),))

    assert arm_key(PARENT, content) == arm_key(PARENT, replace(content))
    assert arm_key(PARENT, content) != arm_key(PARENT, replace(content, **change))


def test_an_arm_depends_on_its_parents_key_and_not_on_its_id() -> None:
    content = ArmContent(setup=("a",))

    assert arm_key(PARENT, content) == arm_key(replace(PARENT, id="sha256:2"), content)
    assert arm_key(PARENT, content) != arm_key(replace(PARENT, key="l" * 64), content)


def test_a_dockerfile_that_does_not_exist_is_named() -> None:
    assert (dockerfile_dir("base") / "gitconfig").is_file()
    with pytest.raises(UnavailableError, match="no Dockerfile named 'nonsense'"):
        dockerfile_dir("nonsense")


def test_progress_is_at_most_one_line_a_second() -> None:
    lines: list[str] = []
    times = iter([0.0, 0.5, 1.2, 1.4, 2.5])
    say = Throttled(lines.append, "x", lambda: next(times))
    for text in ("a", "\x1b[31mred\x1b[0m", "c", "old\rd"):
        say(text)

    assert lines == ["x: red", "x: d"]
