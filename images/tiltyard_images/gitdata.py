"""Makes the `.git` of a workspace: exactly the history that the agent may see, and no other object.

Git history can hold the answer to a task. So the objects are picked by reachability and packed anew: a clone
that hides later commits would still hold them.
"""

import io
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from tiltyard_images.git import FETCH, git
from tiltyard_images.model import AGENT_UID, History
from tiltyard_images.repos import Checkout
from tiltyard_images.tars import SPOOL, folder, member

MESSAGE = "Initial commit"
IDENTITY = {
    "GIT_AUTHOR_NAME": "workspace",
    "GIT_AUTHOR_EMAIL": "workspace@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "workspace",
    "GIT_COMMITTER_EMAIL": "workspace@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}
"""Fixed, so that equal trees give equal commits, and silent about who runs the trial."""
CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
"""


def git_archive(checkout: Checkout | None, history: History) -> IO[bytes]:
    """Return a tar of `.git` with one branch, `main`, owned by the agent's user; no working tree.

    Without a checkout the repository holds one empty commit.
    """
    with tempfile.TemporaryDirectory(prefix="tiltyard-git-") as scratch:
        mirror = checkout.mirror if checkout else _empty(Path(scratch, "empty.git"))
        commit = checkout.commit if checkout and history == "full" else _only_commit(checkout, mirror)
        packs = Path(scratch, "pack")
        packs.mkdir()
        git(
            "pack-objects",
            "--quiet",
            "--revs",
            f"{packs}/pack",
            cwd=mirror,
            stdin=commit.encode(),
            timeout=FETCH,
        )
        files = {"HEAD": "ref: refs/heads/main\n", "config": CONFIG, "refs/heads/main": f"{commit}\n"}
        if history == "full" and (edge := _shallow_edge(mirror, commit)):
            files["shallow"] = edge
        return _tar(files, packs)


def _empty(path: Path) -> Path:
    path.mkdir()
    git("init", "--quiet", "--bare", "--template=", ".", cwd=path)
    return path


def _only_commit(checkout: Checkout | None, mirror: Path) -> str:
    """Write a commit without parents that holds the checkout's tree, or nothing at all."""
    if checkout is None:
        tree = git("mktree", cwd=mirror).decode().strip()
    else:
        tree = git("rev-parse", f"{checkout.commit}^{{tree}}", cwd=mirror).decode().strip()
    return git("commit-tree", tree, "-m", MESSAGE, cwd=mirror, env=IDENTITY).decode().strip()


def _shallow_edge(mirror: Path, commit: str) -> str:
    """Return the commits whose parents the source itself lacks."""
    edge = mirror / "shallow"
    if not edge.is_file():
        return ""
    reachable = set(git("rev-list", commit, cwd=mirror, timeout=FETCH).decode().split())
    return "".join(f"{line}\n" for line in edge.read_text().split() if line in reachable)


def _tar(files: dict[str, str], packs: Path) -> IO[bytes]:
    spool = tempfile.SpooledTemporaryFile(max_size=SPOOL)  # noqa: SIM115 - the caller closes it
    with tarfile.open(fileobj=spool, mode="w") as tar:
        for name in (
            "",
            "objects",
            "objects/info",
            "objects/pack",
            "refs",
            "refs/heads",
            "refs/tags",
            "info",
        ):
            tar.addfile(folder(f".git/{name}".rstrip("/"), uid=AGENT_UID))
        for name, text in files.items():
            data = text.encode()
            tar.addfile(member(f".git/{name}", uid=AGENT_UID, size=len(data)), io.BytesIO(data))
        for path in sorted(packs.iterdir()):
            info = member(
                f".git/objects/pack/{path.name}", mode=0o444, uid=AGENT_UID, size=path.stat().st_size
            )
            with path.open("rb") as file:
                tar.addfile(info, file)
    spool.seek(0)
    return spool
