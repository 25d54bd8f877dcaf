"""Runs see commits: what a user has changed in a repository and not committed is left out, so it is told."""

from collections.abc import Iterator

from tiltyard_images.errors import RepoError
from tiltyard_images.git import git
from tiltyard_specs import Trial

_SHOWN = 3


def uncommitted(trial: Trial) -> Iterator[str]:
    """A sentence for each repository on this machine with changes that no run will see."""
    for repo in trial.spec.repos:
        folder = (trial.folder / repo.source).expanduser().resolve()
        if not repo.is_local or not (folder / ".git").exists():
            continue
        try:
            listing = git("--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", cwd=folder)
        except RepoError:
            # Whether it can be used at all is for those to say who read it.
            continue
        names = [entry[3:].decode(errors="replace") for entry in listing.split(b"\0") if entry]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield (
                f"repo {repo.name}: changes that are not committed are left out of every run: "
                f"{', '.join(names[:_SHOWN])}{more}"
            )
