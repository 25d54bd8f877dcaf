"""The executor of one machine keeps the contract."""

import pytest

from tests.cluster import executor_contract as contract

pytestmark = [pytest.mark.engine, pytest.mark.slow]


class TestLocalExecutor(contract.ExecutorContract):  # type: ignore[misc, name-defined]
    @pytest.fixture
    def start(self):
        return lambda trial, enough: trial.node.executor(enough)
