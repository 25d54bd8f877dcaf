"""Runs inside the pristine container, by `python3 -I`: compares two trees with git data of its own.

Stands alone: standard library only, and no import from Tiltyard. Two commands, each printing one JSON object:
`compare WORK` makes the patch; `adopt WORK PATH...` turns /workspace into the agent's tree and clears the way
for hidden files at PATH...
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKSPACE = "/workspace"
# Nothing that a .gitattributes of the agent says may change a byte on its way into the patch.
ATTRIBUTES = "* -text -crlf -ident -filter -working-tree-encoding\n"
CACHES = (
    "__pycache__/", "*.pyc", "*.pyo", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/",
    ".coverage", ".cache/", ".tox/", ".nox/", ".DS_Store", "node_modules/.cache/",
)  # fmt: skip


class Git:
    """Git with a repository of ours: the objects of /workspace/.git, but no configuration of it."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.folder = work / "git"

    def create(self) -> None:
        """Make the repository."""
        self("init", "-q", "--bare", str(self.folder), tree=None)
        info = self.folder / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(ATTRIBUTES)
        own = Path(WORKSPACE, ".git/info/exclude")
        kept = own.read_text(errors="surrogateescape") if own.exists() else ""
        (info / "exclude").write_text("\n".join([kept, *CACHES, ""]), errors="surrogateescape")
        (self.folder / "objects/info/alternates").write_text(f"{WORKSPACE}/.git/objects\n")

    def __call__(self, *args: str, tree: str | None, stdout: int | None = subprocess.PIPE) -> bytes:
        """Run one command with the work tree `tree`."""
        env = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(self.folder),
            "GIT_INDEX_FILE": str(self.work / "index"),
            "LC_ALL": "C.UTF-8",
        }
        options = ["-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.symlinks=true"]
        options += ["-c", "gc.auto=0", "-c", "safe.directory=*", "-c", "core.bare=false"]
        if tree is not None:
            env["GIT_WORK_TREE"] = tree
        result = subprocess.run(
            ["git", *options, *args],
            env=env,
            cwd=tree or "/",
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
        if result.returncode:
            raise SystemExit(f"git {args[0]} failed: {result.stderr.decode(errors='replace').strip()}")
        return result.stdout or b""

    def add_all(self, tree: str) -> str:
        """Take a whole tree into the index; its tree id."""
        self("add", "-A", "--", ".", tree=tree)
        return self("write-tree", tree=tree).decode().strip()

    def ignored(self, tree: str) -> set[str]:
        """Files that the tree's own ignore rules keep out, caches aside."""
        # All but the ignored has just been added, so what is left over is ignored.
        return names(
            self("ls-files", "-z", "--others", f"--exclude-from={self.folder}/info/exclude", tree=tree)
        )


def names(listing: bytes) -> set[str]:
    """The paths in git's NUL-separated output."""
    return {os.fsdecode(name) for name in listing.split(b"\0") if name}


@contextmanager
def nested_repositories_aside(root: Path) -> Iterator[None]:
    """Git would take a repository inside the tree for a submodule; the agent's tree comes without any `.git`."""
    found = [
        Path(folder, ".git")
        for folder, folders, files in os.walk(root)
        if folder != str(root) and (".git" in folders or ".git" in files)
    ]
    with tempfile.TemporaryDirectory() as aside:
        places = {Path(aside, str(number)): place for number, place in enumerate(sorted(found, reverse=True))}
        for away, place in places.items():
            shutil.move(place, away)
        yield
        for away, place in reversed(places.items()):
            shutil.move(away, place)


def compare(work: Path) -> dict[str, object]:
    """Write work/patch.diff: from the pristine tree to the agent's in work/new."""
    git = Git(work)
    git.create()
    with nested_repositories_aside(Path(WORKSPACE)):
        base = git.add_all(WORKSPACE)
        before = git.ignored(WORKSPACE)
    shutil.copyfile(work / "index", work / "index.base")
    new = str(work / "new")
    after_tree = git.add_all(new)
    after = git.ignored(new)
    diff = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", base, after_tree)
    with (work / "patch.diff").open("wb") as patch:
        git("diff-tree", "-r", "-p", "--binary", "--full-index", *diff, tree=None, stdout=patch.fileno())
    touched = names(git("diff-tree", "-r", "-z", "--name-only", *diff, tree=None))
    (work / "trees").write_text(f"{base} {after_tree}")
    return {"touched": sorted(touched), "ignored": sorted(after - before)}


def adopt(work: Path, hidden: list[str]) -> dict[str, object]:
    """Bring /workspace from the pristine tree to the agent's, then clear the way for hidden files."""
    trees = work / "trees"
    if trees.exists():
        base, new = trees.read_text().split()
        git = Git(work)
        shutil.copyfile(work / "index.base", work / "index")
        git("read-tree", "-m", "-u", base, new, tree=WORKSPACE)
    for path in hidden:
        clear(Path(WORKSPACE), path)
    return {}


def clear(root: Path, path: str) -> None:
    """Remove what stands at `path`, and any link or file where a folder on the way to it must be."""
    place = root
    for part in Path(path).parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    target = root / path
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    elif target.is_symlink() or target.exists():
        target.unlink()


def main(arguments: list[str]) -> None:
    """Run one command."""
    command, work, *rest = arguments
    result = compare(Path(work)) if command == "compare" else adopt(Path(work), rest)
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
