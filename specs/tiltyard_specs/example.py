"""The commented example that `tiltyard init` writes: it loads and dry-runs in an otherwise empty folder."""

from importlib.resources import files
from typing import Literal


def example_spec(format: Literal["yaml", "toml"] = "yaml") -> str:  # noqa: A002  (the word users know)
    """The text of the example.

    Args:
        format: "yaml" or "toml"; both say the same.
    """
    return files("tiltyard_specs").joinpath(f"example.{format}").read_text(encoding="utf-8")
