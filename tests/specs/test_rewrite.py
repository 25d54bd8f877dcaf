"""Which model a request becomes."""

import pytest

from tiltyard_specs import rewrite_model

RULES = {"a-*": "wild", "a-1": "exact", "*": "all"}


@pytest.mark.parametrize(
    ("model", "rules", "expected"),
    [
        ("a-1", RULES, "exact"),
        ("a-2", RULES, "wild"),
        ("b", RULES, "all"),
        ("b", {"*": "first", "b*": "second"}, "first"),
        ("B", {"b": "x"}, "B"),
        ("b", {}, "b"),
    ],
)
def test_exact_names_come_first_then_wildcards_in_file_order(
    model: str, rules: dict[str, str], expected: str
) -> None:
    assert rewrite_model(model, rules) == expected
