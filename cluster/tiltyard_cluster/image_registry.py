"""Images for nodes that have an engine of their own, through a registry: pushed once, pulled by digest.

A registry keeps layers, so a second trial sends only what is new, and nodes that have a layer leave it out.
The engines do the work, each with the credentials that Docker has on its machine: none of them travels.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker
import docker.errors
import requests

from tiltyard_cluster.made_once import MadeOnce
from tiltyard_cluster.node_images import ImageSource
from tiltyard_cluster.store import Store
from tiltyard_cluster.words import one_line
from tiltyard_specs.errors import UnavailableError, UsageError

VARIABLE = "TILTYARD_REGISTRY"
"""Names the registry where no option does."""
_REPOSITORY = "tiltyard"
"""Of a registry that was named without one."""
_HOST = re.compile(r"(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+|[a-z0-9-]+(?=:))(:[0-9]{1,5})?")
_PATH = re.compile(r"[a-z0-9]+([._/-]+[a-z0-9]+)*")
_NOBODY = "tiltyard-doctor"
"""A tag that nobody pushes."""
_LONGEST = 300
_ADVICE = {
    "no basic auth|unauthorized|denied|authentication|credential": "run `docker login {host}` there, as the "
    "user that Tiltyard runs as",
    "HTTP response to HTTPS": "engines speak plain HTTP with registries on loopback only: give it TLS, or "
    "name it in `insecure-registries` of each engine's daemon.json",
    "x509": "give each engine the registry's CA (/etc/docker/certs.d/{host}/ca.crt)",
    "": "see that it runs, and that the engine reaches it",
}
"""What to do about what an engine says; the last line fits everything."""


@dataclass(frozen=True, slots=True)
class Registry:
    """A repository of a registry, in which every image has its own id as its tag."""

    host: str
    repository: str

    def __str__(self) -> str:
        """As Docker names it."""
        return f"{self.host}/{self.repository}"


def parse_registry(text: str) -> Registry:
    """Read `HOST[:PORT][/REPOSITORY]`.

    Raises:
        UsageError: It is no such name.
    """
    host, _, path = text.partition("/")
    path = path or _REPOSITORY
    if not _HOST.fullmatch(host) or not _PATH.fullmatch(path):
        raise UsageError(
            f"{text!r} names no registry: give HOST[:PORT][/REPOSITORY] in small letters, without a scheme, "
            "such as registry.example/team/tiltyard"
        )
    return Registry(host, path)


def named_registry(option: str | None, environ: Mapping[str, str]) -> Registry | None:
    """The registry that an option names, or else the environment; None for none.

    Raises:
        UsageError: It is no such name.
    """
    text = environ.get(VARIABLE, "") if option is None else option
    return parse_registry(text) if text or option is not None else None


@dataclass(frozen=True, slots=True)
class PinnedImages:
    """See `ImageSource`: the names, with digests, by which nodes pull."""

    registry: Registry
    digests: Mapping[str, str]
    """Of the manifest of each image, by the image's id."""

    def give(self, client: docker.DockerClient, images: tuple[str, ...], store: Store, cache: Path) -> None:  # noqa: ARG002  # a registry needs neither store nor folder
        """See `ImageSource`."""
        for image in images:
            with _told(self.registry, "its engine cannot pull the trial's images from the registry"):
                answer = client.api.pull(str(self.registry), self.digests[image], stream=True, decode=True)
                _last(answer)


@dataclass(slots=True)
class ImageRegistry:
    """Pushes the images when a node first lacks one; the smallest before any run begins.

    A registry that takes nothing is told of while nothing has been spent. What was pushed stays there: the
    registry's own rules say for how long.

    Attributes:
        connect: Makes a client of the engine that has the images.
        registry: Where they go.
        images: Ids of all images of the trial.
        first: The one that is pushed at once.
        tell: Told what is done.
    """

    connect: Callable[[], docker.DockerClient]
    registry: Registry
    images: tuple[str, ...]
    first: str
    tell: Callable[[str], None]
    _pushed: MadeOnce[ImageSource] = field(default_factory=lambda: MadeOnce("image-push"))

    def __enter__(self) -> Self:
        """Push the first image.

        Raises:
            UnavailableError: The registry cannot be reached, or refuses.
        """
        self._push([self.first])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pushed.close()

    def wanted(self) -> "Future[ImageSource]":
        """Where nodes get the images, once all are in the registry."""
        return self._pushed.get(self._push_all)

    def _push_all(self) -> PinnedImages:
        self.tell(f"pushing {len(self.images)} images to {self.registry} for nodes that lack them")
        return PinnedImages(self.registry, self._push(self.images))

    def _push(self, images: Sequence[str]) -> dict[str, str]:
        client = self.connect()
        try:
            return {image: push_image(client, image, self.registry) for image in images}
        finally:
            client.close()


def push_image(client: docker.DockerClient, image: str, registry: Registry) -> str:
    """Push an image by its id; the digest by which it can be pulled.

    Raises:
        UnavailableError: The registry cannot be reached, or refuses.
    """
    tag = image.removeprefix("sha256:")
    with (
        _told(registry, "the trial's images cannot be pushed to the registry"),
        _named(client, image, registry),
    ):
        last = _last(client.api.push(str(registry), tag, stream=True, decode=True))
        if (digest := last.get("aux", {}).get("Digest")) is None:
            raise docker.errors.DockerException("the engine did not say the digest of what it pushed")
        return str(digest)


def ask_registry(client: docker.DockerClient, registry: Registry) -> None:
    """See that an engine reaches a registry and may read there.

    Raises:
        UnavailableError: It does not, or may not.
    """
    with _told(registry, "its engine cannot use the registry"), suppress(docker.errors.NotFound):
        # A registry that does not know the tag has answered.
        api: Any = client.api
        api.inspect_distribution(f"{registry}:{_NOBODY}")


@contextmanager
def _named(client: docker.DockerClient, image: str, registry: Registry) -> Iterator[None]:
    """For the time of a push the image has the name by which Docker pushes."""
    tag = image.removeprefix("sha256:")
    client.api.tag(image, str(registry), tag)
    try:
        yield
    finally:
        with suppress(docker.errors.DockerException, requests.RequestException):
            client.api.remove_image(f"{registry}:{tag}", noprune=True)


def _last(answer: Iterable[Any]) -> dict[str, Any]:
    """Read an answer of the engine to its end; what it said of the digest, else its last word."""
    found: dict[str, Any] = {}
    for line in answer:
        if "error" in line:
            raise docker.errors.DockerException(line["error"])
        if "aux" in line or "aux" not in found:
            found = line
    return found


@contextmanager
def _told(registry: Registry, what: str) -> Iterator[None]:
    """Failures of an engine as one sentence, with what to do."""
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException) as error:
        said = one_line(str(getattr(error, "explanation", None) or error), _LONGEST)
        advice = next(text for words, text in _ADVICE.items() if re.search(words, said, re.IGNORECASE))
        raise UnavailableError(f"{what} {registry}: {said}; {advice.format(host=registry.host)}") from error
