"""The command lines: what a spec asks for, and prompts that must stay prompts."""

import json
import os
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tiltyard_runner.agents import (
    KINDS,
    SCRATCH,
    AgentTask,
    Launch,
    LaunchFile,
    Skill,
    adapter_for,
)
from tiltyard_specs.errors import DataError

SERVERS: dict[str, dict[str, object]] = {
    "my-srv": {"command": "npx", "args": ["@acme/mcp", 'a "b" \\ ü'], "env": {"X": "1"}, "tools": ["find"]},
    "all": {"command": "serve", "tools": ["*"]},
}
TASK = AgentTask(prompt="Do it", model="m-1", gateway_url="http://127.0.0.1:1", placebo_key="sk-placebo-7")
AWKWARD = ["-x", "--help", "a 'b' \"c\" $HOME `id` \\", "two\nlines\n", "ü😀", "/help", "{prompt}", ""]


def option(argv: tuple[str, ...], name: str) -> str:
    return argv[argv.index(name) + 1]


def codex_settings(argv: tuple[str, ...]) -> dict[str, Any]:
    """What codex makes of its -c flags: each is a key and a TOML value."""
    flags = [argv[at + 1] for at, part in enumerate(argv) if part == "-c"]
    return tomllib.loads("\n".join(flag.replace("=", " = ", 1) for flag in flags))


def test_claude_asks_nobody_in_its_container_and_has_no_web() -> None:
    argv = (
        adapter_for("claude")
        .launch(replace(TASK, edits=True, effort="low", max_turns=3, args=("--bare",)))
        .argv
    )
    assert argv[:6] == ("claude", "-p", "--output-format", "stream-json", "--verbose", "--model")
    assert "--dangerously-skip-permissions" in argv
    assert option(argv, "--disallowedTools") == "WebSearch,WebFetch"
    assert (option(argv, "--model"), option(argv, "--effort"), option(argv, "--max-turns")) == (
        "m-1",
        "low",
        "3",
    )
    assert argv[-3:] == ("--bare", "--", "Do it")


def test_claude_without_edits_may_read_and_run_and_call_the_arms_servers() -> None:
    argv = adapter_for("claude").launch(replace(TASK, mcp_servers=SERVERS)).argv
    assert "--dangerously-skip-permissions" not in argv
    assert option(argv, "--allowedTools") == "Bash,Read,Grep,Glob,mcp__my-srv__find,mcp__all"
    assert option(argv, "--disallowedTools") == "WebSearch,WebFetch,Edit,Write,NotebookEdit"
    assert "--strict-mcp-config" in argv
    servers = json.loads(option(argv, "--mcp-config"))["mcpServers"]
    assert servers["my-srv"] == {"command": "npx", "args": ["@acme/mcp", 'a "b" \\ ü'], "env": {"X": "1"}}
    assert servers["all"] == {"command": "serve"}


def test_claude_talks_to_the_gateway_and_to_nobody_else() -> None:
    env = adapter_for("claude").launch(replace(TASK, env={"CLAUDE_CODE_MAX_RETRIES": "0", "MINE": "x"})).env
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert env["ANTHROPIC_API_KEY"] == "sk-placebo-7"
    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert env["MCP_CONNECTION_NONBLOCKING"] == "0"
    assert env["ENABLE_TOOL_SEARCH"] == "false"
    assert (env["CLAUDE_CODE_MAX_RETRIES"], env["MINE"]) == ("0", "x")  # the spec's own word wins


def test_claude_refuses_an_effort_that_the_cli_would_ignore() -> None:
    with pytest.raises(
        DataError, match="claude knows no effort 'huge'; use one of low, medium, high, xhigh, max"
    ):
        adapter_for("claude").launch(replace(TASK, effort="huge"))


def test_codex_has_all_its_configuration_in_flags() -> None:
    launch = adapter_for("codex").launch(
        replace(TASK, effort="low", mcp_servers=SERVERS, args=("--color", "never"))
    )
    assert launch.argv[:7] == (
        *("codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox"),
        *("--skip-git-repo-check", "--ephemeral", "--ignore-user-config"),
    )
    assert launch.argv[-4:] == ("--color", "never", "--", "Do it")
    settings = codex_settings(launch.argv)
    provider = settings["model_providers"][settings["model_provider"]]
    assert provider["base_url"] == "http://127.0.0.1:1/v1"
    assert launch.env[provider["env_key"]] == "sk-placebo-7"
    assert (provider["wire_api"], provider["request_max_retries"]) == ("responses", 2)
    assert (settings["model"], settings["model_reasoning_effort"]) == ("m-1", "low")
    assert (settings["web_search"], settings["analytics"]) == ("disabled", {"enabled": False})
    assert settings["mcp_servers"]["all"] == {"command": "serve", "required": True}
    assert settings["mcp_servers"]["my-srv"] == {
        "command": "npx",
        "args": ["@acme/mcp", 'a "b" \\ ü'],
        "env": {"X": "1"},
        "required": True,
        "enabled_tools": ["find"],
    }


def test_a_custom_codex_command_finds_the_same_configuration_in_its_home() -> None:
    own = adapter_for("codex").launch(replace(TASK, mcp_servers=SERVERS))
    custom = adapter_for("codex").launch(replace(TASK, mcp_servers=SERVERS, command="loop {prompt}"))
    assert custom.argv == ("sh", "-c", "loop 'Do it'")
    assert custom.env == own.env
    (config,) = custom.files
    assert config.path == "/home/agent/.codex/config.toml"
    assert tomllib.loads(config.content.decode()) == codex_settings(own.argv)


def test_a_custom_claude_command_has_the_environment_of_the_cli() -> None:
    custom = adapter_for("claude").launch(replace(TASK, command="my-loop"))
    assert custom.argv == ("sh", "-c", "my-loop")
    assert custom.env == adapter_for("claude").launch(TASK).env


def test_mini_asks_nobody_and_has_no_limit_but_the_spec_s() -> None:
    task = replace(TASK, effort="low", max_turns=7, args=("-c", "environment.timeout=60"))
    launch = adapter_for("mini").launch(task)
    result_file = adapter_for("mini").result_file
    assert result_file is not None
    assert launch.argv[0] == "mini"
    assert {"--yolo", "--exit-immediately"} < set(launch.argv)
    assert (option(launch.argv, "--cost-limit"), option(launch.argv, "--model")) == ("0", "openai/m-1")
    assert option(launch.argv, "--output") == result_file
    assert launch.argv[-2:] == ("-c", "environment.timeout=60")
    assert yaml.safe_load(launch.files[0].content) == {
        "run": {"task": "Do it"},
        "agent": {"step_limit": 7},
        "model": {"model_kwargs": {"extra_body": {"reasoning_effort": "low"}}},
    }
    assert launch.env["OPENAI_API_BASE"] == "http://127.0.0.1:1/v1"
    assert launch.env["OPENAI_API_KEY"] == "sk-placebo-7"
    assert launch.env["MSWEA_CONFIGURED"] == "true"
    assert launch.env["MSWEA_COST_TRACKING"] == "ignore_errors"


def test_a_custom_mini_command_finds_model_and_gateway_and_leaves_its_trajectory_in_its_place() -> None:
    custom = adapter_for("mini").launch(replace(TASK, command="mini -y -t {prompt}"))
    assert custom.argv == ("sh", "-c", "mini -y -t 'Do it'")
    assert custom.env["MSWEA_MODEL_NAME"] == "openai/m-1"
    own_place = f"{custom.env['MSWEA_GLOBAL_CONFIG_DIR']}/last_mini_run.traj.json"
    assert adapter_for("mini").result_file == own_place


@pytest.mark.parametrize("prompt", [*AWKWARD, "x" * 200_000, "\x85\x7f\u2028\ufffe{{task}} # 'a': \t\r\n"])
def test_a_prompt_for_mini_survives_its_configuration_file(prompt: str) -> None:
    (file,) = adapter_for("mini").launch(replace(TASK, prompt=prompt)).files
    assert yaml.safe_load(file.content)["run"]["task"] == prompt


def test_only_mini_leaves_its_result_in_a_file() -> None:
    assert [kind for kind in KINDS if adapter_for(kind).result_file] == ["mini"]


@pytest.mark.parametrize("prompt", AWKWARD)
@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_no_prompt_is_read_as_an_option(kind: str, prompt: str) -> None:
    assert adapter_for(kind).launch(replace(TASK, prompt=prompt)).argv[-2:] == ("--", prompt)


@pytest.mark.parametrize(
    ("kind", "prompt"), [("claude", "x" * 200_000), ("codex", "x" * 200_000), ("codex", "-")]
)
def test_a_prompt_that_is_no_argument_comes_from_a_file(kind: str, prompt: str, tmp_path: Path) -> None:
    """Linux takes no argument of 128 KiB, and codex takes a lone dash for standard input."""
    launch = adapter_for(kind).launch(replace(TASK, prompt=prompt))
    (file,) = launch.files
    assert file.content.decode() == prompt
    fake = tmp_path / kind
    fake.write_text("#!/bin/sh\nexec cat\n")
    fake.chmod(0o755)
    assert run(launch, tmp_path) == prompt


@pytest.mark.parametrize("prompt", AWKWARD)
def test_a_custom_command_gets_the_prompt_as_one_word(prompt: str, tmp_path: Path) -> None:
    task = replace(TASK, prompt=prompt, command="printf %s. {prompt} {prompt}")
    assert run(adapter_for("text").launch(task), tmp_path) == f"{prompt}.{prompt}."


def test_a_text_command_is_told_where_the_gateway_is(tmp_path: Path) -> None:
    command = 'echo "$OPENAI_BASE_URL $OPENAI_API_KEY $ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY"'
    said = run(adapter_for("text").launch(replace(TASK, command=command)), tmp_path)
    assert said == "http://127.0.0.1:1/v1 sk-placebo-7 http://127.0.0.1:1 sk-placebo-7\n"


@pytest.mark.parametrize(
    ("kind", "task", "sentence"),
    [
        ("text", TASK, "An agent of kind text needs a command"),
        ("oracle", TASK, "The oracle needs a solution"),
        ("claude", replace(TASK, prompt="a\0b"), "The prompt holds a NUL character"),
        (
            "codex",
            replace(TASK, prompt="x" * 130_000, command="loop {prompt}"),
            "is 130005 bytes; a custom command",
        ),
    ],
)
def test_what_cannot_start_says_why(kind: str, task: AgentTask, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        adapter_for(kind).launch(task)


def test_an_unknown_kind_names_the_known_ones() -> None:
    assert KINDS == ("claude", "codex", "mini", "text", "oracle", "nop")
    with pytest.raises(
        DataError, match="no agent kind 'cluade'; the kinds are claude, codex, mini, text, oracle, nop"
    ):
        adapter_for("cluade")


def test_skills_and_instructions_lie_where_each_cli_reads_them() -> None:
    skill = Skill("acme", 'Says: "this" # and that', "How to use it\n")
    task = replace(TASK, skills=(skill,), instructions="Be brief.")
    text = b'---\nname: acme\ndescription: "Says: \\"this\\" # and that"\n---\n\nHow to use it\n'
    assert adapter_for("claude").treatment_files(task) == (
        LaunchFile("/workspace/.claude/skills/acme/SKILL.md", text),
        LaunchFile("/workspace/CLAUDE.md", b"Be brief."),
    )
    assert [file.path for file in adapter_for("codex").treatment_files(task)] == [
        "/workspace/.agents/skills/acme/SKILL.md",
        "/workspace/AGENTS.md",
    ]
    assert adapter_for("nop").treatment_files(task) == ()


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden"])
def test_a_skill_name_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(DataError, match="is not usable as a folder name"):
        adapter_for("claude").treatment_files(replace(TASK, skills=(Skill(name, "d", "c"),)))


def run(launch: Launch, folder: Path) -> str:
    """Really run a launch, its scratch files and its programs in a folder of the test's."""
    scratch = folder / "scratch"
    for file in launch.files:
        place = Path(file.path.replace(SCRATCH, str(scratch)))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
    argv = [part.replace(SCRATCH, str(scratch)) for part in launch.argv]
    env = {"PATH": f"{folder}:{os.environ['PATH']}", **launch.env}
    done = subprocess.run(
        argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return done.stdout.decode()
