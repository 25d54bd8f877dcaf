"""One engine, one cache and one base image for all tests; what a test builds is removed at the end."""

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import ImageNotFound

from tiltyard_images import Checkout, Image, ImageBuilder, Repos, connect

DATES = {"GIT_AUTHOR_DATE": "2024-05-05T05:05:05Z", "GIT_COMMITTER_DATE": "2024-05-05T05:05:05Z"}


class Origin:
    """A real repository on disk, with a history that an agent must not see."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=trunk")
        self.git("config", "user.name", "Tester")
        self.git("config", "user.email", "tester@localhost")

    def git(self, *args: str) -> str:
        env = {**os.environ, **DATES, "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(
            ["git", *args], cwd=self.path, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        for name, text in files.items():
            target = self.path / name.replace("__", "/").replace("_DOT_", ".")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="session")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def cache() -> Path:
    """The cache that all test modules share, so that base and agent layers are built once."""
    return Path(os.environ.get("TILTYARD_CACHE", Path.home() / ".cache" / "tiltyard"))


@pytest.fixture(scope="session")
def base(client: docker.DockerClient, cache: Path) -> Image:
    return ImageBuilder(client, cache).base()


class Recorder:
    """A builder that remembers what it made."""

    def __init__(self, client: docker.DockerClient, cache: Path) -> None:
        self.said: list[str] = []
        self.builder = ImageBuilder(client, cache, self.said.append, timeout=120)
        self.made: list[Image] = []
        self._client = client

    def keep(self, image: Image) -> Image:
        self.made.append(image)
        return image

    def remove(self) -> None:
        for image in reversed(self.made):
            if image.layer in {"workspace", "arm"}:
                try:
                    self._client.images.remove(image.id, force=True)
                except ImageNotFound:
                    continue


@pytest.fixture(scope="module")
def recorder(client: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """A builder with a cache of its own: the engine has the base, the rest is built and removed."""
    recorder = Recorder(client, tmp_path_factory.mktemp("cache"))
    yield recorder
    recorder.remove()


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """Three commits on `trunk`, a side branch, two tags; its own content each time, so no hits."""
    origin = Origin(tmp_path_factory.mktemp("origin") / "repo")
    origin.commit("first", nonce=secrets.token_hex(8), a_DOT_py="print(1)\n")
    origin.git("tag", "-a", "v1", "-m", "one")
    origin.git("switch", "--quiet", "--create", "side")
    origin.commit("side secret", side_DOT_txt="side\n")
    origin.git("switch", "--quiet", "trunk")
    origin.commit("second", a_DOT_py="print(2)\n", _DOT_gitignore="ignored*\n", docs__x_DOT_md="x\n")
    origin.git("tag", "v2")
    origin.commit("the answer", answer_DOT_txt="42\n")
    return origin


@pytest.fixture
def origin_class() -> type[Origin]:
    return Origin


@pytest.fixture
def origin_of() -> Callable[[Path], Origin]:
    """Make a further repository of one commit."""

    def make(path: Path) -> Origin:
        origin = Origin(path)
        origin.commit("only", a_DOT_py="print(1)\n", nonce=secrets.token_hex(8))
        return origin

    return make


@pytest.fixture
def shell(client: docker.DockerClient) -> Callable[..., str]:
    """Run a script in a fresh container without a network; return what it printed."""

    def run(image: Image, script: str, *, user: str = "1000:1000") -> str:
        container = client.containers.run(
            image.id, ["sh", "-c", script], user=user, network_mode="none", detach=True
        )
        try:
            status = container.wait()["StatusCode"]
            output: str = container.logs().decode().strip()
        finally:
            container.remove(force=True)
        assert status == 0, output
        return output

    return run


@pytest.fixture(scope="module")
def checkout(origin: Origin, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository at its second commit of three."""
    return Repos(tmp_path_factory.mktemp("mirrors")).checkout(str(origin.path), "v2")
