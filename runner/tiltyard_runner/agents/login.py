"""An agent's own login, for `auth: passthrough`: as little of it as a run needs, from where its CLI keeps it.

A run gets one value in its environment: never a file of the user's, so no settings, instructions, hooks or
memory travel along, and never a refresh token, with which an agent could keep a login for good.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltyard_specs.errors import UnavailableError
from tiltyard_specs.kinds import PROVIDER_OF_KIND

CLAUDE_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - the name of a variable
_CLAUDE_BEARER = "ANTHROPIC_AUTH_TOKEN"
_OAUTH_PREFIX = "sk-ant-oat"
_CLAUDE_HINT = f"log in with `claude`, or set {CLAUDE_TOKEN} to what `claude setup-token` prints"
_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
"""Under which name clients of a provider look for its key."""


@dataclass(frozen=True, slots=True)
class Login:
    """What an agent logs in with."""

    env: Mapping[str, str] = field(repr=False)
    """Variables of the agent's process, which hold the secret."""
    source: str
    """Where it was found, for people."""


def find_login(kind: str, keys_from: Mapping[str, str], environ: Mapping[str, str], *, now: float) -> Login:
    """The login of an agent of this kind.

    Args:
        kind: The agent's kind.
        keys_from: The agent's own: a provider's key or token stands in the variable of that name. Without one
            for the agent's provider, the login is the one that its CLI uses on this machine.
        environ: This machine's environment.
        now: The time, in seconds since 1970: logins expire.

    Raises:
        UnavailableError: There is none, or it has expired, or its calls could not be metered.
    """
    provider = PROVIDER_OF_KIND.get(kind)
    if keys_from and (provider is None or provider in keys_from):
        return _named(keys_from, environ)
    if kind == "claude":
        return _claude(environ, now)
    if kind == "codex":
        return _codex(environ)
    where = f"{{{provider or 'anthropic'}: NAME_OF_A_VARIABLE}}"
    raise UnavailableError(
        f"{kind} keeps no login of its own: name the variable that holds it, keys_from: {where}"
    )


def _named(keys_from: Mapping[str, str], environ: Mapping[str, str]) -> Login:
    env = {}
    for provider, name in keys_from.items():
        value = environ.get(name, "").strip()
        if not value:
            raise UnavailableError(
                f"the environment variable {name}, which should hold the login, is not set"
            )
        env[_variable(provider, name, value)] = value
    return Login(env, ", ".join(keys_from.values()))


def _variable(provider: str, name: str, value: str) -> str:
    """A token and a key are sent in different headers, and the CLI goes by the variable's name."""
    if provider == "anthropic" and value.startswith(_OAUTH_PREFIX):
        return CLAUDE_TOKEN
    return name if name == _CLAUDE_BEARER else _VARIABLES[provider]


def _claude(environ: Mapping[str, str], now: float) -> Login:
    if given := environ.get(CLAUDE_TOKEN, "").strip():
        return Login({CLAUDE_TOKEN: given}, CLAUDE_TOKEN)
    path = _folder(environ, "CLAUDE_CONFIG_DIR", ".claude") / ".credentials.json"
    login = _read(path, _CLAUDE_HINT).get("claudeAiOauth")
    token = login.get("accessToken") if isinstance(login, dict) else None
    if not isinstance(login, dict) or not isinstance(token, str) or not token:
        raise UnavailableError(f"there is no login of claude in {path}: {_CLAUDE_HINT}")
    expires = login.get("expiresAt")
    if isinstance(expires, int | float) and expires / 1000 <= now:
        raise UnavailableError(
            f"the login of claude in {path} has expired: start `claude` once, or {_CLAUDE_HINT}"
        )
    return Login({CLAUDE_TOKEN: token}, str(path))


def _codex(environ: Mapping[str, str]) -> Login:
    path = _folder(environ, "CODEX_HOME", ".codex") / "auth.json"
    found = _read(path, "log in with `codex login --with-api-key`")
    key = found.get("OPENAI_API_KEY")
    has_key = isinstance(key, str) and bool(key)
    # As codex itself decides: the mode if there is one, else a key before tokens.
    mode = found.get("auth_mode") or ("apikey" if has_key else "chatgpt" if found.get("tokens") else None)
    if mode == "apikey" and has_key:
        return Login({"OPENAI_API_KEY": str(key)}, str(path))
    if mode is None or mode == "apikey":
        raise UnavailableError(
            f"there is no login of codex in {path}: log in with `codex login --with-api-key`"
        )
    raise UnavailableError(
        f"the login of codex in {path} is a ChatGPT subscription, whose calls go past any gateway to a "
        "service of its own and cannot be metered: log in with `codex login --with-api-key`, "
        "or use auth: placebo"
    )


def _folder(environ: Mapping[str, str], variable: str, name: str) -> Path:
    """Where the CLI looks: its own variable, else the home."""
    return Path(environ.get(variable) or Path(environ.get("HOME") or Path.home()) / name)


def _read(path: Path, hint: str) -> dict[str, Any]:
    """A CLI's file, without a word of what stands in it: all of it is secret."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UnavailableError(f"there is no login: {path} does not exist; {hint}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UnavailableError(
            f"the login in {path} cannot be read ({type(error).__name__}); {hint}"
        ) from None
    return found if isinstance(found, dict) else {}
