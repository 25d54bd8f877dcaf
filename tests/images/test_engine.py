"""The door to the engine, and the script that sees to a running one.

The script's own engine runs in a network and a mount namespace of its own, so that no firewall rule, bridge
or mount of this machine's engine is touched.
"""

import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiltyard_images import connect, engine_facts
from tiltyard_specs.errors import UnavailableError

pytestmark = pytest.mark.engine
SCRIPT = Path(__file__).parents[2] / "infra" / "engine.sh"


def test_facts_name_version_platform_and_storage(client) -> None:
    facts = engine_facts(client)

    assert facts.version[0].isdigit()
    assert facts.platform.startswith("linux/")
    assert facts.storage_driver
    assert facts.cgroup_version in {"1", "2"}
    assert facts.root_dir.startswith("/")
    assert any("seccomp" in option for option in facts.security_options)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # docker-py drops a socket that does not connect
def test_without_an_engine_the_sentence_says_where_and_what_to_do(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    with pytest.raises(
        UnavailableError, match=r"No Docker engine answers at unix:.*none\.sock: start one with `make engine`"
    ):
        connect()
    gc.collect()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed, so this must run as root")
def test_a_user_without_access_is_told_which_group_to_join(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(SCRIPT)],
        user="nobody",
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 69
    assert "run 'sudo usermod -aG docker nobody'" in done.stderr


def _run(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT)], env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=120
    )


def test_the_script_is_quick_where_an_engine_answers() -> None:
    done = _run({})

    assert done.returncode == 0
    assert done.stdout.startswith("engine: ")
    assert "answers" in done.stdout


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:1"])
def test_the_script_only_checks_an_engine_that_docker_host_names(host: str) -> None:
    done = _run({"DOCKER_HOST": host})

    assert done.returncode == 69
    assert f"no engine answers at DOCKER_HOST={host}" in done.stderr


@pytest.fixture
def root() -> Iterator[Path]:
    """A short path: a socket's name is limited to 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="ty-"))
    yield folder
    shutil.rmtree(folder)


def _in_namespaces(root: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script beside an engine of its own; the engine is stopped at the end, and waited for."""
    end = """
    for name in docker.pid exec/containerd/containerd.pid; do
      pid=$(cat $TILTYARD_ENGINE_ROOT/$name 2>/dev/null) || continue
      kill $pid 2>/dev/null
      for i in $(seq 100); do
        grep -q '^State:.[^Z]' /proc/$pid/status 2>/dev/null || break
        sleep 0.1
      done
    done
    """
    env = {
        **{name: value for name, value in os.environ.items() if name != "DOCKER_HOST"},
        "TILTYARD_ENGINE_ROOT": str(root),
        "TILTYARD_ENGINE_ARGS": "--bip 172.31.9.1/24 --iptables=false",
        "ENGINE": str(SCRIPT),
    }
    command = [
        "unshare",
        "--net",
        "--mount",
        "sh",
        "-c",
        f"trap '{end.replace(chr(39), chr(34))}' EXIT\n{script}",
    ]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=180)


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("dockerd") or not shutil.which("unshare"),
    reason="an engine in namespaces of its own needs root, dockerd and unshare",
)


@needs_root
@pytest.mark.slow
def test_the_script_starts_an_engine_and_mends_what_a_killed_one_left(root: Path) -> None:
    """Killed whole, killed in part, and killed with pid files that name strangers by now."""
    done = _in_namespaces(
        root,
        """
        cd $TILTYARD_ENGINE_ROOT; containerd=exec/containerd/containerd.pid
        $ENGINE && $ENGINE || exit 1
        kill -9 $(cat docker.pid) $(cat $containerd); $ENGINE || exit 2
        kill -9 $(cat docker.pid); $ENGINE || exit 3
        kill -9 $(cat docker.pid) $(cat $containerd); sleep 60 & echo $! | tee docker.pid > $containerd
        $ENGINE; status=$?; kill %1 2>/dev/null || kill $!; [ $status = 0 ] || exit 4
        """,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("starting dockerd") == 4
    assert done.stdout.count("answers at") == 5


@needs_root
@pytest.mark.slow
def test_an_engine_that_cannot_start_is_reported_with_its_log(root: Path) -> None:
    done = _in_namespaces(root, 'export TILTYARD_ENGINE_ARGS="--storage-driver=nonsense"; $ENGINE')

    assert done.returncode == 69
    assert "driver not supported" in done.stderr
    assert "Docker could not be started" in done.stderr
