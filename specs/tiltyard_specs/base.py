"""The one strict base of everything that Tiltyard reads from a file."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Frozen, and closed: an unknown key is an error.

    A misspelt key that is dropped silently costs money: `tmeout` would read as the default limit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
