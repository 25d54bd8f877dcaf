"""One test per error class: the exact sentence that a user reads."""

# ruff: noqa: E501  (a sentence that a user reads stands on one line, where a search finds it)

from collections.abc import Callable

import pytest

Sentences = Callable[..., list[str]]
ARM_KEYS = (
    "args, auth, command, env, factors, instructions, keys_from, kind, mcp_servers, model, name, overlay, "
    "parallel_setup, prepare, prompt_prefix, prompt_suffix, repos, rewrite, setup, skills, upstreams, uses"
)
QUESTION_KEYS = "expect, forbid, hidden, id, min_recall, prompt, repo, solution, timeout, verify"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "  - name: docs",
            "  - name: docs\n    setupp: [x]",
            f'trial.yaml:5: arms[1].setupp: unknown key; did you mean "setup"? Allowed: {ARM_KEYS}',
        ),
        (
            "name: small",
            "name: small\nzebra: 1",
            (
                "trial.yaml:2: zebra: unknown key; allowed: agents, arms, budget, capabilities, defaults, gateway, history, limits, "
                "name, network, prices, protect, questions, repos, retries, seed, setup_scope"
            ),
        ),
        (
            "    prompt:",
            "    promt:",
            f'trial.yaml:9: questions[0].promt: unknown key; did you mean "prompt"? Allowed: {QUESTION_KEYS}',
        ),
        (
            "name: small",
            "name: small\nprices: {m: {input: 1, output: 2, cached: 3}}",
            (
                'trial.yaml:2: prices.m.cached: unknown key; did you mean "cache_read"? '
                "Allowed: cache_read, cache_write, cache_write_1h, input, max_output, output"
            ),
        ),
        (
            "  - name: docs",
            "  - name: docs\n    mcp_servers: {a: {command: x, arg: [y]}}",
            'trial.yaml:5: arms[1].mcp_servers.a.arg: unknown key; did you mean "args"? Allowed: args, command, env, tools',
        ),
    ],
)
def test_an_unknown_key_is_named_with_its_place_and_the_nearest_key(
    sentences: Sentences, old: str, new: str, sentence: str
) -> None:
    assert sentences((old, new)) == [sentence]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('defaults: {reps: "four"}', 'defaults.reps: expected a whole number, got "four"'),
        ("defaults: {reps: 2.5}", "defaults.reps: expected a whole number, got 2.5"),
        ("defaults: {reps: true}", "defaults.reps: expected a whole number, got true"),
        ("defaults: {reps: 0}", "defaults.reps: must be at least 1, got 0"),
        ("defaults: {claim: yes}", 'defaults.claim: expected true or false, got "yes"'),
        ("defaults:", "defaults: expected keys and values, got nothing"),
        ("defaults: [1]", "defaults: expected keys and values, got a list"),
        (
            "defaults: {timeout: soon}",
            'defaults.timeout: expected a duration such as 90s, 15m or 2h, or a number of seconds, got "soon"',
        ),
        ("defaults: {timeout: 0}", "defaults.timeout: a duration must be more than 0 seconds, got 0"),
        (
            "limits: {memory: lots}",
            'limits.memory: expected a size such as 2g, 64m or 512k, or a number of bytes, got "lots"',
        ),
        ("limits: {cpus: 0}", "limits.cpus: must be at least 0.01, got 0"),
        ("limits: {cpus: 2000}", "limits.cpus: must be at most 1024, got 2000"),
        (
            "limits: {memory: 5m}",
            "limits.memory: 5242880 bytes are too little for a container; the engine's minimum is 6m",
        ),
        ("limits: {cpus: .inf}", "limits.cpus: expected a number, got inf"),
        ("seed: -1", "seed: must be at least 0, got -1"),
        ("protect: tests/**", 'protect: expected a list, got "tests/**"; write ["tests/**"]'),
        ("network: opne", 'network: "opne" is not allowed here; did you mean "open"? Allowed: open, sealed'),
        ("network: {allow: []}", "network.allow: must not be empty"),
        (
            "network: {allow: ['http://x/']}",
            'network.allow[0]: expected a host name such as pypi.example, got "http://x/"',
        ),
        (
            "gateway: {prompt_cache: no}",
            'gateway.prompt_cache: "no" is not allowed here; allowed: keep, off',
        ),
        ("budget: {usd: 1, tokens: 2}", "budget: needs exactly one of usd and tokens"),
        ("budget: {}", "budget: needs exactly one of usd and tokens"),
        ("prices: {m: {output: 2}}", "prices.m.input: missing; this key is required"),
        (
            "gateway: {upstreams: {openai: api.example}}",
            'gateway.upstreams.openai: expected a URL that begins with https:// or http://, got "api.example"',
        ),
        (
            "gateway: {upstreams: {openai: 'https://me:hunter2@api.example/v1'}}",
            (
                "gateway.upstreams.openai: holds a user name or a password, which must never stand in a spec; "
                "name the environment variable with the key in keys_from"
            ),
        ),
        (
            "gateway: {upstreams: {openai: 'https://api.example/v1?key=hunter2'}}",
            (
                "gateway.upstreams.openai: expected a URL without ? and #, because paths such as /messages are put "
                "behind it"
            ),
        ),
        (
            "gateway: {upstreams: {openai: 'https://api.example:99999/v1'}}",
            'gateway.upstreams.openai: "https://api.example:99999/v1" is not a URL: Port out of range 0-65535',
        ),
        (
            "gateway: {upstreams: {openai: 'https://[::1/v1'}}",
            'gateway.upstreams.openai: "https://[::1/v1" is not a URL: Invalid IPv6 URL',
        ),
        ("8: x", "a key must be text, got 8; put it in quotes"),
        (
            "retries: !!python/name:os.system x",
            "retries: the YAML tag !!python/name:os.system is not supported",
        ),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(sentences: Sentences, line: str, sentence: str) -> None:
    assert sentences(("name: small", f"name: small\n{line}"))[0] == f"trial.yaml:2: {sentence}"


def test_a_number_where_text_is_meant_asks_for_quotes(sentences: Sentences) -> None:
    changes = ("name: small", "name: small\nrepos:\n  - {name: r, source: https://example/r.git, ref: 8.1}")

    assert sentences(changes) == ["trial.yaml:3: repos[0].ref: expected text, got 8.1; put it in quotes"]


BASE = "id: q1, prompt: What, expect: [it]"
BAD_REGEX = "not a valid regular expression"
NO_DOTS = "expected a relative path without .., got"


@pytest.mark.parametrize(
    ("question", "path", "message"),
    [
        (f"{BASE}, repo: web", ".repo", 'there is no repo "web"; repos: none'),
        ("id: q1, prompt: What, expect: ['(']", ".expect[0]", f'{BAD_REGEX}: missing ), unterminated subpattern at position 0, in "("'),
        (f"{BASE}, forbid: ['[']", ".forbid[0]", f'{BAD_REGEX}: unterminated character set at position 0, in "["'),
        (f"{BASE}, min_recall: 1.5", ".min_recall", "must be at most 1, got 1.5"),
        (f"{BASE}, min_recall: -1", ".min_recall", "must be at least 0, got -1"),
        ("id: q1, prompt: What", "", "nothing decides whether an answer is right; add expect, verify or both"),
        (f"{BASE}, hidden: {{a: trial.yaml}}", "", "has hidden files but no verify command, which alone would see them; add verify"),
        (f"{BASE}, verify: t, hidden: {{a.py: no.py}}", '.hidden["a.py"]', 'the file "no.py" does not exist; paths are relative to the spec file'),
        (f"{BASE}, verify: t, hidden: {{../a.py: x}}", '.hidden["../a.py"]', f'{NO_DOTS} "../a.py"'),
        (f"{BASE}, verify: t, hidden: {{/a.py: x}}", '.hidden["/a.py"]', f'{NO_DOTS} "/a.py"'),
        (f"{BASE}, verify: t, hidden: {{.git/config: x}}", '.hidden[".git/config"]', 'expected a file of the workspace, got ".git/config"'),
        (f"{BASE}, solution: no.patch", ".solution", 'the file "no.patch" does not exist; paths are relative to the spec file'),
        (f"{BASE}, solution: ../no.patch", ".solution", f'{NO_DOTS} "../no.patch"'),
        (f"{BASE}, solution: /etc/passwd", ".solution", f'{NO_DOTS} "/etc/passwd"'),
        ("id: q1, prompt: '  ', expect: [it]", ".prompt", "must not be empty"),
        ("id: ' x', prompt: What, expect: [it]", ".id", 'must not begin or end with a blank, got " x"'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_question(sentences: Sentences, question: str, path: str, message: str) -> None:
    old = "  - id: q1\n    prompt: What is it?\n    expect: [it]\n"

    assert sentences((old, f"  - {{{question}}}\n")) == [f"trial.yaml:8: questions[0]{path}: {message}"]


@pytest.mark.parametrize(
    ("arm", "path", "message"),
    [
        ("overlay: no", "overlay", 'the folder "no" does not exist; paths are relative to the spec file'),
        ("overlay: trial.yaml", "overlay", 'the folder "trial.yaml" is a file, not a folder; paths are relative to the spec file'),
        ("uses: '*'", "uses", 'not a valid regular expression: nothing to repeat at position 0, in "*"'),
        ("repos: {app: web}", "repos.app", 'there is no repo "app"; repos: none'),
        ("mcp_servers: {a b: {command: x}}", 'mcp_servers["a b"]', 'expected a name of at most 64 letters, digits, - and _ that begins with a letter or digit, got "a b"'),
        ("skills: [{name: ../x, description: d, content: c}]", "skills[0].name",
         'expected a name of at most 64 letters, digits, - and _ that begins with a letter or digit, got "../x"'),
        ("mcp_servers: {_a: {command: x}}", "mcp_servers._a",
         'expected a name of at most 64 letters, digits, - and _ that begins with a letter or digit, got "_a"'),
        ("env: {A-B: x}", "env.A-B", '"A-B" is not the name of an environment variable'),
        ("env: {A: 1}", "env.A", "expected text, got 1; put it in quotes"),
        ("kind: cluade", "kind", 'unknown kind "cluade"; did you mean "claude"? Kinds that run today: claude, codex, mini, nop, oracle, text'),
        ("kind: gemini", "kind", 'kind "gemini" does not run yet; kinds that run today: claude, codex, mini, text, oracle, nop'),
        ("auth: none", "auth", '"none" is not allowed here; allowed: passthrough, placebo'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_arm(sentences: Sentences, arm: str, path: str, message: str) -> None:
    assert sentences(("  - name: docs", f"  - name: docs\n    {arm}")) == [
        f"trial.yaml:5: arms[1].{path}: {message}"
    ]


@pytest.mark.parametrize(
    ("agent", "path", "message"),
    [
        ("{name: claude}", "", "kind claude needs a model; pin it, so that all runs ask the same one: model: NAME"),
        ("{name: ours}", "", '"ours" is not the name of a kind, so add kind: how its output is read; kinds that run today: claude, codex, mini, nop, oracle, text'),
        ("{name: gemini, model: m}", ".name", 'kind "gemini" does not run yet; kinds that run today: claude, codex, mini, text, oracle, nop'),
        ("{name: mine, kind: text}", "", "kind text needs a command; for example command: my-agent {prompt}"),
        ("{name: codex, model: m, models: [n]}", "", "has both model and models; keep one of them"),
        ("{name: codex, model: m, effort: low, efforts: [x]}", "", "has both effort and efforts; keep one of them"),
        ("{name: codex, models: []}", ".models", "must not be empty"),
        ("{name: codex, model: m, sandbox: on}", ".sandbox",
         'the CLI\'s own sandbox can only be off, got "on"; inside Docker it fails on every command; the container is the sandbox'),
        ("{name: claude, model: m, effort: hgih}", ".effort", 'claude knows no effort "hgih"; use one of low, medium, high, xhigh, max'),
        ("{name: claude, model: m, efforts: [low, minimal]}", ".efforts[1]", 'claude knows no effort "minimal"; use one of low, medium, high, xhigh, max'),
        ('{name: codex, model: m, env: {A: "x\\0y"}}', ".env.A", "holds a NUL character, which no command line can carry; remove it"),
        ("{name: codex, models: [m, m]}", "", 'the agent "codex@m" is already defined on line 6'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_agent(sentences: Sentences, agent: str, path: str, message: str) -> None:
    assert sentences(("{name: claude, model: sonnet}", agent)) == [
        f"trial.yaml:6: agents[0]{path}: {message}"
    ]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name: docs", "name: plain", 'trial.yaml:4: arms[1]: the arm "plain" is already defined on line 3'),
        (
            "name: docs",
            "name: Plain",
            'trial.yaml:4: arms[1]: the arm "Plain" is too like "plain" on line 3: they would share a folder name',
        ),
        (
            "questions:\n",
            "questions:\n  - {id: q1, prompt: p, expect: [x]}\n",
            'trial.yaml:9: questions[1]: the question "q1" is already defined on line 8',
        ),
        (
            "name: small",
            "name: small\nrepos: [{name: r, source: https://example/r}, {name: r, source: https://example/s}]",
            'trial.yaml:2: repos[1]: the repo "r" is already defined on line 2',
        ),
        (
            "name: small",
            "name: small\ncapabilities: [{id: c, questions: [q1, q1]}]",
            'trial.yaml:2: capabilities[0].questions[1]: the question "q1" stands in it already',
        ),
        (
            "name: small",
            "name: small\ncapabilities: [{id: c, questions: [q2]}]",
            'trial.yaml:2: capabilities[0].questions[0]: there is no question "q2"; questions: q1',
        ),
        (
            "name: small",
            "name: small\ndefaults: {baseline: plane}",
            'trial.yaml:2: defaults.baseline: there is no arm "plane"; did you mean "plain"? Arms: docs, plain',
        ),
        (
            "name: small",
            "name: small\nrepos: [{name: r, source: nowhere}]",
            (
                'trial.yaml:2: repos[0].source: the repository "nowhere" does not exist; '
                "give a URL, or a path relative to the spec file"
            ),
        ),
        (
            "name: small",
            "name: small\nrepos: [{name: r, source: .}]",
            (
                'trial.yaml:2: repos[0].source: the folder "." is not a git repository; '
                "make it one with git init, add and commit"
            ),
        ),
        ("name: small", "name: small\nname: again", "trial.yaml:2: name: duplicate key, first on line 1"),
        ("    prompt: What is it?\n", "", "trial.yaml:8: questions[0].prompt: missing; this key is required"),
        (
            "name: small",
            "name: small\nbudget: {usd: 3}",
            (
                'trial.yaml:7: agents[0].model: the model "sonnet" has no price, so a limit in usd cannot cover it; '
                'add prices for "sonnet", or give the budget in tokens'
            ),
        ),
        (
            "name: small",
            "name: small\nlimits: {usd: 3}",
            (
                'trial.yaml:7: agents[0].model: the model "sonnet" has no price, so a limit in usd cannot cover it; '
                'add prices for "sonnet", or give the budget in tokens'
            ),
        ),
    ],
)
def test_names_references_and_prices(sentences: Sentences, old: str, new: str, sentence: str) -> None:
    assert sentences((old, new)) == [sentence]
