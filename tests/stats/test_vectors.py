"""The statistics against reference vectors, each made by an independent implementation."""

import builtins
import importlib.util
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def _adapter() -> Any:
    """The adapter stands beside this file; test folders are no packages."""
    spec = importlib.util.spec_from_file_location("vector_adapter", HERE / "vector_adapter.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ADAPTER = _adapter()
VECTORS = json.loads((HERE / "vectors.json").read_text(encoding="utf-8"))["vectors"]
# Held by the adapter for vectors of the same kind that stand elsewhere.
WITHOUT_EXAMPLE = {"icc", "paired_diff_t", "shock_test_exact", "tost_welch"}
COVERED = [vector for vector in VECTORS if vector["function"] in ADAPTER.TABLE]


@pytest.mark.parametrize("vector", COVERED, ids=[vector["id"] for vector in COVERED])
def test_vector(vector: dict[str, Any]) -> None:
    """Each function gives what the reference gave, raises where it must, and warns by code."""
    expected = dict(vector["expected"])
    if vector["kind"] == "error":
        with pytest.raises(getattr(builtins, expected["raises"])):
            ADAPTER.call(vector["function"], vector["inputs"])
        return
    result = ADAPTER.call(vector["function"], vector["inputs"])

    assert set(expected.pop("warnings", [])) <= set(result.get("warnings", []))
    for key, value in expected.items():
        assert ADAPTER.matches(result[key], value, vector["tolerance"]), (key, result[key], value)


def test_the_table_names_real_vectors(record_property: Callable[[str, object], None]) -> None:
    """No entry of the table is dead; what is not covered yet is written into the test report."""
    left = Counter(vector["function"] for vector in VECTORS if vector["function"] not in ADAPTER.TABLE)
    print(f"{len(COVERED)} of {len(VECTORS)} vectors run; not covered yet: {dict(sorted(left.items()))}")  # noqa: T201
    record_property("vectors_not_covered", sum(left.values()))

    assert set(ADAPTER.TABLE) - WITHOUT_EXAMPLE <= {vector["function"] for vector in VECTORS}
    assert len(COVERED) + sum(left.values()) == len(VECTORS)
