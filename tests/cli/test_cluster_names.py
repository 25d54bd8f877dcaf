"""Which cluster a user names, and that none costs nothing."""

import subprocess
import sys

import pytest

from tiltyard_cluster.ray_cluster import ClusterName, parse_cluster
from tiltyard_specs.errors import UsageError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("local", ClusterName(None, 2)),
        ("local:3", ClusterName(None, 3)),
        ("auto", ClusterName("auto")),
        ("head.example:6379", ClusterName("head.example:6379")),
        ("127.0.0.2:6379", ClusterName("127.0.0.2:6379")),
    ],
)
def test_names(text: str, name: ClusterName) -> None:
    assert parse_cluster(text) == name


@pytest.mark.parametrize("text", ["", "local:0", "local:100", "head", "head:port", "ray://head:1"])
def test_what_names_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        parse_cluster(text)


@pytest.mark.slow
def test_nothing_imports_ray_before_a_cluster_is_named() -> None:
    """Neither the command line nor all that a cluster consists of."""
    script = (
        "import sys, tiltyard_cli.main, tiltyard_cluster.trial, tiltyard_cluster.ray_cluster, "
        "tiltyard_cluster.cluster_doctor; print('ray' in sys.modules, 'boto3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
