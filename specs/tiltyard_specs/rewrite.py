"""Which model a request becomes: the rule of `rewrite`, shared by the spec's checks and the gateway."""

from collections.abc import Mapping
from fnmatch import fnmatchcase


def rewrite_model(model: str, rules: Mapping[str, str]) -> str:
    """The model after rewriting: exact names first, then wildcards in file order; the rest stay."""
    if model in rules:
        return rules[model]
    return next((target for pattern, target in rules.items() if fnmatchcase(model, pattern)), model)
