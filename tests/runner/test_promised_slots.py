"""Slots that are promised while the gateway starts are open once it answers; a start that fails is told."""

import sys
from pathlib import Path

import pytest

from tiltyard_gateway import GatewayConfig, GatewayProcess
from tiltyard_specs.errors import UnavailableError


@pytest.mark.slow
def test_promised_slots_are_open_at_the_first_command() -> None:
    with GatewayProcess(GatewayConfig(), wait=False) as gateway:
        early = gateway.promise_slot("0")
        assert early.is_dir()
        gateway.spent()
        assert (early / "gw.sock").is_socket()
        assert (gateway.promise_slot("1") / "gw.sock").is_socket()
    assert not early.exists()


@pytest.mark.slow
def test_a_start_that_fails_is_told_by_every_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such interpreter >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with GatewayProcess(GatewayConfig(), wait=False) as gateway:
        folder = gateway.promise_slot("0")
        for _ in range(2):
            with pytest.raises(UnavailableError, match="did not start: no such interpreter"):
                gateway.spent()
    assert not folder.parent.exists()
