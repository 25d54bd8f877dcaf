"""How an interrupt reaches a trial."""

import pytest

from tiltyard_cluster import Stopper
from tiltyard_specs import InterruptedTrialError


def test_once_is_soon_and_twice_is_now() -> None:
    asked: list[bool] = []
    stopper = Stopper()
    stopper.attach(asked.append)
    stopper.request()
    stopper.request()
    stopper.request()

    assert asked == [False, True, True]


def test_before_the_first_run_it_is_an_error() -> None:
    with pytest.raises(InterruptedTrialError) as caught:
        Stopper().request()

    assert (
        str(caught.value) == "interrupted before a run began: nothing was spent, and finished runs are kept"
    )
    assert caught.value.exit_code == 130
