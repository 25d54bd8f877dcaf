"""The page on the spec says what the models say."""

from pathlib import Path
from typing import get_args

import pytest

from tiltyard_specs import (
    Arm,
    Capability,
    Defaults,
    GatewaySpec,
    McpServer,
    PriceRow,
    Question,
    Repo,
    TrialSpec,
)
from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Skill
from tiltyard_specs.base import Model
from tiltyard_specs.kinds import CLAUDE_EFFORTS, RUNNABLE_KINDS
from tiltyard_specs.scalars import parse_duration, parse_size
from tiltyard_specs.spec_base import Provider
from tiltyard_specs.trial import Budget, Limits

PAGE = (Path(__file__).parents[2] / "docs" / "spec.md").read_text(encoding="utf-8")
MODELS = (
    Agent, Arm, Budget, Capability, Defaults, GatewaySpec, Limits, McpServer, PriceRow, Question, Repo, Skill,
    TrialSpec,
)  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_every_key_is_named(model: type[Model]) -> None:
    braced = {
        word for part in PAGE.split("`")[1::2] if "{" in part for word in part.strip("[]{}").split(", ")
    }
    braced = {word.split(":")[0].strip("{} ") for word in braced} | {"usd", "tokens"}

    assert [key for key in model.model_fields if f"`{key}`" not in PAGE and key not in braced] == []


@pytest.mark.parametrize("word", [*RUNNABLE_KINDS, *CLAUDE_EFFORTS, *get_args(Provider)])
def test_every_word_that_a_key_may_hold_is_named(word: str) -> None:
    assert f"`{word}`" in PAGE


def test_the_defaults_are_those_of_the_models() -> None:
    limits, defaults = Limits(), Defaults()

    assert f"`cpus` ({limits.cpus:g};" in PAGE
    assert f"`pids` ({limits.pids})" in PAGE
    assert "`memory` (2g;" in PAGE
    assert limits.memory == parse_size("2g")
    assert "`disk` (2g;" in PAGE
    assert limits.disk == parse_size("2g")
    assert "`output` (64m," in PAGE
    assert limits.output == parse_size("64m")
    assert f"`reps` ({defaults.reps})" in PAGE
    assert "`timeout` (15m;" in PAGE
    assert defaults.timeout == parse_duration("15m")
    assert "| `retries` | new attempts after an `infra` outcome | 2 |" in PAGE
    assert TrialSpec(name="x").retries == 2
