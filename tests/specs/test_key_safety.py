"""Keys: never in a spec, never in a message, never in what is written; and named when they are missing."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard_specs import MissingKeyError, Redactor, load_trial, looks_like_key, missing_keys, select
from tiltyard_specs.redact import MASK

KEYS = [
    "sk-ant-api03-abcdefgh1234",
    "sk-proj-AbCdEf123456789",
    "sk-abcdefghij0123456789",
    "sk-abcdefghijklmnopqrstuvwxyz",
    "sk-or-v1-0123456789abcdef",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "gho_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnop",
    "xoxb-123456789012-abcdefghij",
    "xoxp-123456789012-abcdefghij",
    "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow/+=\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\\nMIIEow==\\n",
]
INNOCENT = [
    "sk-placebo-0123456789abcdef0123",
    "Bearer sk-placebo-0123456789abcdef0123",
    "sk-learn-contrib-lightning",
    "risk-assessment-framework-2024-v2",
    "a bearer of authentication-and-authorization",
    "task-0123456789abcdef0123",
    "the -----BEGIN CERTIFICATE----- block",
    "AKIA is a prefix",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_noticed_and_masked_in_text_and_bytes(key: str) -> None:
    secret = key.removeprefix("Bearer ")
    text = f'before "{key}" after'

    assert looks_like_key(text)
    assert secret not in Redactor().text(text)
    assert secret.encode() not in Redactor().data(b"\xff" + text.encode())
    assert Redactor().text(text) == Redactor().data(text.encode()).decode()
    assert MASK in Redactor().text(text)
    assert Redactor().text(text).startswith('before "')


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_key_is_left_alone(text: str) -> None:
    assert not looks_like_key(text)
    assert Redactor(["sk-placebo-0123456789abcdef0123"]).text(text) == text
    assert Redactor().data(text.encode()) == text.encode()


def test_known_secrets_are_masked_in_every_written_form() -> None:
    secret = 'p"ss/wörd+1'
    redactor = Redactor([secret, "", "short"])
    written = [
        secret,
        json.dumps({"k": secret}),
        json.dumps({"k": secret}, ensure_ascii=False),
        "?k=p%22ss%2Fw%C3%B6rd%2B1",
    ]

    for text in written:
        assert "rd+1" not in redactor.text(text)
        assert "rd%2B1" not in redactor.text(text)
        assert MASK in redactor.text(text)
        assert MASK.encode() in redactor.data(text.encode())
    assert redactor.text("a short text") == "a short text"


def test_a_longer_secret_is_masked_whole() -> None:
    assert Redactor(["secret-1", "secret-1-and-more"]).text("secret-1-and-more") == MASK


@given(st.text(), st.text(min_size=6).filter(lambda s: not s.startswith("sk-placebo-")))
def test_a_known_secret_never_survives(around: str, secret: str) -> None:
    redacted = Redactor([secret]).text(around + secret + around)

    assert secret not in redacted.replace(MASK, "\0")


@given(st.binary())
def test_bytes_of_any_kind_pass_through(data: bytes) -> None:
    assert Redactor().data(Redactor().data(data)) == Redactor().data(data)


@pytest.mark.parametrize("key", KEYS[:12])
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("What is it?", "{key}", "questions[0].prompt"),
        ("name: docs", "name: docs\n    env: {{TOKEN: '{key}'}}", "arms[1].env.TOKEN"),
        ("name: small", "name: small\ngateway: {{keys_from: {{openai: '{key}'}}}}", "gateway.keys_from.openai"),
        ("name: small", "name: small\n'{key}': 1", ""),
    ],
)  # fmt: skip
def test_a_literal_key_in_a_spec_is_an_error_that_never_shows_it(
    sentences: Callable[..., list[str]], key: str, old: str, new: str, path: str
) -> None:
    (found, *more) = sentences((old, new.format(key=key)))

    assert not more
    assert f": {path}" in found
    assert "holds what looks like a key, which must never stand in a spec" in found
    assert key not in found


def test_a_key_in_a_comment_is_found_too(sentences: Callable[..., list[str]]) -> None:
    assert sentences(("name: small", f"name: small # {KEYS[0]}")) == [
        (
            "trial.yaml:1: this line holds what looks like a key, which must never stand in a spec; put it into an "
            "environment variable and name that in gateway.keys_from; revoke it if others saw it"
        )
    ]


def test_keys_from_takes_names_and_never_shows_what_else_stands_there(
    sentences: Callable[..., list[str]],
) -> None:
    assert sentences(("name: small", "name: small\ngateway: {keys_from: {openai: my secret!}}")) == [
        (
            "trial.yaml:2: gateway.keys_from.openai: expected the NAME of an environment variable, such as "
            "ANTHROPIC_API_KEY, not a value; put the key into that variable; it never stands in the spec"
        )
    ]


def test_a_syntax_error_does_not_show_a_key(sentences: Callable[..., list[str]]) -> None:
    assert KEYS[0] not in "".join(sentences(text=f"name: !{KEYS[0]} x\n"))


AGENTS = """\
  - {name: claude, model: sonnet}
  - {name: codex, model: gpt}
  - {name: mine, kind: text, command: run}"""


@pytest.fixture
def three_agents(write: Callable[..., Path]) -> Path:
    gateway = "gateway: {keys_from: {anthropic: CLAUDE_KEY}}"
    return write(("  - {name: claude, model: sonnet}", AGENTS), ("name: small", f"name: small\n{gateway}"))


def test_missing_keys_are_named_with_the_place_that_asks_for_them(
    three_agents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(three_agents.parent)
    problems = missing_keys(load_trial("trial.yaml"), {"CLAUDE_KEY": ""})

    assert [str(problem) for problem in problems] == [
        (
            'trial.yaml:2: gateway.keys_from.anthropic: the environment variable CLAUDE_KEY, with the anthropic key of "claude", '
            "is not set; export CLAUDE_KEY, or name another one in gateway.keys_from"
        ),
        (
            'trial.yaml:8: agents[1]: the environment variable OPENAI_API_KEY, with the openai key of "codex", is not set; '
            "export OPENAI_API_KEY, or name another one in gateway.keys_from"
        ),
    ]
    assert MissingKeyError(problems).exit_code == 69


def test_keys_that_are_set_or_not_needed_are_not_missed(three_agents: Path) -> None:
    trial = load_trial(three_agents)

    assert missing_keys(trial, {"CLAUDE_KEY": "x", "OPENAI_API_KEY": "y"}) == ()
    assert missing_keys(select(trial, agents=["mine"]), {}) == ()
    assert len(missing_keys(select(trial, agents=["codex", "mine"]), {})) == 1


@pytest.mark.parametrize(
    ("more", "missed"),
    [("", []), (", model: m", ["CLAUDE_KEY"]), (", keys_from: {openai: MINE}", ["CLAUDE_KEY", "MINE"])],
)
def test_a_command_that_names_a_model_or_a_key_needs_it(
    write: Callable[..., Path], more: str, missed: list[str]
) -> None:
    """Without the key each of its calls would be refused, and each answer wrong."""
    agent = f"{{name: own, kind: text, command: 'ask {{prompt}}'{more}}}"
    gateway = "gateway: {keys_from: {anthropic: CLAUDE_KEY}}"
    path = write(("{name: claude, model: sonnet}", agent), ("name: small", f"name: small\n{gateway}"))

    said = [str(problem) for problem in missing_keys(load_trial(path), {})]
    assert len(said) == len(missed)
    assert all(any(name in sentence for sentence in said) for name in missed)


@pytest.mark.parametrize(
    "agent",
    [
        "{name: claude, model: m, auth: passthrough}",
        "{name: claude, model: m, upstreams: {anthropic: 'http://localhost:1'}}",
    ],
)
def test_an_own_login_or_an_own_server_needs_no_default_key(write: Callable[..., Path], agent: str) -> None:
    assert missing_keys(load_trial(write(("{name: claude, model: sonnet}", agent))), {}) == ()
