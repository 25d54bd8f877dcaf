"""The record maker, as a fixture: test folders are no packages."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def load(name: str) -> ModuleType:
    """A module that stands beside this file."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def make() -> ModuleType:
    """`make.record(...)`, `make.series(...)` and `make.usage_of(...)`."""
    return load("make_records")


@pytest.fixture(scope="session")
def trials() -> ModuleType:
    """Hand-made trials by name: what `analyse` is called with."""
    return load("make_trials")
