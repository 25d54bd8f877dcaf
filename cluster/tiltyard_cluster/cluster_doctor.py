"""Says of each node of a cluster what it has for trials and what it lacks; changes nothing."""

import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTimeError
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import docker

from tiltyard_cluster.crew import words
from tiltyard_cluster.doctor import Finding, examine_machine, missing, note, ok, open_engine
from tiltyard_cluster.image_registry import Registry, ask_registry
from tiltyard_cluster.ray_session import RaySession
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import TiltyardError, UnavailableError

STORE_SECONDS = 5.0
"""For which a store that does not answer is asked again: a run has more patience, and this is no run."""
_AT_ONCE = 16
"""Nodes: each starts a process there, and a hundred one after the other take minutes."""
_SECONDS = 180.0
_CLOCK_NOTE = 2.0
"""Seconds apart from which times in records cannot be compared across nodes."""
_CLOCK_MISSING = 300.0
"""Seconds apart from which a store in S3 soon refuses what a node signs."""


@dataclass(frozen=True, slots=True)
class NodeFindings:
    """What was found on one node."""

    node: str
    findings: tuple[Finding, ...]


class NodeExaminer:
    """Looks at the node that it is on. An actor, and like all of them without Ray inside."""

    def examine(
        self, store: Store | None, proof: tuple[str, bytes], registry: Registry | None, *, builds: bool
    ) -> tuple[Finding, ...]:
        """Everything but the clock. The driver's own node builds the images of all."""
        engine = open_engine()
        with nullcontext() if isinstance(engine, Finding) else closing(engine):
            found = [*examine_machine(engine, os.environ, builds=builds)]
            if registry is not None and not isinstance(engine, Finding):
                found.append(_registry(engine, registry))
        if store is not None:
            found.append(_sees(store, proof))
        return tuple(found)

    def clock(self) -> float:
        """The time here."""
        return time.time()

    def versions(self) -> dict[str, str]:
        """Of what driver and nodes must have alike."""
        return installed()


def installed() -> dict[str, str]:
    """Versions of Tiltyard and Ray here."""
    found = {}
    for name in ("tiltyard", "ray"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def examine_cluster(
    session: RaySession, store: Store | None = None, registry: Registry | None = None
) -> Iterator[NodeFindings]:
    """What each node has and lacks.

    Args:
        session: The cluster.
        store: Where results are to go; every node must see it.
        registry: Where nodes get images; every node's engine must reach it.
    """
    proof = (f".proof-{secrets.token_hex(8)}", secrets.token_bytes(16))
    with ExitStack() as stack:
        try:
            if store is not None:
                _require_conditions(store)
                stack.callback(store.remove, proof[0])
                store.put(*proof)
        except (TiltyardError, OSError) as error:
            yield NodeFindings("driver", (missing(f"results: {error}"),))
            stack.pop_all()
            store = None
        nodes = session.nodes()
        pool = stack.enter_context(ThreadPoolExecutor(_AT_ONCE))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        found = [pool.submit(_examine, session, node.id, store, proof, registry) for node in nodes]
        for node, each in zip(nodes, found, strict=True):
            yield NodeFindings(node.name, each.result())


def _require_conditions(store: Store) -> None:
    if not isinstance(store, FolderStore):
        from tiltyard_cluster.s3_store import S3Store  # noqa: PLC0415  # only a store in S3 needs boto3

        if isinstance(store, S3Store):
            store.require_conditions()


def _examine(
    session: RaySession,
    node: str,
    store: Store | None,
    proof: tuple[str, bytes],
    registry: Registry | None,
) -> tuple[Finding, ...]:
    examiner = session.actor(NodeExaminer, node)
    try:
        versions = examiner.call("versions").result(_SECONDS)
        builds = node == session.own_node
        found = examiner.call("examine", store, proof, registry, builds=builds).result(_SECONDS)
        asked = time.time()
        there = examiner.call("clock").result(_SECONDS)
        clock = _clock(there - (asked + time.time()) / 2)
    except NotInTimeError:
        return (missing(f"it did not answer within {_SECONDS:.0f} s"),)
    except Exception as error:  # noqa: BLE001  # whatever a node fails with is what it lacks
        return (missing(f"it cannot be examined: {words(error)}"),)
    finally:
        examiner.kill()
    return (_alike(versions), clock, *found)


def _alike(there: dict[str, str]) -> Finding:
    here = installed()
    text = ", ".join(f"{name} {there[name]}" for name in sorted(there))
    if differing := [name for name in here if here[name] != there.get(name)]:
        return missing(f"{text}; this machine has {', '.join(f'{name} {here[name]}' for name in differing)}")
    return ok(f"{text}, as on this machine")


def _clock(apart: float) -> Finding:
    text = f"clock: {abs(apart):.1f} s {'ahead' if apart > 0 else 'behind'}"
    if abs(apart) >= _CLOCK_MISSING:
        return missing(f"{text}: set it (NTP)")
    return note(f"{text}: times in records will not compare") if abs(apart) >= _CLOCK_NOTE else ok(text)


def _registry(client: docker.DockerClient, registry: Registry) -> Finding:
    try:
        ask_registry(client, registry)
    except UnavailableError as error:
        return missing(f"registry: {error}")
    return ok(f"registry: {registry} answers this engine")


def _sees(store: Store, proof: tuple[str, bytes]) -> Finding:
    there = FolderStore(store.root) if isinstance(store, FolderStore) else store
    where = store.root if isinstance(store, FolderStore) else store
    try:
        seen = there.get(proof[0]) == proof[1]
    except (TiltyardError, OSError) as error:
        return missing(f"results: {error}")
    return (
        ok(f"results: {where} is seen from here") if seen else missing(f"results: {where} is not seen here")
    )
