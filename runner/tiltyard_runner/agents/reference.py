"""The two agents that are no agents: one applies the known solution, one does nothing.

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
from tiltyard_specs.calls import Call
from tiltyard_specs.errors import DataError

PATCH_FILE = f"{SCRATCH}/solution.patch"


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
    """Applies the question's solution."""

    kind = "oracle"

    def launch(self, task: AgentTask) -> Launch:
        """`git apply` of the solution in the working directory; needs a writable tree, so edits."""
        if task.solution is None:
            raise DataError("The oracle needs a solution; give the question `solution: path/to.patch`.")
        argv = ("git", "apply", "--whitespace=nowarn", PATCH_FILE)
        return Launch(argv, dict(task.env), (LaunchFile(PATCH_FILE, task.solution),))

    def parse(self, output: AgentOutput) -> AgentResult:
        """A fixed sentence when the patch applied."""
        if output.timed_out or output.exit_code != 0:
            return AgentResult(error=broken_off(output))
        return AgentResult(answer="applied the solution", complete=True)


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
