"""The workers of a cluster: hired on nodes as they come, let go when these are lost."""

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tiltyard_cluster.node_images import ImageSource
from tiltyard_cluster.ray_demand import Demand
from tiltyard_cluster.ray_session import Actor, ClusterNode, RaySession
from tiltyard_cluster.ray_worker import MOST_SLOTS, Lacking, NodeWorker, Ready
from tiltyard_cluster.workplace import WorkSetup
from tiltyard_specs.errors import UnavailableError

LOOK_EVERY = 2.0
"""Seconds between two looks at who is in the cluster."""
AGAIN = 30.0
"""Seconds until a node that could not be used is tried again."""
_CLOSE_SECONDS = 300.0
"""For workers to take their things away and save what is left; one that is gone is not waited for."""
_LAST_WORD = 10.0
"""Seconds for the last word with the head, which may be gone."""


@dataclass(frozen=True, slots=True)
class Hired:
    """A worker is ready."""

    name: str
    ready: Ready


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker is lost, whatever became of what it was doing."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A node cannot be used now."""

    name: str
    why: str


@dataclass(slots=True)
class _Worker:
    node: ClusterNode
    actor: Actor


@dataclass(slots=True)
class Crew:
    """Watches the cluster in a thread of its own; everything else happens in the driver's.

    Attributes:
        session: The cluster.
        setup: What a worker of this name is told.
        args: Further arguments of the worker's class.
        post: Where news go: a queue that the driver reads.
        kind: The worker's class.
        images: Where nodes that lack images get them.
        demand: What an autoscaler is asked for.
        wanted: For how many runs at once.
    """

    session: RaySession
    setup: Callable[[str], WorkSetup]
    args: tuple[object, ...]
    post: "queue.SimpleQueue[Any]"
    kind: type = NodeWorker
    images: "Callable[[], Future[ImageSource]] | None" = None
    demand: Demand | None = None
    wanted: int = 0
    _workers: dict[str, _Worker] = field(default_factory=dict)
    _hiring: dict[str, _Worker] = field(default_factory=dict)
    _names: Counter[str] = field(default_factory=Counter)
    _not_before: dict[str, float] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _watch: threading.Thread | None = None
    _heard: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Begin to watch."""
        self._watch = threading.Thread(target=self._look, name="cluster-watch", daemon=True)
        self._watch.start()

    def see(self, nodes: tuple[ClusterNode, ...]) -> None:
        """Hire on nodes that are new, and let go of workers whose node is gone."""
        alive = {node.id for node in nodes}
        for name, worker in [*self._workers.items(), *self._hiring.items()]:
            if worker.node.id not in alive:
                self.post.put(Gone(name, "its node has left the cluster"))
        busy = {worker.node.id for worker in (*self._workers.values(), *self._hiring.values())}
        for node in nodes:
            if node.id not in busy and self._not_before.get(node.id, 0.0) <= time.monotonic():
                self._hire(node)

    def hired(self, name: str, slots: int) -> bool:
        """A worker says that it is ready; False where it was let go before that."""
        worker = self._hiring.pop(name, None)
        if worker is None:
            return False
        self._workers[name] = worker
        if self.demand is not None:
            self.demand.learn(worker.node.cpus, slots)
        return True

    def dismiss(self, name: str, *, rest: float = 0.0) -> bool:
        """Let a worker go; False where that was done before.

        Args:
            name: Whose name it is.
            rest: Seconds until its node is tried again.
        """
        worker = self._workers.pop(name, None) or self._hiring.pop(name, None)
        if worker is None:
            return False
        self._not_before[worker.node.id] = time.monotonic() + rest
        worker.actor.kill()
        return True

    def attempt(self, name: str, *args: object, **options: object) -> "Future[Any]":
        """Have a worker run an attempt."""
        return self._workers[name].actor.call("attempt", *args, **options)

    def waited(self, name: str, slot: int) -> float:
        """For how many seconds calls of the run in a slot were held back so far; 0 where nobody answers."""
        worker = self._workers.get(name)
        if worker is None:
            return 0.0
        done = worker.actor.call("waited", slot)
        _wait(done, _LAST_WORD)
        return float(done.result()) if done.done() and done.exception() is None else 0.0

    def stop(self) -> None:
        """Have all of them end what is under way."""
        for worker in self._workers.values():
            worker.actor.call("stop")

    @property
    def silence(self) -> float:
        """Seconds since the cluster's head has answered."""
        return time.monotonic() - self._heard

    def head_lost(self) -> str:
        """What has become of the head, now that nothing is heard of it, or of what is on its node."""
        if self.session.head_answers():
            return f"this machine's node of the Ray cluster at {self.session.address} is lost"
        return f"the head of the Ray cluster at {self.session.address} is lost"

    @property
    def empty(self) -> bool:
        """Whether nobody works here, and nobody is about to."""
        return not self._workers and not self._hiring

    def close(self) -> None:
        """Have everybody take their things away, and end them."""
        self._over.set()
        closing = [(worker, worker.actor.call("close")) for worker in self._workers.values()]
        deadline = time.monotonic() + _CLOSE_SECONDS
        for worker, done in closing:
            _wait(done, deadline - time.monotonic())
            worker.actor.kill()
        for worker in self._hiring.values():
            worker.actor.kill()
        if self._watch is not None:
            self._watch.join(_LAST_WORD)

    def _hire(self, node: ClusterNode) -> None:
        self._names[node.name] += 1
        count = self._names[node.name]
        name = node.name if count == 1 else f"{node.name}#{count}"
        setup = self.setup(name)
        try:
            actor = self.session.actor(self.kind, node.id, setup, *self.args, threads=MOST_SLOTS + 2)
        except UnavailableError:
            # The head is away: `silence` tells.
            self._not_before[node.id] = time.monotonic() + AGAIN
            return
        self._hiring[name] = _Worker(node, actor)
        actor.call("prepare").add_done_callback(partial(self._prepared, name))

    def _prepared(self, name: str, done: "Future[Ready | Lacking]") -> None:
        """In a thread of Ray's."""
        if (error := done.exception()) is not None:
            self.post.put(Refused(name, words(error)))
            return
        match done.result():
            case Ready() as ready:
                self.post.put(Hired(name, ready))
            case Lacking(images):
                if self.images is None:
                    self.post.put(Refused(name, f"its engine lacks {len(images)} of the trial's images"))
                else:
                    self.images().add_done_callback(partial(self._have_images, name))

    def _have_images(self, name: str, done: "Future[ImageSource]") -> None:
        """In the thread that made them ready."""
        worker = self._hiring.get(name)
        if done.cancelled() or worker is None:
            return
        if (error := done.exception()) is not None:
            self.post.put(Refused(name, f"its engine lacks images, and ours cannot give them: {error}"))
        else:
            worker.actor.call("load", done.result()).add_done_callback(partial(self._prepared, name))

    def _look(self) -> None:
        while not self._over.is_set():
            # Without an answer: `silence` tells.
            with suppress(UnavailableError):
                nodes = self.session.nodes()
                self._heard = time.monotonic()
                self.post.put(nodes)
                if self.demand is not None:
                    self.demand.want(self.wanted)
            self._over.wait(LOOK_EVERY)
        with suppress(UnavailableError):
            if self.demand is not None and self.silence < _LAST_WORD:
                self.demand.withdraw()


_SHORT = {
    "ActorUnavailableError": "its worker does not answer any more",
    "ActorDiedError": "its worker has ended",
    "NodeDiedError": "its node has ended",
}
"""Ray's errors whose own words are about Ray."""
_NEVER_BEGAN = "creation task"
"""In the words of one that tells why a worker could not even start, as without Tiltyard on its node."""


def words(error: BaseException) -> str:
    """What went wrong, in one line: of an error that came over from a worker only its own sentence."""
    short = _SHORT.get(type(error).__name__)
    if short is not None and _NEVER_BEGAN not in str(error):
        return short
    cause = getattr(error, "cause", None)
    return " ".join(str(cause if isinstance(cause, Exception) else error).split())[:400]


def _wait(done: "Future[Any]", seconds: float) -> None:
    from concurrent.futures import wait  # noqa: PLC0415

    wait([done], timeout=max(0.0, seconds))
