"""What a user hears of a cluster that is not where it was said to be."""

import socket

import pytest

from tiltyard_cluster.ray_session import RaySession
from tiltyard_specs.errors import UnavailableError

pytestmark = pytest.mark.slow


def test_an_address_where_nothing_answers_is_told_at_once() -> None:
    """Ray itself asks for two minutes, without a word."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UnavailableError, match=f"^nothing answers at {address} "), RaySession(address):
            pass
