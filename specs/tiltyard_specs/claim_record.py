"""The part of a record that holds what the agent itself says of its checks."""

from typing import Literal

from pydantic import ConfigDict

from tiltyard_specs.base import Model

ClaimState = Literal["stated", "malformed", "absent"]
ClaimResult = Literal["passed", "failed", "not-run"]


class Claim(Model):
    """What the agent says it did to check its answer; its word, and no evidence."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    state: ClaimState
    """stated; malformed: a line VERIFICATION that cannot be read; absent. The last two are no claim."""
    result: ClaimResult | None = None
    """What came of the check, as the agent says; null unless stated."""
    ran: tuple[str, ...] = ()
    """The checks that it says it ran."""
    could_not_verify: tuple[str, ...] = ()
    """What it says it could not verify."""
    missing: tuple[str, ...] = ()
    """What it says it lacked."""
    problem: str | None = None
    """Why the line is malformed."""
