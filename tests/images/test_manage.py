"""Listing and removing touch what Tiltyard made, and nothing else.

Other tests and trials use the same engine, so each test works on images of its own making.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import ImageNotFound
from filelock import FileLock

from tiltyard_images import Image, list_images, prune, sweep_builds
from tiltyard_images.box import build_box
from tiltyard_images.hostenv import host_env
from tiltyard_images.lookup import Layer, lock_path

pytestmark = pytest.mark.engine


@pytest.fixture
def layer(base: Image) -> Layer:
    """A layer name that no other test or trial uses."""
    return Layer(f"probe{secrets.token_hex(4)}", secrets.token_hex(32), base)


@pytest.fixture
def image(client, base: Image, layer: Layer) -> Iterator[str]:
    yield _derive(client, base.id, layer.labels(), layer.tag)
    _forget(client, layer.tag)


def _derive(client: docker.DockerClient, below: str, labels: dict[str, str], tag: str | None) -> str:
    container = client.containers.run(below, ["touch", "/tmp/probe"], detach=True, network_mode="none")
    container.wait()
    changes = [f'LABEL {name}="{value}"' for name, value in labels.items()]
    made = container.commit(*(tag.split(":") if tag else ()), changes=changes)
    container.remove()
    return str(made.id)


def _forget(client: docker.DockerClient, tag: str) -> None:
    try:
        client.images.remove(tag, force=True)
    except ImageNotFound:
        return


def _exists(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def test_a_list_shows_layer_version_origin_and_sizes(client, base: Image, layer: Layer, image: str) -> None:
    rows = {row.tag: row for row in list_images(client)}

    assert rows[base.tag].origin == base.origin
    assert rows[base.tag].size > 100_000_000
    assert rows[layer.tag].id == image
    assert rows[layer.tag].own_size < 1_000_000 < rows[layer.tag].size


def test_a_prune_of_a_layer_removes_it_and_nothing_else(
    client, base: Image, layer: Layer, image: str, tmp_path: Path
) -> None:
    assert _exists(client, image)
    result = prune(client, tmp_path, names=[layer.tag])

    assert [row.tag for row in result.removed] == [layer.tag]
    assert result.freed < 1_000_000
    assert not _exists(client, layer.tag)
    assert _exists(client, base.tag)


def test_a_dry_run_only_tells(client, layer: Layer, image: str, tmp_path: Path) -> None:
    assert [row.id for row in prune(client, tmp_path, names=[layer.name], dry_run=True).removed] == [image]
    assert _exists(client, layer.tag)


def test_an_image_in_use_stays_with_the_engines_reason(
    client, layer: Layer, image: str, tmp_path: Path
) -> None:
    container = client.containers.create(image, ["true"])
    try:
        result = prune(client, tmp_path, names=[layer.name])
    finally:
        container.remove()

    assert [(row.tag, "container" in reason) for row, reason in result.kept] == [(layer.tag, True)]
    assert _exists(client, layer.tag)


def test_an_image_under_another_stays(client, layer: Layer, image: str, tmp_path: Path) -> None:
    """Ours or not: the engine alone would take the lower one's name away."""
    above = _derive(client, image, {}, f"someone/{layer.name}:1")
    result = prune(client, tmp_path, names=[layer.name])
    client.images.remove(above)

    assert [(row.tag, reason) for row, reason in result.kept] == [(layer.tag, "other images stand on it (1)")]
    assert _exists(client, layer.tag)


@pytest.mark.usefixtures("image")
def test_somebody_elses_image_on_ours_is_not_ours(client, base: Image, layer: Layer, tmp_path: Path) -> None:
    """It inherits every label; its name is its own."""
    name = f"someone/{layer.name}:1"
    _derive(client, base.id, layer.labels(), name)
    prune(client, tmp_path, names=[layer.name])

    assert name not in {row.tag for row in list_images(client)}
    assert _exists(client, name)
    _forget(client, name)


def test_stages_go_unless_their_build_runs(client, base: Image, layer: Layer, tmp_path: Path) -> None:
    lock = lock_path(tmp_path / "locks", layer)
    lock.parent.mkdir()
    stage = _derive(client, base.id, {"tiltyard.stage-of": layer.key}, None)
    assert _exists(client, stage)

    with FileLock(lock):
        prune(client, tmp_path, names=["nothing"])
        assert _exists(client, stage)
    assert prune(client, tmp_path, names=["nothing"]).stages >= 1
    assert not _exists(client, stage)


def test_a_sweep_removes_what_a_killed_builder_left_and_no_living_build(
    client, base: Image, layer: Layer, tmp_path: Path
) -> None:
    lock = lock_path(tmp_path / "locks", layer)
    lock.parent.mkdir()
    with build_box(client, base.tag, layer, lock=lock, env=host_env({})):
        with FileLock(lock):
            assert sweep_builds(client, tmp_path) == ()
        assert sweep_builds(client, tmp_path / "other") == ()

        assert [name.split("-")[2] for name in sweep_builds(client, tmp_path)] == [layer.name]
    assert not client.containers.list(all=True, filters={"label": f"tiltyard.build-lock={lock}"})
