"""Builds `infra/node.Dockerfile`, and sees it work as a node beside this engine: doctor, and a trial.

It takes minutes, so no test does it. The images stand on Tiltyard's base, which needs no registry; the
machine's CA and mirrors are in the environment of the build. What stays are the images `tiltyard-node:check`
and `tiltyard-s3:check`.
"""

import io
import secrets
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiltyard_cluster.options import cache_folder
from tiltyard_images import ImageBuilder, connect
from tiltyard_images.hostenv import CA_PATH, host_env

ROOT = Path(__file__).parents[1]
NODE, S3 = "tiltyard-node:check", "tiltyard-s3:check"
TRIAL = """\
name: node-image
defaults: {reps: 2, timeout: 60}
limits: {memory: 128m, cpus: 0.5}
arms: [{name: plain}, {name: brief, prompt_suffix: Briefly.}]
agents: [{name: four, kind: text, command: "echo 4"}]
questions: [{id: sum, prompt: "2+2?", expect: ["4"]}]
"""


def docker(*arguments: str, quiet: bool = False) -> None:
    """Run a docker command.

    Raises:
        SystemExit: It failed.
    """
    output = subprocess.DEVNULL if quiet else None
    if subprocess.run(["docker", *arguments], cwd=ROOT, check=False, stdout=output).returncode != 0:
        sys.exit(f"failed: docker {' '.join(arguments)}")


@contextmanager
def base() -> Iterator[str]:
    """Tiltyard's base with what a build needs of this machine."""
    client, host, name = connect(), host_env(), f"tiltyard-node-base:{secrets.token_hex(4)}"
    try:
        found = ImageBuilder(client, cache_folder({}), say=print).base()
        settings = "".join(f"ENV {key}={value}\n" for key, value in host.variables().items())
        recipe = f"FROM {found.id}\nCOPY ca.pem {CA_PATH}\n{settings}"
        with io.BytesIO() as context:
            with tarfile.open(fileobj=context, mode="w") as archive:
                for file, data in (("Dockerfile", recipe.encode()), ("ca.pem", host.ca)):
                    entry = tarfile.TarInfo(file)
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
            context.seek(0)
            client.images.build(fileobj=context, custom_context=True, tag=name, rm=True)
        yield name
        client.images.remove(name)
    finally:
        client.close()


@contextmanager
def head(folder: Path) -> Iterator[str]:
    """A node in a container, beside this engine: what is mounted into runs lies under one path for both."""
    name = f"tiltyard-node-{secrets.token_hex(4)}"
    environ = {
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "TMPDIR": str(folder),
        "TILTYARD_CACHE": str(folder / "cache"),
    }
    settings = [word for key, value in environ.items() for word in ("--env", f"{key}={value}")]
    docker(
        "run", "--detach", "--name", name, "--init", "--shm-size", "512m", "--network", "none", *settings,
        "--volume", "/var/run/docker.sock:/var/run/docker.sock", "--volume", f"{folder}:{folder}", NODE,
        "ray", "start", "--head", "--port=6379", "--num-cpus=0", "--object-store-memory=104857600",
        "--include-dashboard=false", "--block", quiet=True,
    )  # fmt: skip
    try:
        yield name
    finally:
        docker("rm", "--force", "--volumes", name, quiet=True)


def main() -> None:
    """Build, then ask what the images are, then let one work."""
    with base() as found:
        for target, tag in (("node", NODE), ("s3", S3)):
            docker(
                "build", "--file", "infra/node.Dockerfile", "--target", target, "--tag", tag,
                "--build-arg", f"PYTHON={found}", ".", quiet=True,
            )  # fmt: skip
    docker("run", "--rm", "--network", "none", NODE, "bash", "-lc", "ray --version && tiltyard --version")
    docker("run", "--rm", "--network", "none", S3, "weed", "version")
    with tempfile.TemporaryDirectory(prefix="ty-node-", dir="/tmp") as folder:
        (Path(folder) / "trial.yaml").write_text(TRIAL)
        with head(Path(folder)) as name:
            up = "for i in $(seq 60); do ray status >/dev/null 2>&1 && exit 0; sleep 1; done; exit 1"
            docker("exec", name, "sh", "-c", up)
            docker("exec", name, "tiltyard", "cluster", "doctor", "auto")
            docker("exec", name, "tiltyard", "run", f"{folder}/trial.yaml", "--cluster", "auto")
    print("infra/node.Dockerfile makes a node that works")


if __name__ == "__main__":
    main()
