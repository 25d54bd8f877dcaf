"""Layers as a whole: found by key, built once, free of this machine's settings."""

import json
import multiprocessing
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from tiltyard_images import ArmContent, Image, ImageBuilder, ImageBuildError, connect
from tiltyard_images.dockerbuild import DockerfileBuild, build
from tiltyard_images.hostenv import HostEnv, host_env
from tiltyard_images.lookup import Layer, find, find_or_build
from tiltyard_images.pins import AGENT_PINS
from tiltyard_images.space import check_space
from tiltyard_specs.errors import UnavailableError

pytestmark = pytest.mark.engine
Shell = Callable[..., str]


def test_the_base_holds_what_agents_and_setups_need(base: Image, shell: Shell) -> None:
    tools = "git --version; python3 -m pytest --version; rg --version; node -v; npm -v; npx -v"

    assert (
        shell(base, f"({tools}; python --version; python3 -m venv /tmp/v; pip --version) >/dev/null && id -u")
        == "1000"
    )
    assert (
        shell(base, "echo $HOME $PWD $LANG; git config safe.directory") == "/home/agent /workspace C.UTF-8\n*"
    )
    assert shell(base, "node --version").startswith("v22.")


def test_the_base_says_where_it_came_from(base: Image) -> None:
    assert base.origin is not None
    assert base.origin == "bootstrapped by mmdebstrap" or base.origin.startswith(
        "pulled debian:bookworm-slim@sha256:"
    )


def test_a_second_call_is_a_hit_and_an_agent_without_a_layer_is_the_base(
    client, cache: Path, base: Image
) -> None:
    builder = ImageBuilder(client, cache)

    assert replace(builder.base(), built=base.built) == base
    assert builder.agent("text").id == base.id


VERSION_OF = {
    "mini": "mini --help > /dev/null && ls -d /opt/mini/lib/python3*/site-packages/mini_swe_agent-*"
}
"""For a CLI that does not tell its version."""


@pytest.mark.agents
@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(AGENT_PINS))
def test_an_agent_layer_runs_its_pinned_cli_as_the_agent(
    client, cache: Path, shell: Shell, kind: str
) -> None:
    image = ImageBuilder(client, cache).agent(kind)

    assert image.version == AGENT_PINS[kind].version
    assert AGENT_PINS[kind].version in shell(image, VERSION_OF.get(kind, f"{kind} --version"))
    assert (
        shell(
            image, "ls -A ~ /tmp; find / -xdev -user agent -newer /etc/gitconfig 2>/dev/null | head -3"
        ).count(".claude")
        == 0
    )


def test_no_layer_holds_the_machines_ca_or_proxies(client, base: Image, shell: Shell) -> None:
    """In a Dockerfile build as in a container: only stages that are thrown away see them."""
    history = json.dumps(client.images.get(base.id).history()) + json.dumps(client.images.get(base.id).attrs)

    assert "proxy" not in history.lower()
    assert "_CERT" not in history
    assert (
        shell(base, "ls -d /run/tiltyard-build 2>/dev/null; env | grep -i -e cert -e cafile -e proxy; true")
        == ""
    )


def test_a_build_sees_the_machines_settings(base, client, tmp_path: Path, monkeypatch, shell: Shell) -> None:
    (tmp_path / "ca.pem").write_text("-- the bundle --")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    builder = ImageBuilder(client, tmp_path)
    below = builder.workspace(base, None, writable=True, history="none")
    copy = f'cat "$PIP_CERT" > seen; echo "$https_proxy" >> seen; : {secrets.token_hex(8)}'
    arm = builder.arm(below, ArmContent(setup=(copy,)))

    assert (
        shell(arm, "cat seen; ls /run; env | grep -i proxy; true")
        == "-- the bundle --http://proxy.invalid:3128\nlock"
    )
    client.images.remove(arm.id)


def _layer(base: Image, name: str = "arm") -> Layer:
    return Layer(name, secrets.token_hex(32), base)


def _derive(
    client: docker.DockerClient, layer: Layer, base: Image, count: Callable[[], None]
) -> Callable[[], None]:
    def make() -> None:
        count()
        container = client.containers.create(base.id, ["true"])
        labels = [f'LABEL {name}="{value}"' for name, value in layer.labels().items()]
        container.commit(*layer.tag.split(":"), changes=labels)
        container.remove()

    return make


def test_threads_that_miss_at_once_build_once(client, base: Image, tmp_path: Path) -> None:
    layer, built, images = _layer(base), [], []
    make = _derive(client, layer, base, lambda: built.append(1))
    threads = [
        threading.Thread(
            target=lambda: images.append(find_or_build(client, layer, make, locks=tmp_path, wait=60))
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(built) == 1
    assert len({image.id for image in images}) == 1
    assert [image.built for image in images].count(True) == 1
    client.images.remove(layer.tag)


def _build_arm(folder: str, nonce: str, built: "multiprocessing.Queue[tuple[str, bool]]") -> None:
    builder = ImageBuilder(connect(), Path(folder))
    below = builder.workspace(builder.base(), None, writable=True, history="none")
    arm = builder.arm(below, ArmContent(setup=(f"sleep 1; echo {nonce} > nonce",)))
    built.put((arm.id, arm.built))


def test_processes_that_miss_at_once_build_once(client, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    built = context.Queue()
    workers = [
        context.Process(target=_build_arm, args=(str(tmp_path), "n" + tmp_path.name, built)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    results = [built.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()

    assert len({image for image, _ in results}) == 1
    assert [fresh for _, fresh in results].count(True) == 1
    client.images.remove(results[0][0])


def test_an_image_on_another_parent_is_built_anew(client, base: Image, tmp_path: Path) -> None:
    """A base that was built again has the same key and other packages: no arm may stay on the old one."""
    layer = _layer(base)
    old = find_or_build(client, layer, _derive(client, layer, base, lambda: None), locks=tmp_path, wait=60)
    moved = replace(layer, parent=replace(base, id="sha256:" + "0" * 64))

    assert find(client, moved) is None
    new = find_or_build(client, moved, _derive(client, moved, base, lambda: None), locks=tmp_path, wait=60)
    assert new.id != old.id
    client.images.remove(layer.tag)


def test_a_missing_image_never_asks_a_registry(client) -> None:
    assert find(client, Layer("nothing", "0" * 64)) is None


def _job(name: str, **args: str) -> DockerfileBuild:
    key = secrets.token_hex(32)
    return DockerfileBuild(name, f"tiltyard/none:{key[:16]}", key, {}, host_env({}), args)


def test_a_failed_dockerfile_names_its_image_and_its_log(client, tmp_path: Path) -> None:
    job = _job("rootfs", DEBIAN=f"sha256:{'0' * 64}")

    with pytest.raises(
        ImageBuildError, match=r"tiltyard/none:\w+ could not be built: .*\. Its log is .*x\.log"
    ):
        build(client, job, log=tmp_path / "x.log", timeout=30, say=lambda _: None)


@pytest.mark.slow
def test_a_build_that_takes_too_long_ends_and_leaves_nothing(client, cache: Path, tmp_path: Path) -> None:
    job = _job("base", ROOTFS=ImageBuilder(client, cache)._rootfs().id, NODE_WHEEL="none")

    with pytest.raises(ImageBuildError, match=r"it took longer than 1 s|said nothing for 1 s"):
        build(client, job, log=tmp_path / "x.log", timeout=1, say=lambda _: None)

    ours = {"label": f"tiltyard.stage-of={job.key}"}
    deadline = time.monotonic() + 30
    while client.containers.list(all=True, filters=ours, ignore_removed=True) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not client.containers.list(all=True, filters=ours, ignore_removed=True)
    client.images.prune({"dangling": True, **ours})
    assert not client.images.list(filters=ours)


def test_too_little_room_is_refused_before_a_build(client, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"GB free, and a build asks for 1e\+09 GB: make room"):
        check_space(client, tmp_path, need_gb=1e9)


def test_host_settings_come_from_the_environment_alone(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"PEM")
    env = host_env(
        {"REQUESTS_CA_BUNDLE": str(tmp_path / "ca.pem"), "http_proxy": "http://p:1", "SSL_CERT_FILE": "/gone"}
    )

    assert env.ca == b"PEM"
    assert env.proxies == {"http_proxy": "http://p:1", "HTTP_PROXY": "http://p:1"}
    assert b"export PIP_CERT=/run/tiltyard-build/ca.pem\n" in env.script()
    assert host_env({}) == HostEnv(b"", {}, {})
    assert host_env({}).script() == b""
