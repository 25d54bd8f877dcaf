"""Runs inside the pristine container, by `python3 -I`: compares two trees with git data of its own.

Stands alone: standard library only, and no import from Tiltyard. Two commands, each printing one JSON object:
`compare WORK` makes the patch; `adopt WORK PATH...` turns /workspace into the agent's tree and clears the way
for hidden files at PATH...

What counts as ignored is what the pristine tree's own rules say: nothing that the agent writes into a
.gitignore or .gitattributes changes what is seen of its work.
"""

import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

WORKSPACE = "/workspace"
# No attribute may change a byte on its way into the patch, or the form of the patch.
ATTRIBUTES = "* -text -eol -crlf -ident -filter -working-tree-encoding !diff\n"
CACHES = (
    "__pycache__/", "*.pyc", "*.pyo", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/",
    ".coverage", ".cache/", ".tox/", ".nox/", ".DS_Store", "node_modules/.cache/",
)  # fmt: skip
SETTINGS = (
    "core.autocrlf=false", "core.fileMode=true", "core.symlinks=true", "core.bare=false", "gc.auto=0",
    "safe.directory=*",
    # Names that only other systems cannot hold are names all the same.
    "core.protectNTFS=false", "core.protectHFS=false",
    # Bigger files are streamed, not held in memory.
    "core.bigFileThreshold=64m",
)  # fmt: skip
SUBMODULE = b"160000 "


class Git:
    """Git with a repository of ours: the objects of /workspace/.git, but no configuration of it."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.folder = work / "git"
        self.rules = work / "rules"
        """A tree of nothing but the pristine .gitignore files."""
        self.caches = work / "caches"

    def create(self) -> None:
        """Make the repository."""
        self("init", "-q", "--bare", str(self.folder))
        info = self.folder / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(ATTRIBUTES)
        own = Path(WORKSPACE, ".git/info/exclude")
        kept = own.read_bytes() if own.is_file() else b""
        self.caches.write_text("\n".join([*CACHES, ""]))
        (info / "exclude").write_bytes(kept + b"\n" + self.caches.read_bytes())
        (self.folder / "objects/info/alternates").write_text(f"{WORKSPACE}/.git/objects\n")

    def __call__(
        self, *args: str, tree: str | None = None, stdin: bytes = b"", may_fail: bool = False
    ) -> bytes:
        """Run one command, with the work tree `tree`; its output."""
        result = subprocess.run(
            self._argv(args),
            env=self._env(tree),
            cwd=tree or "/",
            input=stdin,
            capture_output=True,
            check=False,
        )
        if result.returncode and not (may_fail and result.returncode == 1):
            raise SystemExit(f"git {args[0]} failed: {result.stderr.decode(errors='replace').strip()}")
        return result.stdout

    def to_file(self, path: Path, *args: str) -> None:
        """Run one command with its output in a file."""
        with path.open("wb") as file:
            result = subprocess.run(self._argv(args), env=self._env(None), cwd="/", stdout=file, check=False)
        if result.returncode:
            raise SystemExit(f"git {args[0]} failed with exit code {result.returncode}")

    def _argv(self, args: Iterable[str]) -> list[str]:
        return ["git", *(part for setting in SETTINGS for part in ("-c", setting)), *args]

    def _env(self, tree: str | None) -> dict[str, str]:
        env = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(self.folder),
            "GIT_INDEX_FILE": str(self.work / "index"),
            "LC_ALL": "C.UTF-8",
        }
        return env if tree is None else env | {"GIT_WORK_TREE": tree}

    def start_from_head(self) -> None:
        """Fill the index with what the pristine repository tracks: an ignore rule does not untrack it."""
        head = self(
            "--git-dir", f"{WORKSPACE}/.git", "rev-parse", "--verify", "-q", "HEAD^{tree}", may_fail=True
        )
        if not head:
            return
        self("read-tree", head.decode().strip())
        # A submodule's folder is an ordinary one here: what appears in it shall be seen.
        stages = self("ls-files", "--stage", "-z").split(b"\0")
        submodules = [entry.partition(b"\t")[2] for entry in stages if entry.startswith(SUBMODULE)]
        if submodules:
            self(
                "update-index",
                "--force-remove",
                "-z",
                "--stdin",
                tree=WORKSPACE,
                stdin=b"\0".join(submodules),
            )

    def take(self, tree: str) -> tuple[str, set[str]]:
        """Take a whole tree into the index: its tree id, and the files that ignore rules keep out."""
        self("add", "-u", tree=tree)
        others = self("ls-files", "-z", "--others", f"--exclude-from={self.caches}", tree=tree)
        rules = str(self.rules)
        ignored = names(
            self("check-ignore", "-z", "--no-index", "--stdin", tree=rules, stdin=others, may_fail=True)
        )
        fresh = [os.fsencode(name) for name in sorted(names(others) - ignored)]
        if fresh:
            self("update-index", "--add", "--replace", "-z", "--stdin", tree=tree, stdin=b"\0".join(fresh))
        return self("write-tree", tree=tree).decode().strip(), ignored


def names(listing: bytes) -> set[str]:
    """The paths in git's NUL-separated output."""
    return {os.fsdecode(name) for name in listing.split(b"\0") if name}


def walk(root: str) -> Iterator[Path]:
    """Every `.git` and `.gitignore` below a folder, the folder's own `.git` aside."""
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            if name in {".git", ".gitignore"} and not (folder == root and name == ".git"):
                yield Path(folder, name)
        folders[:] = [name for name in folders if name != ".git"]


def copy_rules(paths: Iterable[Path], rules: Path) -> None:
    """Copy the .gitignore files into a tree of their own."""
    rules.mkdir()
    for path in paths:
        if path.name == ".gitignore" and path.is_file() and not path.is_symlink():
            target = rules / path.relative_to(WORKSPACE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


@contextmanager
def nested_repositories_aside(paths: Iterable[Path]) -> Iterator[None]:
    """Git would take a repository inside for a submodule; the agent's tree comes without any `.git`."""
    found = sorted((path for path in paths if path.name == ".git"), reverse=True)
    with tempfile.TemporaryDirectory() as aside:
        places = {Path(aside, str(number)): place for number, place in enumerate(found)}
        for away, place in places.items():
            shutil.move(place, away)
        yield
        for away, place in places.items():
            shutil.move(away, place)


def compare(work: Path) -> dict[str, object]:
    """Write work/patch.diff: from the pristine tree to the agent's in work/new."""
    git = Git(work)
    git.create()
    special = list(walk(WORKSPACE))
    copy_rules(special, git.rules)
    with nested_repositories_aside(special):
        git.start_from_head()
        base, before = git.take(WORKSPACE)
    shutil.copyfile(work / "index", work / "index.base")
    new, after = git.take(str(work / "new"))
    diff = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", base, new)
    git.to_file(work / "patch.diff", "diff-tree", "-r", "-p", "--binary", "--full-index", *diff)
    touched = names(git("diff-tree", "-r", "-z", "--name-only", *diff))
    (work / "trees").write_text(f"{base} {new}")
    altered = {name for name in before if not is_same(Path(WORKSPACE, name), work / "new" / name)}
    return {"touched": sorted(touched), "ignored": sorted(after - before | altered)}


def is_same(one: Path, other: Path) -> bool:
    """Whether two files are alike: what ignore rules keep out of the patch may be protected all the same."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    if not os.access(one, os.R_OK):
        return other.exists()
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def adopt(work: Path, hidden: list[str]) -> dict[str, object]:
    """Bring /workspace from the pristine tree to the agent's, then clear the way for hidden files."""
    trees = work / "trees"
    if trees.exists():
        base, new = trees.read_text().split()
        git = Git(work)
        shutil.copyfile(work / "index.base", work / "index")
        # `--reset`: an ignored file in the way of the agent's work gives way.
        git("read-tree", "--reset", "-u", base, new, tree=WORKSPACE)
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
