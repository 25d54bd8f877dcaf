"""The record maker, as a fixture."""

from types import ModuleType

import pytest

from tests.report import make_records, make_trials


@pytest.fixture(scope="session")
def make() -> ModuleType:
    """`make.record(...)`, `make.series(...)` and `make.usage_of(...)`."""
    return make_records


@pytest.fixture(scope="session")
def trials() -> ModuleType:
    """Hand-made trials by name: what `analyse` is called with."""
    return make_trials
