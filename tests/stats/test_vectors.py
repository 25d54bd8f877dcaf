"""The statistics against reference vectors, each made by an independent implementation."""

import builtins
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stats import vector_adapter

HERE = Path(__file__).parent


VECTORS = json.loads((HERE / "vectors.json").read_text(encoding="utf-8"))["vectors"]
# Held by the adapter for vectors of the same kind that stand elsewhere.
WITHOUT_EXAMPLE = {"icc", "paired_diff_t", "shock_test_exact", "tost_welch"}
COVERED = [vector for vector in VECTORS if vector["function"] in vector_adapter.TABLE]


@pytest.mark.parametrize("vector", COVERED, ids=[vector["id"] for vector in COVERED])
def test_vector(vector: dict[str, Any]) -> None:
    """Each function gives what the reference gave, raises where it must, and warns by code."""
    expected = dict(vector["expected"])
    if vector["kind"] == "error":
        with pytest.raises(getattr(builtins, expected["raises"])):
            vector_adapter.call(vector["function"], vector["inputs"])
        return
    result = vector_adapter.call(vector["function"], vector["inputs"])

    assert set(expected.pop("warnings", [])) <= set(result.get("warnings", []))
    for key, value in expected.items():
        assert vector_adapter.matches(result[key], value, vector["tolerance"]), (key, result[key], value)


def test_the_table_names_real_vectors(record_property: Callable[[str, object], None]) -> None:
    """No entry of the table is dead; what is not covered yet is written into the test report."""
    left = Counter(vector["function"] for vector in VECTORS if vector["function"] not in vector_adapter.TABLE)
    print(f"{len(COVERED)} of {len(VECTORS)} vectors run; not covered yet: {dict(sorted(left.items()))}")  # noqa: T201
    record_property("vectors_not_covered", sum(left.values()))

    assert set(vector_adapter.TABLE) - WITHOUT_EXAMPLE <= {vector["function"] for vector in VECTORS}
    assert len(COVERED) + sum(left.values()) == len(VECTORS)
