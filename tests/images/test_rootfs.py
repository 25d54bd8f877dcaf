"""Debian without a registry: the bounded try, the fallback, and what is said when neither works."""

import os
import secrets
import time
from pathlib import Path

import pytest

from tiltyard_images import NoBaseImageError
from tiltyard_images.lookup import Layer, find
from tiltyard_images.rootfs import bootstrap, find_debian, offline

pytestmark = pytest.mark.engine


@pytest.fixture
def fake_mmdebstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for the real tool, which the base image's own build runs: writes an empty tar, or fails."""
    tool = tmp_path / "bin" / "mmdebstrap"
    tool.parent.mkdir()
    tool.write_text(
        '#!/bin/sh\necho "I: $@"\n[ -z "$BREAK" ] || { echo "E: no mirror answers"; exit 25; }\n'
        'for last; do case $last in *.tar) tar -cf "$last" -T /dev/null;; esac; done\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    return tmp_path


def test_a_registry_that_does_not_answer_costs_seconds_not_minutes(client) -> None:
    said: list[str] = []
    began = time.monotonic()
    digest = find_debian(client, ask_registry=True, say=said.append)

    assert time.monotonic() - began < 60
    assert digest is not None or "no registry gave debian:bookworm-slim" in said[-1]


def test_offline_asks_nobody(client, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    find_debian(client, ask_registry=False, say=said.append)

    assert said == []
    for value, expected in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("TILTYARD_OFFLINE", value)
        assert offline() is expected


def test_a_bootstrapped_root_becomes_an_image_that_is_found_by_its_key(client, fake_mmdebstrap: Path) -> None:
    layer = Layer("rootfs", secrets.token_hex(32))
    log = fake_mmdebstrap / "logs" / "b.log"
    bootstrap(client, layer.tag, layer.labels("bootstrapped by mmdebstrap"), log=log, say=lambda _: None)
    image = find(client, layer)

    assert image is not None
    assert image.origin == "bootstrapped by mmdebstrap"
    assert "--variant=minbase" in log.read_text()
    client.images.remove(layer.tag)


def test_a_mirror_can_be_named(client, fake_mmdebstrap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTYARD_DEBIAN_MIRROR", "http://mirror.invalid/debian")
    layer, log = Layer("rootfs", secrets.token_hex(32)), fake_mmdebstrap / "b.log"
    bootstrap(client, layer.tag, layer.labels("x"), log=log, say=lambda _: None)

    assert log.read_text().rstrip().endswith("rootfs.tar http://mirror.invalid/debian")
    client.images.remove(layer.tag)


def test_a_failed_bootstrap_shows_the_end_of_its_log(client, fake_mmdebstrap: Path, monkeypatch) -> None:
    monkeypatch.setenv("BREAK", "1")

    with pytest.raises(
        NoBaseImageError, match=r"exited with 25\. A mirror can be named .*\n.*\nE: no mirror answers"
    ):
        bootstrap(client, "tiltyard/x:0", {}, log=fake_mmdebstrap / "b.log", say=lambda _: None)


def test_without_the_tool_the_sentence_says_how_to_get_it(client, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        NoBaseImageError, match=r"No registry gives debian:bookworm-slim, and mmdebstrap is not installed"
    ):
        bootstrap(client, "tiltyard/x:0", {}, log=tmp_path / "b.log", say=lambda _: None)
