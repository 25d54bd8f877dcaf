"""What an agent leaves at the place of its result file, taken out of a real container."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiltyard_images import Image
from tiltyard_runner import result_file
from tiltyard_runner.container import Bounds, Container, ContainerPlan
from tiltyard_runner.job import Place
from tiltyard_runner.result_file import take_result_file

pytestmark = [pytest.mark.engine]

PATH = "/home/agent/.config/a/result.json"
MIB = 1 << 20
Leave = Callable[[str], Container]


@pytest.fixture
def leave(place: Place, workspace: Callable[..., Image]) -> Iterator[Leave]:
    """A container that has ended after a command, which finds the place's path in $P."""
    opened: list[Container] = []

    def run(command: str) -> Container:
        script = f"P={PATH}; mkdir -p $(dirname $P); {command}"
        plan = ContainerPlan(
            image=workspace(edits=False).id,
            argv=("sh", "-c", script),
            labels=place.owner.labels(trial="tests", role="run", run="0123456789abcdef", attempt=1),
            bounds=Bounds(cpus=1, memory=256 * MIB, pids=64, disk=256 * MIB),
            env={"HOME": "/home/agent"},
            network=place.slot.network(),
        )
        container = Container(place.client, plan)
        opened.append(container.__enter__())
        container.start()
        place.client.api.wait(container.id)
        return container

    yield run
    for container in opened:
        container.__exit__(None, None, None)


def test_a_file_is_copied_byte_for_byte(leave: Leave, tmp_path: Path) -> None:
    container = leave("printf 'a\\000\\377' > $P; head -c 3000000 /dev/zero >> $P")
    assert take_result_file(container, PATH, tmp_path / "agent.json") == tmp_path / "agent.json"
    assert (tmp_path / "agent.json").read_bytes() == b"a\0\xff" + bytes(3_000_000)


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "ln -s /etc/passwd $P",
        "mkfifo $P",
        "mkdir $P && touch $P/agent.json",
        "rm -r ~/.config && ln -s /proc/self ~/.config",
        "touch ~/x && rm -r $(dirname $P) && mv ~/x $(dirname $P)",
        "rm -r ~/.config && ln -s .config ~/.config",
    ],
)
def test_what_is_no_file_is_not_taken(leave: Leave, tmp_path: Path, command: str) -> None:
    assert take_result_file(leave(command), PATH, tmp_path / "agent.json") is None
    assert not (tmp_path / "agent.json").exists()


def test_a_huge_file_is_not_taken(leave: Leave, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_file, "MAX_BYTES", MIB)
    assert take_result_file(leave("truncate -s 1048577 $P"), PATH, tmp_path / "agent.json") is None
    assert take_result_file(leave("truncate -s 1048576 $P"), PATH, tmp_path / "agent.json") is not None
