"""Says what a run of mini-swe-agent came to, from its trajectory.

The traps: exit code 0 does not mean an answer, only the exit status Submitted does; replies in a wrong format
were paid for, too, and their usage stands in the complaint that follows; the input includes the cached part;
a cost of 0 is an unknown one; after SIGINT it wants to ask what to do, and the exit status is EOFError; a
run that is ended in its first step leaves no trajectory.
"""

import re

from tiltyard_runner.agents.mini_trajectory import Trajectory, read_trajectory
from tiltyard_runner.agents.model import AgentError, AgentOutput, AgentResult, ToolCall
from tiltyard_runner.agents.outcome import broken_off, error, http_status, interrupted, no_answer
from tiltyard_runner.agents.streams import MAX_TOOL_CALLS, Event, count, items, mapping, number, tail, text
from tiltyard_specs.usage import Usage, total_usage

LIMITS = frozenset({"LimitsExceeded", "TimeExceeded", "ContextWindowExceededError"})
INTERRUPTED = frozenset({"EOFError", "KeyboardInterrupt", "UserInterruption"})
STATUS_OF = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "Timeout": 408,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "BadGatewayError": 502,
    "ServiceUnavailableError": 503,
}
"""litellm names errors by class; not every message holds the status."""
_RETRY = re.compile(r"Retrying .* as it raised (\w+): (.*)")
_KEY_HINT = " You can permanently set your API key"


def parse_result(output: AgentOutput) -> AgentResult:
    """The result of a run, from a whole trajectory or from what a kill left of one."""
    trajectory = read_trajectory(output.usage_file) if output.usage_file else None
    if trajectory is None:
        return AgentResult(error=_without_trajectory(output))
    answer, failure = _end(trajectory, output)
    replies = _replies(trajectory)
    return AgentResult(
        answer=answer,
        turns=len(replies),
        tool_calls=_tool_calls(trajectory),
        usage=total_usage([_usage(mapping(reply.get("usage"))) for reply in replies if reply]),
        model=_model(trajectory, replies),
        cost_usd=_cost(trajectory, len(replies)),
        error=failure,
        complete=trajectory.status not in {"", *INTERRUPTED},
        version=text(trajectory.info.get("mini_version")),
    )


def _end(trajectory: Trajectory, output: AgentOutput) -> tuple[str | None, AgentError | None]:
    """The answer, or why there is none."""
    status = trajectory.status
    if status == "Submitted":
        answer = _answer(trajectory)
        return (answer, None) if answer else (None, no_answer())
    if status == "":
        return None, broken_off(output)
    return None, _failed(status, trajectory.last_words, output)


def _answer(trajectory: Trajectory) -> str:
    """What follows the word that ends the task; mini tells models to say it bare, so else their last text."""
    submitted = trajectory.submission.strip()
    if submitted:
        return submitted
    said = (text(m.get("content")) for m in trajectory.messages if m.get("role") == "assistant")
    return ([None, *said][-1] or "").strip()


def _failed(status: str, said: str, output: AgentOutput) -> AgentError:
    if status in INTERRUPTED:
        return interrupted(output)
    if status == "RepeatedFormatError":
        return error("no_answer", f"{status}: the model's replies called no tool in the right form.")
    words = f"{status}: {said.partition(_KEY_HINT)[0]}" if said and said != status else status
    if status in LIMITS:
        return error("limit", words)
    if status in STATUS_OF or said.startswith("litellm."):
        return error("api_error", words, STATUS_OF.get(status) or http_status(said))
    return error("crash", words)


def _without_trajectory(output: AgentOutput) -> AgentError:
    if "Saved trajectory to" in tail(output.stdout):
        return error("format", "mini ended, but the trajectory that holds its result is not there.")
    retries = _RETRY.findall(tail(output.stderr))
    # Later in the run a retry may be an old one: only the trajectory tells what came after it.
    if retries and "mini-swe-agent (step" not in tail(output.stdout):
        name, said = retries[-1]
        why = f"Still retrying after an API error when it was ended: {said}"
        return error("api_error", why, STATUS_OF.get(name) or http_status(said))
    return broken_off(output)


def _replies(trajectory: Trajectory) -> list[Event]:
    """The model's answers, wherever they stand; an empty one where mini could not write it down."""
    extras = (mapping(message.get("extra")) for message in trajectory.messages)
    return [mapping(extra["response"]) for extra in extras if "response" in extra]


def _tool_calls(trajectory: Trajectory) -> tuple[ToolCall, ...]:
    calls = [
        ToolCall("bash", {"command": mapping(action).get("command")})
        for message in trajectory.messages
        if message.get("role") == "assistant"
        for action in items(mapping(message.get("extra")).get("actions"))
    ]
    return tuple(calls[:MAX_TOOL_CALLS])


def _model(trajectory: Trajectory, replies: list[Event]) -> str | None:
    told = next(filter(None, (text(reply.get("model")) for reply in replies)), None)
    config = mapping(mapping(trajectory.info.get("config")).get("model"))
    return told or (text(config.get("model_name")) or "").removeprefix("openai/") or None


def _cost(trajectory: Trajectory, calls: int) -> float | None:
    """The sum by litellm's price list, where that list has a price for each call."""
    extras = [mapping(message.get("extra")) for message in trajectory.messages]
    costs = [number(extra.get("cost")) for extra in extras if "response" in extra]
    return sum(filter(None, costs)) if calls and all(costs) else None


def _usage(usage: Event) -> Usage:
    """OpenAI counts cached tokens inside the prompt and reasoning inside the completion."""
    details, out = (
        mapping(usage.get("prompt_tokens_details")),
        mapping(usage.get("completion_tokens_details")),
    )
    whole, read = count(usage.get("prompt_tokens")), count(details.get("cached_tokens"))
    written = count(details.get("cache_write_tokens"))
    return Usage(
        input=None if whole is None else count(whole - (read or 0) - (written or 0)),
        cache_read=read,
        cache_write=written,
        output=count(usage.get("completion_tokens")),
        reasoning=count(out.get("reasoning_tokens")),
    )
