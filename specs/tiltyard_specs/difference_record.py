"""The part of a record that says where the agent's account of its usage differs from the meter's, and why."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tiltyard_specs.base import Model

CauseCode = Literal[
    "no_usage_printed",
    "ended_early",
    "cut_stream",
    "agent_left",
    "failed_calls",
    "side_calls",
    "incomplete_meter",
    "counted_otherwise",
    "beside_the_meter",
    "own_prices",
    "rewritten_model",
    "unexplained",
]
"""Why the agent's account and the meter's differ."""
MEANINGS: dict[CauseCode, str] = {
    "no_usage_printed": "the agent printed no usage",
    "ended_early": "the run was ended before the agent had told all",
    "cut_stream": "the provider broke answers off, which agents do not count whole",
    "agent_left": "the agent hung up before answers were whole",
    "failed_calls": "calls that failed were billed",
    "side_calls": "calls beside the main loop, such as titles and helpers' calls",
    "incomplete_meter": "the provider told no usage for some calls",
    "counted_otherwise": "the same tokens, in other buckets",
    "beside_the_meter": "the network was not sealed: calls may have gone beside the meter",
    "own_prices": "the agent's own price list",
    "rewritten_model": "a rewrite rule: the agent priced the model that it asked for",
    "unexplained": "no known reason",
}
"""In words."""


class Cause(Model):
    """One reason why the agent reported other usage than the meter saw."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    code: CauseCode
    """For machines; docs/money.md says what each means."""
    calls: int | None = None
    """How many metered calls it concerns; null when it concerns none in particular."""
    tokens: int | None = None
    """How many tokens of the difference it accounts for; null when unknown."""


class Difference(Model):
    """Where the agent's account of its usage differs from the meter's."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    tokens: int | None = None
    """Metered less reported, all buckets together; null when either is unknown."""
    usd: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Metered less reported; null when either is unknown."""
    causes: tuple[Cause, ...] = ()
    """Known reasons, the weightiest first; those that may matter where `explained` is false."""
    explained: bool = False
    """Whether the causes account for every token of the difference."""
