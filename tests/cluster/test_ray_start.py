"""A node that is slow to register is waited for, and one that never does is not waited for without end."""

import pytest

from tiltyard_cluster.ray_start import patiently


def test_what_is_found_late_is_found() -> None:
    tries = iter([RuntimeError("not yet"), RuntimeError("not yet"), "node"])

    def look(name: str, *, where: str) -> str:
        assert (name, where) == ("id", "here")
        found = next(tries)
        if isinstance(found, RuntimeError):
            raise found
        return found

    assert patiently(look, "id", where="here") == "node"


def test_what_is_never_found_is_told() -> None:
    def look() -> str:
        raise RuntimeError("no such node")

    with pytest.raises(RuntimeError, match="no such node"):
        patiently(look, patience=0.0)
