"""The executor of one machine keeps the contract."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

_SPEC = importlib.util.spec_from_file_location(
    "executor_contract", Path(__file__).with_name("executor_contract.py")
)
assert _SPEC
assert _SPEC.loader
contract = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(contract)


class TestLocalExecutor(contract.ExecutorContract):  # type: ignore[misc, name-defined]
    @pytest.fixture
    def start(self):
        return lambda trial, enough: trial.node.executor(enough)
