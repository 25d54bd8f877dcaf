"""The two agents that are no agents: one gives the known solution, one does nothing.

They check a grader before money is spent: the oracle must pass and nop must fail.
"""

from collections.abc import Sequence

from tiltyard_runner.agents.model import (
    SCRATCH,
    AgentOutput,
    AgentResult,
    AgentTask,
    Launch,
    LaunchFile,
    Provider,
)
from tiltyard_runner.agents.outcome import broken_off
from tiltyard_runner.agents.text import TextAdapter
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError
from tiltyard_specs.solutions import is_patch

SOLUTION_FILE = f"{SCRATCH}/solution"
APPLIED = "applied the solution"


class _Unmetered:
    provider: Provider | None = None
    layer: str | None = None
    result_file: str | None = None

    def treatment_files(self, task: AgentTask) -> tuple[LaunchFile, ...]:
        """None: it reads nothing."""
        del task
        return ()

    def missing_treatment(
        self, task: AgentTask, result: AgentResult, calls: Sequence[Call]
    ) -> tuple[str, ...]:
        """Nothing: no treatment is meant for it."""
        del task, result, calls
        return ()


class OracleAdapter(_Unmetered):
    """Applies the question's solution where that is a patch, and answers with it where it is a text."""

    kind = "oracle"

    def launch(self, task: AgentTask) -> Launch:
        """`git apply` in the working directory, which edits make writable, or `cat`: it prints its answer."""
        if task.solution is None:
            raise DataError("The oracle needs a solution; give the question `solution: path/to/file`.")
        argv: tuple[str, ...] = ("cat", SOLUTION_FILE)
        if is_patch(task.solution):
            script = f'git apply --whitespace=nowarn "$0" && echo "{APPLIED}"'
            argv = ("sh", "-c", script, SOLUTION_FILE)
        return Launch(argv, dict(task.env), (LaunchFile(SOLUTION_FILE, task.solution),))

    def parse(self, output: AgentOutput) -> AgentResult:
        """What it printed, read as any text is."""
        return TextAdapter().parse(output)


class NopAdapter(_Unmetered):
    """Does nothing, as cheaply as a container can."""

    kind = "nop"

    def launch(self, task: AgentTask) -> Launch:
        """`true`."""
        return Launch(("true",), dict(task.env))

    def parse(self, output: AgentOutput) -> AgentResult:
        """No answer, and that is as it should be."""
        if output.timed_out or output.exit_code != 0:
            return AgentResult(error=broken_off(output))
        return AgentResult(complete=True)
