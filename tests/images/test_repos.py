"""Mirrors and refs, on real repositories."""

import secrets
from pathlib import Path

import pytest

from tiltyard_images import RepoError, Repos
from tiltyard_images.repos import submodules


@pytest.fixture
def repos(tmp_path: Path) -> Repos:
    return Repos(tmp_path / "cache")


@pytest.mark.parametrize(("ref", "named"), [("v1", "v1"), ("v2", "v2"), ("side", "side"), (None, "trunk")])
def test_a_tag_a_branch_and_the_default_resolve_to_their_commit(origin, repos, ref, named) -> None:
    assert repos.checkout(str(origin.path), ref).commit == origin.git("rev-parse", f"{named}^{{commit}}")


def test_a_commit_id_resolves_in_full_and_short(origin, repos) -> None:
    commit = origin.git("rev-parse", "v1^{commit}")

    assert repos.checkout(str(origin.path), commit).commit == commit
    assert repos.checkout(str(origin.path), commit[:10]).commit == commit


def test_a_branch_that_moved_is_fetched_again(tmp_path, repos, origin_of) -> None:
    origin = origin_of(tmp_path / "moving")
    first = repos.checkout(str(origin.path), "trunk").commit
    second = origin.commit("more", b=secrets.token_hex(4))

    assert repos.checkout(str(origin.path), "trunk").commit == second != first


def test_a_held_commit_needs_no_source(tmp_path, repos, origin_of) -> None:
    origin = origin_of(tmp_path / "vanishing")
    commit = repos.checkout(str(origin.path)).commit
    origin.path.rename(tmp_path / "gone")
    (tmp_path / "vanishing").mkdir()

    assert repos.checkout(str(tmp_path / "vanishing"), commit).commit == commit


def test_a_git_bundle_is_a_source_with_and_without_a_head(tmp_path, repos, origin) -> None:
    head = origin.git("rev-parse", "trunk")
    for name, refs in {
        "with.bundle": ("--all", "HEAD"),
        "without.bundle": ("trunk",),
        "only.bundle": ("HEAD",),
    }.items():
        origin.git("bundle", "create", "--quiet", str(tmp_path / name), *refs)

        assert repos.checkout(str(tmp_path / name)).commit == head


def test_a_shallow_clone_is_a_source(tmp_path, repos, origin) -> None:
    origin.git("clone", "--quiet", "--depth=1", f"file://{origin.path}", str(tmp_path / "shallow"))

    assert repos.checkout(str(tmp_path / "shallow")).commit == origin.git("rev-parse", "trunk")


def test_a_missing_repository_says_what_git_said(tmp_path, repos) -> None:
    with pytest.raises(
        RepoError,
        match=r"The repository '.*/nowhere' cannot be read: '.*/nowhere' does not appear.*\. Give a URL",
    ):
        repos.checkout(str(tmp_path / "nowhere"))

    assert not list((tmp_path / "cache" / "repos").glob("*.git"))


def test_a_missing_ref_names_the_nearest(origin, repos) -> None:
    with pytest.raises(RepoError, match=r"has no ref 'trunc': the nearest are trunk"):
        repos.checkout(str(origin.path), "trunc")


def test_an_expression_is_no_ref(origin, repos) -> None:
    with pytest.raises(RepoError, match="has no ref 'trunk~1'"):
        repos.checkout(str(origin.path), "trunk~1")


def test_an_empty_repository_is_named(tmp_path, repos, origin_class) -> None:
    empty = origin_class(tmp_path / "empty")

    with pytest.raises(RepoError, match="holds no commit"):
        repos.checkout(str(empty.path))


def test_the_users_git_configuration_does_not_count(tmp_path, monkeypatch, origin, repos) -> None:
    commit = origin.git("rev-parse", "v1^{commit}")
    (tmp_path / ".gitconfig").write_text('[url "file:///nowhere/"]\n\tinsteadOf = /\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))

    assert repos.checkout(str(origin.path), "v1").commit == commit


def test_submodules_are_named(tmp_path, repos, origin, origin_of) -> None:
    holder = origin_of(tmp_path / "holder")
    holder.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin.path), "vendor/sub"
    )
    holder.commit("with a submodule")

    assert submodules(repos.checkout(str(holder.path))) == ("vendor/sub",)
