"""Finds the Dockerfiles that ship with Tiltyard and packs a build context."""

from pathlib import Path

from tiltyard_images.hostenv import HostEnv
from tiltyard_images.keys import tree_digest, walk
from tiltyard_images.tars import of_bytes
from tiltyard_specs.errors import UnavailableError


def dockerfile_dir(name: str) -> Path:
    """Return the folder of a Dockerfile, in a wheel or in a checkout.

    Raises:
        UnavailableError: The installation holds no such Dockerfile.
    """
    here = Path(__file__).resolve().parent
    for root in (here / "dockerfiles", here.parent / "dockerfiles"):
        if (root / name / "Dockerfile").is_file():
            return root / name
    raise UnavailableError(f"This installation holds no Dockerfile named {name!r}: install Tiltyard again.")


def has_dockerfile(name: str) -> bool:
    """Tell whether a Dockerfile of that name ships with Tiltyard."""
    try:
        dockerfile_dir(name)
    except UnavailableError:
        return False
    return True


def recipe_digest(name: str) -> str:
    """Return a digest of a Dockerfile and all that lies beside it."""
    return tree_digest(dockerfile_dir(name))


def build_context(name: str, env: HostEnv) -> bytes:
    """Pack a Dockerfile's folder with the machine's own settings under `build/`.

    Only stages that fetch something copy `build/`; the last stage never does.
    """
    root = dockerfile_dir(name)
    files = {str(path.relative_to(root)): path.read_bytes() for path in walk(root) if path.is_file()}
    return of_bytes({**files, "build/ca.pem": env.ca, "build/env.sh": env.script()})
