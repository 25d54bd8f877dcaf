"""How an interrupt reaches a trial."""

import pytest

from tiltyard_cluster import Stopper


def test_once_is_soon_and_twice_is_now() -> None:
    asked: list[bool] = []
    stopper = Stopper()
    stopper.attach(asked.append)
    stopper.request()
    stopper.request()
    stopper.request()

    assert asked == [False, True, True]


def test_before_the_first_run_it_is_no_exception_that_a_library_would_swallow() -> None:
    """The Docker client turns every Exception into one of its own, "no engine answers"."""
    with pytest.raises(KeyboardInterrupt):
        Stopper().request()
