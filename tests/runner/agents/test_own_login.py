"""`auth: passthrough`: of a login on this machine, one value and nothing else reaches the agent."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard_runner.agents import AgentTask, adapter_for, find_login
from tiltyard_specs.errors import UnavailableError

NOW = 1_800_000_000.0
TOKEN = "sk-ant-oat01-planted"
TASK = AgentTask(prompt="Do it", model="m", placebo_key="sk-placebo-7")
Home = Callable[..., dict[str, str]]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An environment whose home holds these files; a dictionary is written as JSON."""

    def make(**files: Any) -> dict[str, str]:
        for name, content in files.items():
            path = tmp_path / {"claude": ".claude/.credentials.json", "codex": ".codex/auth.json"}[name]
            path.parent.mkdir()
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return {"HOME": str(tmp_path)}

    return make


def claude_login(**changes: Any) -> dict[str, Any]:
    login = {"accessToken": TOKEN, "refreshToken": "sk-ant-ort01-planted", "expiresAt": (NOW + 60) * 1000}
    return {"claudeAiOauth": login | changes, "organizationUuid": "private"}


def test_claudes_token_is_taken_and_its_refresh_token_is_not(home: Home) -> None:
    login = find_login("claude", {}, home(claude=claude_login()), now=NOW)

    assert login.env == {"CLAUDE_CODE_OAUTH_TOKEN": TOKEN}
    assert login.source.endswith(".claude/.credentials.json")
    assert TOKEN not in repr(login)


def test_a_token_in_the_environment_comes_before_the_file(home: Home) -> None:
    environ = home(claude=claude_login()) | {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-other"}
    assert find_login("claude", {}, environ, now=NOW).env == {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-other"}


def test_the_clis_own_variables_say_where_their_files_are(home: Home, tmp_path: Path) -> None:
    environ = home(claude=claude_login(), codex={"OPENAI_API_KEY": "sk-own"})
    moved = {
        "HOME": "/nonexistent",
        "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"),
        "CODEX_HOME": str(tmp_path / ".codex"),
    }
    for kind in ("claude", "codex"):
        assert find_login(kind, {}, moved, now=NOW) == find_login(kind, {}, environ, now=NOW)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "does not exist; log in with `claude`"),
        ({"claude": "no JSON"}, r"cannot be read \(JSONDecodeError\)"),
        ({"claude": {"mcpOAuth": {}}}, "there is no login of claude in"),
        ({"claude": claude_login(accessToken="")}, "there is no login of claude in"),
        ({"claude": claude_login(expiresAt=(NOW - 1) * 1000)}, "has expired: start `claude` once"),
    ],
)
def test_a_login_of_claude_that_cannot_be_used_is_told(
    home: Home, files: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UnavailableError, match=sentence) as caught:
        find_login("claude", {}, home(**files), now=NOW)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "auth",
    [{"OPENAI_API_KEY": "sk-own"}, {"OPENAI_API_KEY": "sk-own", "auth_mode": "apikey", "tokens": None}],
)
def test_codexs_key_is_taken(home: Home, auth: dict[str, Any]) -> None:
    assert find_login("codex", {}, home(codex=auth), now=NOW).env == {"OPENAI_API_KEY": "sk-own"}


@pytest.mark.parametrize(
    "auth",
    [
        {"OPENAI_API_KEY": None, "tokens": {"access_token": "ey-planted"}},
        {"auth_mode": "chatgpt", "OPENAI_API_KEY": "sk-minted", "tokens": {"access_token": "ey-planted"}},
        {"auth_mode": "something-new", "OPENAI_API_KEY": "sk-own"},
    ],
)
def test_a_subscription_of_codex_cannot_be_metered_and_is_refused(home: Home, auth: dict[str, Any]) -> None:
    """Its calls go to a backend of ChatGPT, whatever base URL is set: nobody would count them."""
    with pytest.raises(UnavailableError, match=r"ChatGPT subscription.* cannot be metered") as caught:
        find_login("codex", {}, home(codex=auth), now=NOW)
    assert "planted" not in str(caught.value)


def test_codex_without_a_login_is_told(home: Home) -> None:
    with pytest.raises(UnavailableError, match=r"no login of codex in .*codex login"):
        find_login("codex", {}, home(codex={}), now=NOW)


@pytest.mark.parametrize(
    ("provider", "value", "variable"),
    [
        ("anthropic", TOKEN, "CLAUDE_CODE_OAUTH_TOKEN"),
        ("anthropic", "sk-ant-api03-own", "ANTHROPIC_API_KEY"),
        ("openai", "sk-own", "OPENAI_API_KEY"),
        ("gemini", "AIza-own", "GEMINI_API_KEY"),
    ],
)
def test_a_variable_that_the_spec_names_is_given_under_the_name_that_clients_read(
    provider: str, value: str, variable: str
) -> None:
    login = find_login("text", {provider: "MINE"}, {"MINE": f" {value}\n"}, now=NOW)
    assert (login.env, login.source) == ({variable: value}, "MINE")


@pytest.mark.parametrize(
    ("kind", "keys_from", "sentence"),
    [
        ("mini", {}, "mini keeps no login of its own.*keys_from: {openai: "),
        ("text", {}, "text keeps no login of its own"),
        ("claude", {"anthropic": "MINE"}, "MINE, which should hold the login, is not set"),
    ],
)
def test_a_variable_that_is_missing_is_told(kind: str, keys_from: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnavailableError, match=sentence):
        find_login(kind, keys_from, {"HOME": "/nonexistent"}, now=NOW)


@pytest.mark.parametrize(
    ("kind", "login"),
    [
        ("claude", {"CLAUDE_CODE_OAUTH_TOKEN": TOKEN}),
        ("codex", {"OPENAI_API_KEY": "sk-own"}),
        ("mini", {"OPENAI_API_KEY": "sk-own"}),
        ("text", {"ANTHROPIC_API_KEY": "sk-own"}),
    ],
)
def test_a_login_takes_the_placebos_place(kind: str, login: dict[str, str]) -> None:
    """Claude would prefer a key to a token, so no placebo may stand beside it."""
    launch = adapter_for(kind).launch(replace(TASK, login=login, command="run {prompt}"))

    assert launch.env.items() >= login.items()
    assert TASK.placebo_key not in launch.env.values()
    assert not any(next(iter(login.values())).encode() in file.content for file in launch.files)
