"""An agent of the user's own whose standard output is its answer."""

from collections.abc import Sequence

from tiltyard_runner.agents.command import custom_command
from tiltyard_runner.agents.model import (
    AgentError,
    AgentOutput,
    AgentResult,
    AgentTask,
    Launch,
    LaunchFile,
    Provider,
)
from tiltyard_runner.agents.outcome import broken_off, error, no_answer
from tiltyard_runner.agents.streams import ending, tail, text
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError

MAX_ANSWER_BYTES = 1024 * 1024
"""Of a longer output the end is kept: what a program says last is its answer."""


class TextAdapter:
    """Any command; nothing is known of its model, its usage or its tools."""

    kind = "text"
    provider: Provider | None = None
    layer: str | None = None
    result_file: str | None = None

    def treatment_files(self, task: AgentTask) -> tuple[LaunchFile, ...]:
        """None: what an unknown command would read is unknown."""
        del task
        return ()

    def launch(self, task: AgentTask) -> Launch:
        """The command by `sh -c`, with the gateway's address and key under the names that SDKs read."""
        if task.command is None:
            raise DataError(
                "An agent of kind text needs a command; give it one, with {prompt} where the prompt goes."
            )
        env = {
            "ANTHROPIC_BASE_URL": task.gateway_url,
            "OPENAI_BASE_URL": f"{task.gateway_url}/v1",
            **task.keys("ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
            **task.env,
        }
        return Launch(custom_command(task.command, task.prompt), env)

    def parse(self, output: AgentOutput) -> AgentResult:
        """Standard output, stripped; a failed or killed command has no answer."""
        if output.timed_out or output.exit_code not in {0, None}:  # None: unknown, as of a saved file
            complete = not output.timed_out and (output.exit_code or -1) > 0
            return AgentResult(error=_failed(output), complete=complete)
        answer = _read_end(output).strip()
        return AgentResult(answer=answer or None, error=None if answer else no_answer(), complete=True)

    def missing_treatment(
        self, task: AgentTask, result: AgentResult, calls: Sequence[Call]
    ) -> tuple[str, ...]:
        """Nothing can be said of an unknown command."""
        del task, result, calls
        return ()


def _failed(output: AgentOutput) -> AgentError:
    """A command that printed an answer and failed may not even know that it is one."""
    broken = broken_off(output)
    if broken.kind != "crash":
        return broken
    said = tail(output.stderr)
    because = f": {said}" if said else ""
    return error(
        "crash",
        f"The command ended with exit code {output.exit_code}, not 0, so its output is no answer{because}",
    )


def _read_end(output: AgentOutput) -> str:
    return text(ending(output.stdout, MAX_ANSWER_BYTES)) or ""
