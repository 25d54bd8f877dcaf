"""Decides what a request gets. The turn is counted in the request itself, so only `errors` need a memory."""

import hashlib
import math
from collections import Counter
from typing import NamedTuple

from tiltyard_gateway.scripted.dialect import Reply, Request, ToolCall
from tiltyard_gateway.scripted.script import Conversation, ErrorAnswer, Script, Turn
from tiltyard_gateway.scripted.shell import named_call, shell_call
from tiltyard_specs.usage import Usage

_CHARACTERS_PER_TOKEN = 4
_SIDE_ANSWER = Turn(text="Scripted side call")


class NoAnswerError(Exception):
    """The script has nothing for this request."""


class Play(NamedTuple):
    """An answer and how it is given."""

    turn: Turn
    reply: Reply


class Player:
    """Plays one script to all who ask."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._failed: Counter[tuple[str, int, str, int]] = Counter()

    def play(self, request: Request, run: str) -> Play | ErrorAnswer:
        """The answer to a request of a run (empty when unknown)."""
        index, conversation = self._find(request)
        turn = _turn(conversation, request)
        if turn.errors:
            key = (run, index, request.opening, request.turn)
            if self._failed[key] < len(turn.errors):
                self._failed[key] += 1
                return turn.errors[self._failed[key] - 1]
        return Play(turn, self._reply(request, turn, run))

    def _find(self, request: Request) -> tuple[int, Conversation]:
        for index, conversation in enumerate(self._script.conversations):
            if conversation.when.matches(request.prompt, request.model):
                return index, conversation
        raise NoAnswerError(
            f"no conversation of the model script matches a request to {request.model!r} "
            f"whose prompt ends with {request.prompt[-80:]!r}"
        )

    def _reply(self, request: Request, turn: Turn, run: str) -> Reply:
        call = _call(request, turn)
        said = (turn.text or "") + (turn.shell or "") + str(turn.tool or "")
        usage = turn.usage or self._script.usage or _counted(request.length, len(said))
        told = not turn.no_usage and (request.wants_usage or not request.stream)
        opening = hashlib.sha256(request.opening.encode()).hexdigest()[:12]
        return Reply(
            model=request.model,
            text=turn.text,
            call=call,
            usage=strayed(usage, self._script.jitter, f"{run} {request.turn}") if told else None,
            number=f"{opening}{request.turn:04d}",
        )


def strayed(usage: Usage, jitter: float, seed: str) -> Usage:
    """The usage times a factor within 1 - jitter and 1 + jitter, the same for the same seed."""
    if not jitter:
        return usage
    drawn = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]) / 2**64
    factor = 1 + jitter * (2 * drawn - 1)
    counts = usage.model_dump(exclude_none=True)
    return Usage(**{name: round(count * factor) for name, count in counts.items()})


def _turn(conversation: Conversation, request: Request) -> Turn:
    """The next turn. An agent's side calls (titles) stand outside the conversation."""
    if request.structured or (conversation.calls_tools and not request.tools):
        return _SIDE_ANSWER
    if request.turn < len(conversation.turns):
        return conversation.turns[request.turn]
    return Turn(text=conversation.last_text)


def _call(request: Request, turn: Turn) -> ToolCall | None:
    if turn.tool is not None:
        return named_call(request.tools, turn.tool.name, turn.tool.input)
    if turn.shell is None:
        return None
    call = shell_call(request.tools, turn.shell)
    if call is None:
        offered = ", ".join(tool.full_name for tool in request.tools)
        raise NoAnswerError(f"turn {request.turn + 1} of the script runs a command; offered tools: {offered}")
    return call


def _counted(before: int, said: int) -> Usage:
    """The same for the same texts, as a real model's would be."""
    return Usage(
        input=math.ceil(before / _CHARACTERS_PER_TOKEN),
        cache_read=0,
        cache_write=0,
        output=max(1, math.ceil(said / _CHARACTERS_PER_TOKEN)),
        reasoning=0,
    )
