"""The executor of a Ray cluster keeps the contract, and what only a cluster has to keep."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tiltyard_cluster.local_cluster import LocalCluster
from tiltyard_cluster.ray_cluster import ClusterWork, cluster_executor
from tiltyard_cluster.ray_session import RaySession
from tiltyard_images import ImageBuilder

pytestmark = [pytest.mark.engine, pytest.mark.slow]

_SPEC = importlib.util.spec_from_file_location(
    "executor_contract", Path(__file__).with_name("executor_contract.py")
)
assert _SPEC
assert _SPEC.loader
contract = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(contract)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two nodes."""
    with LocalCluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: LocalCluster) -> Iterator[RaySession]:
    with RaySession(cluster.address, cluster.environ) as session:
        yield session


@pytest.fixture
def start(session: RaySession, image_builder: ImageBuilder) -> Callable[..., Any]:
    """An executor for a prepared trial."""

    def make(trial: Any, enough: Any, **changes: Any) -> Any:
        work = ClusterWork(
            trial.trial,
            trial.store,
            str(trial.out),
            trial.options,
            image_builder.forwarder().id,
            **changes,
        )
        return cluster_executor(session, work, trial.runs(), enough)

    return make


class TestRayExecutor(contract.ExecutorContract):  # type: ignore[misc, name-defined]
    @pytest.fixture
    def start(self, start):
        return start
