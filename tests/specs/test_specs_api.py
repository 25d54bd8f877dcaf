"""The public names of tiltyard_specs."""

import subprocess
import sys
import typing

import pytest

import tiltyard_specs


def _in_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_every_public_name_is_there_and_is_no_module() -> None:
    code = (
        "import pkgutil, importlib, types, tiltyard_specs as s\n"
        "[importlib.import_module('tiltyard_specs.' + m.name) for m in pkgutil.iter_modules(s.__path__)]\n"
        "print([n for n in s.__all__ if isinstance(getattr(s, n), types.ModuleType)])"
    )

    assert _in_new_process(code) == "[]"
    assert sorted(tiltyard_specs.__all__) == tiltyard_specs.__all__
    assert set(tiltyard_specs.__all__) == set(tiltyard_specs._HOME_OF)


def test_importing_the_package_or_its_errors_is_light() -> None:
    heavy = ("pydantic", "yaml", "tomllib")
    code = f"import sys, tiltyard_specs.errors; print([m for m in {heavy} if m in sys.modules])"

    assert _in_new_process(code) == "[]"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tiltyard_specs' has no attribute 'Trail'"):
        _ = typing.cast("typing.Any", tiltyard_specs).Trail
