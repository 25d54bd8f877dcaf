"""So many agents of a node work at once, and no more."""

import threading
import time

import pytest

from tiltyard_runner.errors import InfraError
from tiltyard_runner.turns import AgentTurns


def test_no_more_than_the_limit_work_at_once_and_all_come_to_it() -> None:
    turns, stop, lock = AgentTurns(2), threading.Event(), threading.Lock()
    working = most = done = 0

    def work() -> None:
        nonlocal working, most, done
        with turns.turn(stop):
            with lock:
                working += 1
                most = max(most, working)
            time.sleep(0.02)
            with lock:
                working -= 1
                done += 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, done) == (2, 8)


def test_who_waits_hears_that_the_trial_stops() -> None:
    turns, stop = AgentTurns(1), threading.Event()
    with turns.turn(stop) as waited:
        assert waited < 1
        stop.set()
        with pytest.raises(InfraError, match="stopped before the agent's turn"), turns.turn(stop):
            pass


def test_without_a_limit_nobody_waits() -> None:
    turns, stop = AgentTurns(), threading.Event()
    with turns.turn(stop), turns.turn(stop) as waited:
        assert waited == 0
