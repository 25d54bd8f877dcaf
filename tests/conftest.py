"""What tests of every room share: one engine, one cache of images, one gateway, and a place for runs."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import docker
import pytest

from scripts import sample_result
from tests.mounts import temporary_root, unmount_left
from tiltyard_gateway.client import GatewayProcess
from tiltyard_gateway.config import GatewayConfig, scripted_upstreams
from tiltyard_gateway.scripted import ScriptedServer
from tiltyard_images import ImageBuilder, connect
from tiltyard_runner.job import Place
from tiltyard_runner.owner import Owner
from tiltyard_runner.slot import Slot

MODEL_SCRIPT = """
conversations:
  - when: {prompt: six by seven}
    turns: [{text: "It is 42.", usage: {input: 100, output: 10}}]
  - when: {prompt: never ends}
    turns: [{text: "So far so good, and then", hang: true, usage: {input: 100, output: 10}}]
"""
PRICES = {"model-a": {"input": 1, "output": 10}}
PlaceMaker = Callable[..., AbstractContextManager[Place]]


def pytest_sessionstart() -> None:
    """Clear away what a killed session left, for pytest cannot."""
    if os.geteuid() == 0:
        unmount_left(temporary_root())


@pytest.fixture(scope="session")
def sample() -> ModuleType:
    """The maker of made-up results."""
    return sample_result


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """The Docker engine."""
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    """The user's own cache, so that base and agent layers are built once for all."""
    if "TILTYARD_CACHE" in os.environ:
        return Path(os.environ["TILTYARD_CACHE"]).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiltyard"


@pytest.fixture(scope="session")
def image_builder(engine: docker.DockerClient, cache_dir: Path) -> ImageBuilder:
    """Makes image layers; what another test or trial made before is reused."""
    return ImageBuilder(engine, cache_dir)


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    """A model that answers questions about six by seven."""
    script = tmp_path_factory.mktemp("model") / "script.yaml"
    script.write_text(MODEL_SCRIPT)
    with ScriptedServer(script) as server:
        yield server


@pytest.fixture(scope="session")
def meter_process(scripted_model: ScriptedServer) -> Iterator[GatewayProcess]:
    """A gateway in front of the scripted model."""
    upstreams = scripted_upstreams(scripted_model.base_url)
    config = GatewayConfig.model_validate({"upstreams": upstreams, "prices": PRICES})
    with GatewayProcess(config) as process:
        yield process


@pytest.fixture(scope="session")
def new_place(
    engine: docker.DockerClient, image_builder: ImageBuilder, meter_process: GatewayProcess
) -> PlaceMaker:
    """Open a slot of its own, for as long as a `with` lasts."""
    numbers = iter(range(1000))

    @contextmanager
    def make(*, sealed: bool = True) -> Iterator[Place]:
        name, owner = f"test-{next(numbers)}", Owner.current()
        folder = meter_process.open_slot(name)
        slot = Slot(
            engine,
            name=name,
            image=image_builder.forwarder().id,
            socket_folder=folder,
            owner=owner,
            trial="tests",
            sealed=sealed,
        )
        with slot:
            yield Place(engine, meter_process, slot, owner, "test-node", threading.Event(), threading.Lock())
        meter_process.close_slot(name)

    return make


@pytest.fixture(scope="session")
def place(new_place: PlaceMaker) -> Iterator[Place]:
    """A sealed slot that many tests may use, one after the other."""
    with new_place() as place:
        yield place


@pytest.fixture(scope="session")
def open_place(new_place: PlaceMaker) -> Iterator[Place]:
    """A slot with an open network."""
    with new_place(sealed=False) as place:
        yield place


@dataclass(frozen=True)
class S3Service:
    """A real S3 service on loopback."""

    endpoint: str
    bucket: str
    process: "subprocess.Popen[str]"
    folder: Path


@pytest.fixture(scope="session")
def s3_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    """SeaweedFS, with the environment saying how to reach it."""
    folder = tmp_path_factory.mktemp("s3")
    script = Path(__file__).parent.parent / "infra" / "local_s3.py"
    command = [sys.executable, str(script), "--folder", str(folder)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert process.stdout
        facts = json.loads(process.stdout.readline())
        patch.setenv("AWS_ACCESS_KEY_ID", facts["access_key"])
        patch.setenv("AWS_SECRET_ACCESS_KEY", facts["secret_key"])
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_ENDPOINT_URL_S3", facts["endpoint"])
        yield S3Service(facts["endpoint"], facts["bucket"], process, folder)
        process.terminate()
