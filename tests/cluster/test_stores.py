"""The folder store passes the contract, and keeps it when a process is killed or a disk is odd."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster import store_contract
from tiltyard_cluster import FolderStore
from tiltyard_cluster.addresses import parse_address
from tiltyard_specs.errors import DataError, UnavailableError, UsageError

PUT_FOREVER = """
import sys
from pathlib import Path
from tiltyard_cluster.store import FolderStore
store = FolderStore(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    store.put(f"runs/{number % 5}/run.json", b"x" * 2_000_000)
    store.put_if_absent(f"runs/{number}/raw.out", b"y" * 2_000_000)
    number += 1
"""
PUT_ONCE = """
import sys
from pathlib import Path
from tiltyard_cluster.store import FolderStore
store = FolderStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
print(store.put_if_absent("race/run.json", sys.argv[2].encode() * 1000))
"""


class TestFolderStore(store_contract.StoreContract):  # type: ignore[misc, name-defined]
    """The contract on a folder."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> FolderStore:
        return FolderStore.create(tmp_path / "results")


def test_one_of_many_processes_wins(tmp_path: Path) -> None:
    """Exactly one process writes the record, however many try at once."""
    command = [sys.executable, "-c", PUT_ONCE, str(tmp_path)]
    racers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    outputs = [racer.communicate("go\n")[0].strip() for racer in racers]

    assert sorted(outputs) == ["False", "False", "False", "True"]
    assert FolderStore(tmp_path).get("race/run.json") == str(outputs.index("True")).encode() * 1000


@pytest.mark.slow
def test_a_killed_put_leaves_nothing_that_is_seen(tmp_path: Path) -> None:
    """SIGKILL at any moment: every object listed is whole, and what is left over can be removed."""
    store = FolderStore(tmp_path)
    for round_ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", PUT_FOREVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 + 0.007 * round_)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        for key in store.list(""):
            assert len(store.get(key) or b"") == 2_000_000, key
    (tmp_path / "runs" / "0" / ".tmp-leftover").write_bytes(b"half")
    store.remove_leftovers()

    on_disk = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert on_disk == set(store.list(""))


def test_a_file_from_another_file_system_arrives_whole(tmp_path: Path) -> None:
    """A rename cannot cross file systems: then a copy is made beside the target and renamed."""
    shared_memory = Path("/dev/shm")
    if not shared_memory.is_dir() or shared_memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system here")
    source = shared_memory / f"tiltyard-test-{os.getpid()}"
    source.write_bytes(b"z" * 3_000_000)
    store = FolderStore(tmp_path)
    store.put_file("a/raw.out", source)

    assert store.get("a/raw.out") == b"z" * 3_000_000
    assert not source.exists()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["raw.out"]


def test_a_drivers_own_files_are_no_objects(tmp_path: Path) -> None:
    """The lock and the staging folder lie in the results folder, and are not results."""
    (tmp_path / ".staging" / "x.1").mkdir(parents=True)
    (tmp_path / ".staging" / "x.1" / "raw.out").write_text("")
    (tmp_path / ".lock").write_text("")

    assert list(FolderStore(tmp_path).list("")) == []


def test_results_are_readable_for_others(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put("a", b"")
    store.put_if_absent("b", b"")

    assert {(tmp_path / name).stat().st_mode & 0o777 for name in "ab"} == {0o644}


def test_a_results_folder_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.write_text("")
    with pytest.raises(UnavailableError) as caught:
        FolderStore.create(path)

    assert str(caught.value) == (
        f"the results folder {path} cannot be written: File exists; choose another with --out"
    )


def test_no_results_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        FolderStore.open(tmp_path / "nowhere")

    assert str(caught.value) == f"{tmp_path / 'nowhere'} is no results folder: there is no such folder"


@pytest.mark.parametrize("text", ["s3:/bucket/p", "s3:bucket", "S3:/bucket", "s3;//b"])
def test_what_nearly_names_a_bucket_is_no_folder(text: str) -> None:
    """Paid runs that were meant for a bucket would lie in a folder of an odd name."""
    with pytest.raises(UsageError, match=r"for a folder of that name give \./"):
        parse_address(text)
    assert parse_address(f"./{text}") == Path(text)
