"""Names of registries, what is said of one that does not do, and images that are made ready once."""

import threading

import docker.errors
import pytest

from tiltyard_cluster.image_registry import VARIABLE, Registry, _told, named_registry, parse_registry
from tiltyard_cluster.made_once import MadeOnce
from tiltyard_specs.errors import UnavailableError, UsageError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("localhost:5000", "localhost:5000/tiltyard"),
        ("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b"),
        ("ghcr.io/team/tiltyard", "ghcr.io/team/tiltyard"),
        ("registry:443/trials", "registry:443/trials"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert str(parse_registry(text)) == name


@pytest.mark.parametrize(
    "text", ["", "https://ghcr.io/x", "team/tiltyard", "ghcr.io/Team", "ghcr.io/x:tag", "a b.c"]
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError, match="names no registry"):
        parse_registry(text)


def test_an_option_goes_before_the_environment() -> None:
    environ = {VARIABLE: "one.example"}

    assert named_registry("two.example", environ) == Registry("two.example", "tiltyard")
    assert named_registry(None, environ) == Registry("one.example", "tiltyard")
    assert named_registry(None, {}) is None
    assert named_registry(None, {VARIABLE: ""}) is None
    with pytest.raises(UsageError):
        named_registry("", environ)


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Get https://r.example/v2/x/manifests/1: no basic auth credentials", "docker login r.example"),
        ("denied: requested access to the resource is denied", "docker login r.example"),
        ("http: server gave HTTP response to HTTPS client", "insecure-registries"),
        ("x509: certificate signed by unknown authority", "/etc/docker/certs.d/r.example/ca.crt"),
        ("dial tcp: lookup r.example: no such host", "see that it runs"),
    ],
)
def test_what_to_do_is_said(said: str, advice: str) -> None:
    """As engines say it."""
    with pytest.raises(UnavailableError) as raised, _told(Registry("r.example", "t"), "no images in"):
        raise docker.errors.DockerException(said)

    assert str(raised.value).startswith(f"no images in r.example/t: {said}; ")
    assert advice in str(raised.value)


def test_who_asks_meanwhile_gets_the_same() -> None:
    made, go = MadeOnce[object]("test"), threading.Event()

    def make() -> object:
        go.wait(30)
        return object()

    first, second = made.get(make), made.get(make)
    go.set()

    assert first.result(30) is second.result(30) is made.get(make).result(30)
    made.close()


def test_what_failed_is_tried_again() -> None:
    """A store or a registry that was away for a while must not keep nodes out for good."""
    made = MadeOnce[str]("test")

    def fail() -> str:
        raise UnavailableError("away")

    assert made.get(fail).exception(30) is not None
    assert made.get(lambda: "there").result(30) == "there"
    made.close()
