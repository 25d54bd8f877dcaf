"""The model script: what a scripted model server answers. docs/model-script.md describes it for users."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tiltyard_specs.base import Model
from tiltyard_specs.scalars import Regex, shown, wrong
from tiltyard_specs.usage import Usage

_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_FIRST_ERROR, _LAST_ERROR = 400, 599


def _seconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value)
    if not found:
        raise wrong(
            f"expected a duration such as 500ms, 2s or 1m, or a number of seconds, got {shown(value)}"
        )
    return float(found[1]) * _UNITS[found[2]]


def _not_empty(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if not value:
        raise wrong("must not be empty")
    return value


Share = Annotated[float, Field(ge=0, lt=1)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0, le=3600)]


class ToolUse(Model):
    """A call of any tool by its name."""

    name: str
    input: dict[str, Any] = Field(default_factory=dict)


class ErrorAnswer(Model):
    """An answer with an error status."""

    status: int = Field(ge=_FIRST_ERROR, le=_LAST_ERROR)
    message: str = "scripted error"
    headers: dict[str, str] = Field(default_factory=dict)


def _error_answer(value: Any) -> Any:
    return {"status": value} if isinstance(value, int) else value


class Turn(Model):
    """One answer of the model: text, a tool call, or both."""

    text: str | None = None
    shell: str | None = None
    """A command for whichever shell tool the agent offers."""
    tool: ToolUse | None = None
    usage: Usage | None = None
    """Default: the script's, else counted from the lengths of the texts."""
    delay: Seconds = 0.0
    """Before the answer begins."""
    chunk_delay: Seconds = 0.0
    """Before each piece of text."""
    errors: tuple[Annotated[ErrorAnswer, BeforeValidator(_error_answer)], ...] = ()
    """What the first requests for this turn get instead, one each."""
    cut: bool = False
    """The answer is broken off half way."""
    hang: bool = False
    """The answer begins and never goes on."""
    no_usage: bool = False
    """The answer says nothing of usage."""
    headers: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.shell is not None and self.tool is not None:
            raise wrong("a turn has a shell command or a tool call, not both")
        if self.text is None and not self.calls_tool:
            raise wrong("a turn needs text, shell or tool")
        return self

    @property
    def calls_tool(self) -> bool:
        """Whether the agent has to offer a tool for this turn."""
        return self.shell is not None or self.tool is not None


class When(Model):
    """Which requests a conversation answers. Both must match; one that is left out matches all."""

    prompt: Regex | None = None
    """A regular expression, searched in all text of the user's messages."""
    model: Regex | None = None
    """A regular expression for the whole model name."""

    def matches(self, prompt: str, model: str) -> bool:
        """Whether a request is meant."""
        wanted = self.prompt is None or re.search(self.prompt, prompt) is not None
        return wanted and (self.model is None or re.fullmatch(self.model, model) is not None)


class Conversation(Model):
    """What the model says, turn by turn, to the requests that it matches."""

    when: When = When()
    turns: Annotated[tuple[Turn, ...], AfterValidator(_not_empty)]

    @property
    def last_text(self) -> str:
        """What is repeated after the last turn."""
        return next((turn.text for turn in reversed(self.turns) if turn.text is not None), "Done.")

    @property
    def calls_tools(self) -> bool:
        """Whether any turn calls a tool."""
        return any(turn.calls_tool for turn in self.turns)


class Script(Model):
    """A whole model script."""

    models: tuple[str, ...] = ("scripted-model",)
    """Names for `GET /v1/models`; requests may name any model."""
    usage: Usage | None = None
    """Of turns that give none."""
    jitter: Share = 0.0
    """How far the usage of a turn may stray, as a share of it: rehearsals have a spread between runs."""
    conversations: Annotated[tuple[Conversation, ...], AfterValidator(_not_empty)]
    """The first one that matches answers."""
