"""What an engine has of a trial's images, and whether it can run them."""

import io
import os
import tarfile
from collections.abc import Iterator

import docker
import pytest

from tiltyard_cluster.node_images import lacking, require_platform
from tiltyard_images import ImageBuilder
from tiltyard_specs.errors import UnavailableError

pytestmark = pytest.mark.engine


@pytest.fixture
def foreign(engine: docker.DockerClient) -> Iterator[str]:
    """An image for another processor."""
    other = "linux/amd64" if engine.version()["Arch"] == "arm64" else "linux/arm64"
    recipe = b"FROM scratch\nCOPY Dockerfile /\n"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as context:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(recipe)
        context.addfile(entry, io.BytesIO(recipe))
    buffer.seek(0)
    tag = f"tiltyard-test-foreign:{os.getpid()}"
    image, _ = engine.images.build(fileobj=buffer, custom_context=True, platform=other, tag=tag)
    yield str(image.id)
    engine.images.remove(tag)


def test_images_of_another_platform_are_refused(
    engine: docker.DockerClient, image_builder: ImageBuilder, foreign: str
) -> None:
    own, nowhere = image_builder.forwarder().id, f"sha256:{'0' * 64}"

    require_platform(engine, (own,))
    with pytest.raises(UnavailableError, match="runs would be emulated"):
        require_platform(engine, (own, foreign))
    assert lacking(engine, (own, foreign, nowhere)) == (nowhere,)
