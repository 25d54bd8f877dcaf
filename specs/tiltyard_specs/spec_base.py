"""The base of everything in a trial spec: strict, frozen, described for editors by attribute docstrings."""

from typing import Literal

from pydantic import ConfigDict

from tiltyard_specs.base import Model

Provider = Literal["anthropic", "openai", "gemini"]
Auth = Literal["placebo", "passthrough"]


class SpecModel(Model):
    """A part of the trial spec."""

    model_config = ConfigDict(use_attribute_docstrings=True)
