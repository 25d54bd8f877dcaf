"""`tiltyard cluster doctor` says of each node what it lacks: here each but the first lacks something."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.mounts import mounted, small_disk
from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.node_engines import node_engines

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="an engine of its own, and a small disk, need root"),
]
AHEAD = """
import time
_time = time.time
time.time = lambda: _time() + 400
"""
"""Python runs it as it starts, where it is found as sitecustomize: the clock of a node that nobody sets."""


@dataclass(frozen=True)
class Ward:
    """A cluster of one sound node and two sick ones."""

    cluster: LocalCluster
    lines: dict[str, list[str]]
    """What was said of each node, and by the driver."""
    code: int


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], ...]]:
    """Variables of two nodes: an old one without an engine, and one with an empty engine and a full disk."""
    old, full = tmp_path_factory.mktemp("old"), tmp_path_factory.mktemp("full")
    (old / "sitecustomize.py").write_text(AHEAD)
    for name, number in (("tiltyard", "0.0.9"), ("ray", "2.59.0")):
        folder = old / f"{name}-{number}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
    with ExitStack() as stack:
        (engine,) = stack.enter_context(node_engines(1))
        stack.enter_context(mounted(full, *small_disk("16m")))
        yield (
            {
                "PYTHONPATH": str(old),
                "DOCKER_HOST": f"unix://{old}/sock",
                "TILTYARD_CACHE": "/dev/null/tiltyard",
                "AWS_SECRET_ACCESS_KEY": "wrong",
            },
            {**engine, "TILTYARD_CACHE": str(full)},
        )


@pytest.fixture(scope="module")
def ward(world: Any, sick: tuple[dict[str, str], ...], s3_service: Any) -> Iterator[Ward]:
    with LocalCluster(3, environs=({}, *sick)) as cluster:
        out = f"s3://{s3_service.bucket}/ward"
        done = world("cluster", "doctor", cluster.address, "--out", out, **cluster.environ)
        lines: dict[str, list[str]] = {}
        for line in done.out.splitlines():
            node, _, text = line.partition("  ")
            lines.setdefault(node, []).append(text)
        yield Ward(cluster, lines, done.code)


def said(ward: Ward, node: int) -> str:
    return "\n".join(ward.lines[ward.cluster.node(node).host])


def test_a_sound_node_lacks_nothing(ward: Ward) -> None:
    assert "missing" not in said(ward, 0)
    assert ward.code == 69


@pytest.mark.parametrize(
    "words",
    [
        r"missing ray 2\.59\.0, tiltyard 0\.0\.9; this machine has tiltyard .*, ray ",
        r"missing clock: (39|4[0-2])\d\.\d s ahead",
        r"missing engine: No Docker engine answers at unix://",
        r"missing cache: /dev/null/tiltyard cannot be written",
        r"missing results: the store at s3://",
    ],
)
def test_what_an_old_node_lacks(ward: Ward, words: str) -> None:
    assert re.search(words, said(ward, 1))


def test_what_a_full_node_lacks(ward: Ward) -> None:
    """It needs no means to build images, but room for those that the driver gives it."""
    found = said(ward, 2)

    assert "of the cache has 0.0 GB free, and new images ask for" in found
    assert "ok      images: 0 of Tiltyard's; those that it lacks come from the driver" in found
    assert "base image" not in found
    assert "is seen from here" in found


def test_a_store_that_is_down_is_told_at_once(world: Any, ward: Ward) -> None:
    """And the nodes are looked at all the same."""
    dead = ("--s3-endpoint", "http://127.0.0.1:9", "--out", "s3://trials/dead")
    done = world("cluster", "doctor", ward.cluster.address, *dead, **ward.cluster.environ)

    assert done.code == 69
    assert "driver  missing results: the store at s3://trials/dead does not answer" in done.out
    assert f"{ward.cluster.node(0).host}  ok      engine" in done.out
