"""Finds before anything runs what no run could start with.

That is a command that is too long, and what an arm brings to an agent that cannot take it. Only the runs of
this start count: a trial may hold arms that are asked of one agent and not of another.
"""

import shlex
from collections.abc import Iterable, Iterator

from tiltyard_cluster.jobs import full_prompt
from tiltyard_runner.agents.command import MAX_ARGUMENT_BYTES
from tiltyard_specs import AgentVariant, Arm, Trial
from tiltyard_specs.problems import KeyPath, Problem, SpecError

_BARE_KINDS = frozenset({"mini", "text"})
"""They read neither MCP servers, nor skills, nor a file of instructions."""
_SHELL = "it is handed to a shell as one argument: put it into a script of an overlay"


def require_launchable(trial: Trial) -> None:
    """See that every selected run can be started as the spec says.

    Raises:
        SpecError: Names each place, with what would have to be said otherwise.
    """
    problems = [*_untaken(trial), *_long_prompts(trial), *_long_commands(trial), *_long_words(trial)]
    if problems:
        raise SpecError(dict.fromkeys(problems))


def _untaken(trial: Trial) -> Iterator[Problem]:
    for j, arm in _arms(trial):
        bringing = [key for key in ("mcp_servers", "skills", "instructions") if getattr(arm, key)]
        for agent in trial.agents:
            kind = agent.under(arm).kind
            if kind in _BARE_KINDS:
                for key in bringing:
                    yield trial.source.problem(
                        ("arms", j, key),
                        f'"{agent.name}" is of kind {kind}, which takes no {key.replace("_", " ")}',
                        f"leave {agent.name} out of this trial, or use overlay, setup or prompt_prefix",
                    )


def _long_prompts(trial: Trial) -> Iterator[Problem]:
    """Prompts that a command of the user's own takes as an argument; our own command lines use a file."""
    for j, arm in _arms(trial):
        for agent in trial.agents:
            command = agent.under(arm).command
            if command is None:
                continue
            for question in trial.spec.questions:
                prompt = full_prompt(trial.spec, question, arm)
                size = len(command.replace("{prompt}", shlex.quote(prompt)).encode())
                if size > MAX_ARGUMENT_BYTES:
                    yield trial.source.problem(
                        _command_path(trial, agent, (j, arm)),
                        f'with the prompt of "{question.id}" it is {size} bytes, and a command takes at most '
                        f"{MAX_ARGUMENT_BYTES}",
                        "put the text into a file of the workspace and name it in the prompt",
                    )


def _command_path(trial: Trial, agent: AgentVariant, numbered_arm: tuple[int, Arm]) -> KeyPath:
    j, arm = numbered_arm
    if arm.command is not None:
        return ("arms", j, "command")
    return (
        "agents",
        next(i for i, each in enumerate(trial.whole.agents) if each.name == agent.base),
        "command",
    )


def _long_commands(trial: Trial) -> Iterator[Problem]:
    for j, arm in _arms(trial):
        for key in ("prepare", "setup"):
            commands = enumerate(getattr(arm, key))
            yield from _too_long(trial, ((("arms", j, key, k), text) for k, text in commands), _SHELL)
    for question in trial.spec.questions:
        path = ("questions", trial.whole.questions.index(question), "verify")
        yield from _too_long(trial, [(path, question.verify or "")], _SHELL)


def _long_words(trial: Trial) -> Iterator[Problem]:
    hint = "put the text into a file of an overlay"
    for j, arm in _arms(trial):
        yield from _too_long(
            trial, ((("arms", j, "env", key), f"{key}={text}") for key, text in arm.env.items()), hint
        )
    used = {agent.base for agent in trial.agents}
    for i, agent in enumerate(trial.whole.agents):
        if agent.name in used:
            words: list[tuple[KeyPath, str]] = [
                (("agents", i, "args", k), text) for k, text in enumerate(agent.args)
            ]
            words += [(("agents", i, "env", key), f"{key}={text}") for key, text in agent.env.items()]
            yield from _too_long(trial, words, hint)


def _too_long(trial: Trial, texts: Iterable[tuple[KeyPath, str]], hint: str) -> Iterator[Problem]:
    for path, text in texts:
        if (size := len(text.encode())) > MAX_ARGUMENT_BYTES:
            message = (
                f"is {size} bytes, and no process can be given more than {MAX_ARGUMENT_BYTES} in one piece"
            )
            yield trial.source.problem(path, message, hint)


def _arms(trial: Trial) -> list[tuple[int, Arm]]:
    return [(j, arm) for j, arm in enumerate(trial.whole.arms) if arm in trial.spec.arms]
