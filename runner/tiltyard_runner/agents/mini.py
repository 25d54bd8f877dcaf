"""mini-swe-agent: its command line and configuration. Tried with 2.4.6.

It has one tool, `bash`, and reads neither skills, nor instructions, nor MCP servers: an arm that brings any
of these does not reach it. What it prints is for people; its result is the trajectory, a file.
"""

import json
import re
from collections.abc import Mapping, Sequence

from tiltyard_runner.agents.command import checked_prompt, custom_command
from tiltyard_runner.agents.mini_result import parse_result
from tiltyard_runner.agents.model import (
    HOME,
    SCRATCH,
    AgentOutput,
    AgentResult,
    AgentTask,
    Launch,
    LaunchFile,
    Provider,
)
from tiltyard_specs.calls import Call

BUILTIN_CONFIG = "/opt/mini/mini.yaml"
"""The image's link to mini's own configuration; its bare name is looked for in the working tree first."""
CONFIG_FILE = f"{SCRATCH}/mini.yaml"
OWN_FOLDER = f"{HOME}/.config/mini-swe-agent"
TRAJECTORY = f"{OWN_FOLDER}/last_mini_run.traj.json"
"""Where mini puts it unless told otherwise, so that a command of the user's own leaves it there as well."""

FIXED_ENV: Mapping[str, str] = {
    "MSWEA_CONFIGURED": "true",  # else it asks for a key and a model
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_GLOBAL_CONFIG_DIR": OWN_FOLDER,
    "MSWEA_COST_TRACKING": "ignore_errors",  # else a model without a price ends the run
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "3",  # else 10 with back-off, and each is three requests
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it looks for newer prices on the network
}


class MiniAdapter:
    """mini-swe-agent, asking nobody, over Chat Completions."""

    kind = "mini"
    provider: Provider | None = "openai"
    layer: str | None = "mini"
    result_file: str | None = TRAJECTORY

    def treatment_files(self, task: AgentTask) -> tuple[LaunchFile, ...]:
        """None: it reads no such file."""
        del task
        return ()

    def launch(self, task: AgentTask) -> Launch:
        """The CLI without confirmations and without a cost limit of its own; the prompt is in a file."""
        env = {
            **FIXED_ENV,
            **task.keys("OPENAI_API_KEY"),
            "OPENAI_API_BASE": f"{task.gateway_url}/v1",
            "OPENAI_BASE_URL": f"{task.gateway_url}/v1",
            **({} if task.model is None else {"MSWEA_MODEL_NAME": _routed(task.model)}),
            **task.env,
        }
        if task.command is not None:
            return Launch(custom_command(task.command, task.prompt), env)
        argv = (
            *("mini", "--config", BUILTIN_CONFIG, "--config", CONFIG_FILE),
            *("--yolo", "--exit-immediately", "--cost-limit", "0", "--output", TRAJECTORY),
            *(() if task.model is None else ("--model", _routed(task.model))),
            *task.args,
        )
        return Launch(argv, env, (LaunchFile(CONFIG_FILE, _as_yaml(_settings(task)).encode()),))

    def parse(self, output: AgentOutput) -> AgentResult:
        """Read the trajectory, which the runner fetches as `usage_file`."""
        return parse_result(output)

    def missing_treatment(
        self, task: AgentTask, result: AgentResult, calls: Sequence[Call]
    ) -> tuple[str, ...]:
        """All that an arm may bring except files, commands, environment and words in the prompt."""
        del result, calls
        return (
            *(f"MCP server {name}: mini has no MCP" for name in task.mcp_servers),
            *(f"skill {skill.name}: mini loads no skills" for skill in task.skills),
            *(() if task.instructions is None else ("instructions: mini reads no such file",)),
        )


def _routed(model: str) -> str:
    """The prefix chooses litellm's client and is not sent, whatever slashes the model's own name has."""
    return f"openai/{model}"


def _settings(task: AgentTask) -> dict[str, object]:
    settings: dict[str, object] = {"run": {"task": checked_prompt(task.prompt)}}
    if task.max_turns is not None:
        settings["agent"] = {"step_limit": task.max_turns}
    if task.effort is not None:
        # As a parameter, mini would drop it for a model that litellm does not know to reason.
        settings["model"] = {"model_kwargs": {"extra_body": {"reasoning_effort": task.effort}}}
    return settings


def _as_yaml(value: object) -> str:
    """JSON is YAML but for characters that YAML refuses, takes as line ends or escapes in one, not two."""
    return re.sub(
        r"[^\x20-\x7e]", lambda found: f"\\U{ord(found[0]):08x}", json.dumps(value, ensure_ascii=False)
    )
