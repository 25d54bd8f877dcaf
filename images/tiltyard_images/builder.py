"""The one door to images: each method returns a layer, built only if the engine lacks it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import docker
import requests
from docker.errors import DockerException

from tiltyard_images import dockerbuild, rootfs
from tiltyard_images.box import build_box
from tiltyard_images.context import recipe_digest
from tiltyard_images.errors import ImageBuildError
from tiltyard_images.hostenv import host_env
from tiltyard_images.keys import key_of
from tiltyard_images.lookup import Layer, find_or_build, lock_path
from tiltyard_images.model import ArmContent, History, Image
from tiltyard_images.pins import AGENT_PINS, DEBIAN_IMAGE, DEBIAN_SUITE, NODE_WHEEL
from tiltyard_images.recipes import Site, arm_key, make_arm, make_workspace, workspace_key
from tiltyard_images.repos import Checkout, submodules
from tiltyard_images.say import Say, Throttled
from tiltyard_images.space import check_space


class ImageBuilder:
    """Builds and finds image layers on one engine; safe to share among threads.

    Args:
        client: The engine.
        cache_dir: Holds locks, logs and mirrors of repositories.
        say: Gets a line of progress now and then.
        timeout: Seconds that the build of one layer may take.
        offline: Never ask a registry for Debian; TILTYARD_OFFLINE does the same.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        cache_dir: Path,
        say: Say = lambda _: None,
        timeout: float = 1800,
        *,
        offline: bool = False,
    ) -> None:
        self._client, self._cache = client, cache_dir.resolve()
        self._say, self._timeout = say, timeout
        self._ask_registry = not (offline or rootfs.offline())
        self._locks, self._env = self._cache / "locks", host_env()

    # Parents are named by their ids: for a missing tag the engine would ask a registry.

    def base(self) -> Image:
        """Return the layer that all others stand on."""
        below = self._rootfs()
        layer = Layer("base", key_of("base", below.key, recipe_digest("base"), NODE_WHEEL), below)
        return self._dockerfile(layer, "base", {"ROOTFS": below.id, "NODE_WHEEL": NODE_WHEEL})

    def forwarder(self) -> Image:
        """Return the image of the small program that joins a sealed slot to its gateway."""
        # Only the recipe counts: the program is static and nothing of the base is in it.
        layer = Layer("forwarder", key_of("forwarder", recipe_digest("forwarder")))

        def make() -> None:
            self._build(layer, "forwarder", layer.labels(), {"BASE": self.base().id})

        return self._once(layer, make)

    def agent(self, kind: str) -> Image:
        """Return the layer with an agent's CLI; the base itself for a kind that needs none."""
        base = self.base()
        pin = AGENT_PINS.get(kind)
        if pin is None:
            return base
        key = key_of("agent", base.key, recipe_digest(kind), pin.requirement)
        layer = Layer(f"agent-{kind}", key, base, pin.version)
        return self._dockerfile(layer, kind, {"BASE": base.id, "PACKAGE": pin.requirement})

    def workspace(
        self, parent: Image, checkout: Checkout | None, *, writable: bool, history: History
    ) -> Image:
        """Return a layer with a repository in /workspace; without a checkout, with an empty one.

        Args:
            parent: An agent layer or the base.
            checkout: The repository at a commit.
            writable: Whether the agent's user may change the working tree.
            history: `none` shows one commit and holds no object of another; `full` shows all ancestors.
        """
        layer = Layer(
            "workspace", workspace_key(parent, checkout, writable=writable, history=history), parent
        )
        if checkout and (skipped := submodules(checkout)):
            self._say(f"{checkout.source}: submodules are not fetched: {', '.join(skipped)}")
        return self._boxed(
            layer, lambda site: make_workspace(site, checkout, writable=writable, history=history)
        )

    def arm(self, parent: Image, content: ArmContent) -> Image:
        """Return the layer of an arm; the workspace itself for an arm that adds nothing.

        Raises:
            SetupFailedError: A `prepare` or `setup` command failed.
        """
        if not (content.overlay or content.files or content.prepare or content.setup):
            return parent
        layer = Layer("arm", arm_key(parent, content), parent)
        return self._boxed(layer, lambda site: make_arm(site, content))

    def _boxed(self, layer: Layer, recipe: Callable[[Site], None]) -> Image:
        def make() -> None:
            self._say(f"building {layer.tag}")
            path, say = self._log(layer), Throttled(self._say, layer.tag)
            parent = layer.parent.id if layer.parent else ""
            lock = lock_path(self._locks, layer)
            with (
                path.open("wb", buffering=0) as log,
                build_box(self._client, parent, layer, lock=lock, env=self._env) as box,
            ):
                recipe(Site(box, log, path, self._timeout, say, self._env))
                box.commit(layer)

        return self._once(layer, make)

    def _rootfs(self) -> Image:
        """Return Debian, from whichever origin came first; the key names the suite, the label the origin."""
        layer = Layer("rootfs", key_of("rootfs", DEBIAN_SUITE))

        def make() -> None:
            digest = rootfs.find_debian(self._client, ask_registry=self._ask_registry, say=self._say)
            if digest is None:
                labels = layer.labels("bootstrapped by mmdebstrap")
                rootfs.bootstrap(self._client, layer.tag, labels, log=self._log(layer), say=self._say)
            else:
                labels = layer.labels(f"pulled {DEBIAN_IMAGE}@{digest}")
                self._build(layer, "rootfs", labels, {"DEBIAN": DEBIAN_IMAGE})

        return self._once(layer, make)

    def _dockerfile(self, layer: Layer, name: str, args: Mapping[str, str]) -> Image:
        return self._once(layer, lambda: self._build(layer, name, layer.labels(), args))

    def _build(self, layer: Layer, name: str, labels: Mapping[str, str], args: Mapping[str, str]) -> None:
        self._say(f"building {layer.tag}")
        job = dockerbuild.DockerfileBuild(name, layer.tag, layer.key, labels, self._env, args)
        dockerbuild.build(self._client, job, log=self._log(layer), timeout=self._timeout, say=self._say)

    def _once(self, layer: Layer, make: Callable[[], None]) -> Image:
        def make_with_room() -> None:
            check_space(self._client, self._cache)
            make()

        try:
            return find_or_build(self._client, layer, make_with_room, locks=self._locks, wait=self._timeout)
        except (DockerException, requests.RequestException) as error:
            raise ImageBuildError(f"The engine failed while it built {layer.tag}: {error}") from error

    def _log(self, layer: Layer) -> Path:
        logs = self._cache / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        return logs / f"{layer.tag.replace('/', '-').replace(':', '-')}.log"
