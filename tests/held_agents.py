"""Agents that wait until a test lets them go: what is under way at a fault is known on any machine."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import docker
import docker.errors
import requests

from tiltyard_cluster.options import cache_folder
from tiltyard_cluster.process_tree import session_members

WAIT = "until test -e /tmp/go; do sleep 0.2; done"
"""The end of an agent's command, or its beginning."""
PATIENCE = 300.0
_FAILURES = (docker.errors.DockerException, requests.RequestException)
FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Agent:
    """An attempt whose agent runs now."""

    engine: int
    """Which one, by its place among the engines."""
    container: str
    run: str
    attempt: int
    worker: int
    """Its process."""

    @property
    def name(self) -> tuple[str, int]:
        return self.run, self.attempt


def everybody(agent: Agent) -> bool:
    return True


def nobody(agent: Agent) -> bool:
    return False


def some(count: int) -> Callable[[Agent], bool]:
    """So many of them, those that are met first."""
    chosen: set[tuple[str, int]] = set()

    def may(agent: Agent) -> bool:
        if len(chosen) < count:
            chosen.add(agent.name)
        return agent.name in chosen

    return may


class HeldAgents:
    """Lets the agents of a trial go as `may` says, as long as the `with` lasts; at first nobody.

    Args:
        trial: Its name.
        engines: Where they run.
        pay: Whether each asks a model first: none goes before its call was seen, so that all are known.

    Attributes:
        may: Which of them may go on.
        paid: The attempts of which an answered call was seen in a journal on this machine.
    """

    def __init__(self, trial: str, engines: Sequence[docker.DockerClient], *, pay: bool = False) -> None:
        self.may: Callable[[Agent], bool] = nobody
        self.paid: set[tuple[str, int]] = set()
        self._trial = trial
        self._pay = pay
        self._engines = engines
        self._gone: set[str] = set()
        self._failures: list[Exception] = []
        self._seen: set[tuple[str, int]] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._let_go)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        assert not self._failures, self._failures

    def agents(self) -> list[Agent]:
        """Those that wait or work now. Each call looks whose calls were paid."""
        found = [agent for number in range(len(self._engines)) for agent in self._on(number)]
        self._seen.update(agent.name for agent in found)
        self._look_for_calls()
        return found

    def paid_on(self, engine: int, count: int) -> set[tuple[str, int]]:
        """The attempts on one engine whose agents run, once a call was seen of so many of them."""
        found = {agent.name for agent in self.agents() if agent.engine == engine} & self.paid
        return found if len(found) >= count else set()

    def _on(self, number: int) -> Iterator[Agent]:
        wanted = [f"tiltyard.trial={self._trial}", "tiltyard.role=run"]
        for each in self._engines[number].api.containers(filters={"label": wanted}):
            labels = each["Labels"]
            worker = int(labels["tiltyard.pid"].partition(":")[0])
            yield Agent(number, each["Id"], labels["tiltyard.run"], int(labels["tiltyard.attempt"]), worker)

    def _look_for_calls(self) -> None:
        # A folder may vanish while it is looked at: the next look sees the others.
        with suppress(OSError):
            for journal in (cache_folder(os.environ) / "cluster").glob("*/*/*/calls.jsonl"):
                run, _, attempt = journal.parent.name.partition(".")
                if not attempt.isdigit() or (run, int(attempt)) not in self._seen:
                    continue
                # One that was refused, as when the budget's ledger has gone, was not paid.
                if b'"outcome":"ok"' in journal.read_bytes():
                    self.paid.add((run, int(attempt)))

    def _let_go(self) -> None:
        try:
            while not self._over.wait(0.3):
                # An engine or a container may be going away just now.
                with suppress(*_FAILURES):
                    self._let_some_go()
        except Exception as error:  # noqa: BLE001  # told at the end
            self._failures.append(error)

    def _let_some_go(self) -> None:
        for agent in self.agents():
            ready = not self._pay or agent.name in self.paid
            if ready and agent.container not in self._gone and self.may(agent):
                container = self._engines[agent.engine].containers.get(agent.container)
                if container.exec_run(["touch", "/tmp/go"]).exit_code == 0:
                    self._gone.add(agent.container)


def until(find: Callable[[], FoundT], what: str, seconds: float = PATIENCE) -> FoundT:
    """What is found, once something is."""
    end = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.1)
    return found


def of_session(session: int, name: str) -> list[int]:
    """The processes of this name in a session."""
    found = []
    for pid in session_members(session):
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
    return found


@contextmanager
def meanwhile(action: Callable[[], Any]) -> Iterator[None]:
    """Do something beside the block; its failure is the test's."""
    failures: list[BaseException] = []

    def act() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001  # raised below, where it is seen
            failures.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failures:
        raise failures[0]
