"""What an agent can see and change in its workspace, asked from inside."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard_images import Checkout, Image, Repos

pytestmark = pytest.mark.engine
Shell = Callable[..., str]

OBJECTS = "git cat-file --batch-all-objects --batch-check='%(objecttype)' | sort | uniq -c | tr -s ' '"
UNREACHABLE = "git fsck --full --unreachable --dangling --no-reflogs 2>&1"


@pytest.fixture(scope="module")
def single(base, recorder, checkout) -> Image:
    return recorder.keep(recorder.builder.workspace(base, checkout, writable=True, history="none"))


@pytest.fixture(scope="module")
def full(base, recorder, checkout) -> Image:
    return recorder.keep(recorder.builder.workspace(base, checkout, writable=False, history="full"))


def test_history_none_is_one_silent_commit_and_no_other_object(single: Image, shell: Shell) -> None:
    assert (
        shell(single, "git log --all --format='%s|%an|%ad|%P' --date=short")
        == "Initial commit|workspace|2000-01-01|"
    )
    assert shell(single, OBJECTS) == "4 blob\n 1 commit\n 2 tree"
    assert shell(single, UNREACHABLE) == ""
    assert shell(single, "git tag; git remote; git reflog; git stash list; git branch --all") == "* main"


def test_history_full_shows_ancestors_and_nothing_later_or_beside(full: Image, origin, shell: Shell) -> None:
    assert shell(full, "git log --all --format=%s") == "second\nfirst"
    assert shell(full, "git rev-parse HEAD") == origin.git("rev-parse", "v2")
    assert shell(full, UNREACHABLE) == ""
    assert shell(full, "git remote; git branch --all") == "* main"
    for later in ("trunk", "side"):
        assert "could not get object info" in shell(
            full, f"git cat-file -t {origin.git('rev-parse', later)} 2>&1; true"
        )


def test_the_tree_is_the_commits_tree_and_clean(single: Image, full: Image, origin, shell: Shell) -> None:
    for image in (single, full):
        assert shell(image, "git rev-parse 'HEAD^{tree}'") == origin.git("rev-parse", "v2^{tree}")
        assert shell(image, "git status --porcelain --ignored; cat a.py docs/x.md") == "print(2)\nx"


def test_a_writable_tree_belongs_to_the_agent(single: Image, shell: Shell) -> None:
    assert shell(single, "find . ! -user agent") == ""
    assert (
        shell(single, "echo more >> a.py; rm -r docs; touch new; git commit -qam mine; git status --short")
        == "?? new"
    )


def test_without_edits_only_the_git_folder_is_writable(full: Image, shell: Shell) -> None:
    tries = ("(echo x >> a.py)", "touch new", "touch docs/new", "rm a.py", "mv .git git2", "chmod 777 .")
    refused = " && ".join(f"! {attempt}" for attempt in tries)

    assert (
        shell(full, f"({refused}) 2>/dev/null && echo refused; touch .git/allowed && echo allowed")
        == "refused\nallowed"
    )
    assert shell(full, "find . -path ./.git -prune -o ! -user root -print") == ""


def test_a_question_without_a_repository_gets_one_empty_commit(base, recorder, shell: Shell) -> None:
    image = recorder.builder.workspace(base, None, writable=True, history="none")

    assert shell(image, "git log --format=%s; git status --short; ls -A") == "Initial commit\n.git"


def test_equal_trees_give_equal_commits_and_a_hit(base, recorder, checkout: Checkout, single: Image) -> None:
    again = recorder.builder.workspace(base, checkout, writable=True, history="none")

    assert (again.id, again.built, single.built) == (single.id, False, True)


def test_links_modes_and_odd_names_survive(base, recorder, origin_of, tmp_path: Path, shell: Shell) -> None:
    odd = origin_of(tmp_path / "odd")
    (odd.path / "run").write_text("#!/bin/sh\necho ran\n")
    (odd.path / "run").chmod(0o755)
    (odd.path / "link").symlink_to("run")
    (odd.path / "dangling").symlink_to("/nowhere")
    (odd.path / 'new\nline "q" é').write_text("odd\n")
    (odd.path / ".gitattributes").write_text("*.bin filter=lfs\n*.txt ident export-ignore\n")
    (odd.path / "x.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
    odd.commit("odd", kept_DOT_txt="kept\n")
    commit = Repos(tmp_path / "cache").checkout(str(odd.path))
    image = recorder.keep(recorder.builder.workspace(base, commit, writable=False, history="none"))

    assert shell(image, "./link; cat new*; readlink dangling; cat kept.txt x.bin; git status --short") == (
        "ran\nodd\n/nowhere\nkept\nversion https://git-lfs.github.com/spec/v1"
    )


def test_a_shallow_source_gives_the_history_that_it_has(
    base, recorder, origin, tmp_path: Path, shell: Shell
) -> None:
    origin.git("clone", "--quiet", "--depth=2", f"file://{origin.path}", str(tmp_path / "shallow"))
    commit = Repos(tmp_path / "cache").checkout(str(tmp_path / "shallow"))
    image = recorder.keep(recorder.builder.workspace(base, commit, writable=True, history="full"))

    assert shell(image, "git log --format=%s; git fsck 2>&1") == "the answer\nsecond"


def test_a_submodule_is_announced(base, recorder, origin, origin_of, tmp_path: Path) -> None:
    holder = origin_of(tmp_path / "holder")
    holder.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin.path), "vendor")
    holder.commit(secrets.token_hex(4))
    commit = Repos(tmp_path / "cache").checkout(str(holder.path))
    recorder.keep(recorder.builder.workspace(base, commit, writable=True, history="none"))

    assert any("submodules are not fetched: vendor" in line for line in recorder.said)
