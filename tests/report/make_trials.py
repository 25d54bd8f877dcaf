"""Hand-made trials that hit every branch of a report. Each returns the arguments of `analyse`."""

from collections.abc import Callable
from typing import Any

from tests.report import make_records as make

Arguments = dict[str, Any]


def receipt(**changes: Any) -> dict[str, Any]:
    """A trial.json of two arms."""
    spec: dict[str, Any] = {
        "name": "docs-layer",
        "network": "sealed",
        "arms": [{"name": "plain"}, {"name": "docs"}],
    }
    spec |= {"defaults": {"baseline": "plain"}, "agents": [{"name": "codex"}, {"name": "claude"}]}
    spec |= {"questions": [{"id": "inherit"}, {"id": "fix-range"}]}
    return {
        "schema_version": 1,
        "trial": "docs-layer",
        "spec": spec,
        "policy": {"network": "sealed"},
    } | changes


def two_agents() -> Arguments:
    """A clear difference with codex, none with claude; most outcomes; retried attempts."""
    records = [
        *make.series("inherit", "plain", "codex", [120_000, 118_000, 125_000, 70_000, 65_000, 93_000]),
        *make.series(
            "inherit", "docs", "codex", [62_000, 61_000, 57_000, 67_000, 52_000, 54_000], used_tool=True
        ),
        *make.series("fix-range", "plain", "codex", [20_000, 22_000, 25_000, 19_000]),
        *make.series("fix-range", "docs", "codex", [12_000, 13_000, 11_000, 12_500], used_tool=False),
        *make.series("inherit", "plain", "claude", [20_000, 22_000, 25_000, 19_000], model="claude-sonnet-5"),
        *make.series("inherit", "docs", "claude", [22_000, 23_000, 21_000, 22_500], model="claude-sonnet-5"),
    ]
    records[3] |= {"outcome": "infra", "reason": "provider answered 529 | overloaded\n`again`"}
    records[5] |= {"outcome": "timeout", "reason": "15m"}
    records[8] |= {"outcome": "no_answer", "reason": "exit code 3"}
    records[9] |= {"outcome": "failed", "reason": "missing \\bArgument\\b"}
    records[13] |= {
        "outcome": "tampered",
        "reason": "tests/test_types.py",
        "warnings": ["patch of 3 MB was cut."],
    }
    attempts = [records[3] | {"attempt": 1}, records[3] | {"attempt": 2, "usage": None, "metered": None}]
    return {"records": records, "receipt": receipt(runs_expected=len(records)), "attempts": attempts}


def partial() -> Arguments:
    """A trial of 16 runs of which 10 are recorded."""
    records = [*make.series("inherit", "plain", "codex", [20_000 + 900 * i for i in range(5)])]
    records += make.series("inherit", "docs", "codex", [11_000 + 700 * i for i in range(5)])
    return {"records": records, "receipt": receipt(runs_expected=16)}


def unhealthy() -> Arguments:
    """Failed setup, undelivered tools, unmetered and cancelled runs; open network; drift; few runs left."""
    records = [
        *make.series("inherit", "plain", "codex", [20_000, 22_000, 25_000, 23_000]),
        *make.series(
            "inherit", "docs", "codex", [12_000, 11_500, 13_000, None, None], versions={"agent": "1.1.0"}
        ),
    ]
    records[3] |= {"outcome": "cancelled", "reason": "budget"}
    records[6] |= {"outcome": "unmetered", "usage": None, "metered": None}
    records[7] |= {"outcome": "setup_failed", "reason": "install.py: exit 1"}
    records[8] |= {"outcome": "undelivered", "reason": "skill acme"}
    records[1] |= {"images": {"base": {"id": "sha256:other"}}}
    return {"records": records, "receipt": receipt(runs_expected=9, policy={"network": "open"})}


def scripted() -> Arguments:
    """Scripted replies: no spread at all, so no interval and no verdict; hosts are allowed."""
    records = [*make.series("inherit", "plain", "codex", [20_000] * 4)]
    records += make.series("inherit", "docs", "codex", [12_000] * 4)
    network = {"allow": ["a.example", "b.example"]}
    return {
        "records": records,
        "receipt": receipt(runs_expected=8, policy={"network": network, "models": "scripted"}),
    }


def unknown_cost() -> Arguments:
    """An agent without a meter: no tokens, no cost, pass rates only; no receipt."""
    changes = {"kind": "text", "turns": None, "model": None, "reported": None}
    records = [*make.series("inherit", "plain", "probe", [None] * 4, **changes)]
    records += make.series("inherit", "docs", "probe", [None] * 4, **changes)
    records[0] |= {"outcome": "failed"}
    return {"records": records, "baseline": "plain"}


def one_arm() -> Arguments:
    """Nothing to compare; two capabilities share a question; one run each."""
    records = [
        make.record("inherit", "plain", "codex@gpt-a@low", 1, 20_000, capability="navigation", run_id="n"),
        make.record("inherit", "plain", "codex@gpt-a@low", 1, 24_000, capability="reading", run_id="r"),
    ]
    return {"records": records}


def reported_tokens() -> Arguments:
    """Reported tokens, no cost; a question that one side lacks; a lone run that borrows spread."""
    rows = [
        *make.series("inherit", "plain", "claude", [20_000, 21_000, 23_000, 24_000]),
        *make.series("inherit", "docs", "claude", [24_000, 26_000, 25_000, 27_000]),
        *make.series("fix-range", "plain", "claude", [40_000]),
        *make.series("fix-range", "docs", "claude", [41_000, 43_000]),
        *make.series("extra", "docs", "claude", [9_000]),
    ]
    for row in rows:
        row |= {"metered": None, "reported": {"usage": row["usage"], "cost_usd": None}}
    return {"records": rows, "baseline": "plain"}


def cut_off() -> Arguments:
    """An arm that hangs, so that its last calls are not fully known; another in which two runs do."""
    ends = {"outcome": "timeout", "reason": "15m", "seconds": 900.0}
    base = [20_000, 22_000, 25_000, 19_000]
    records = []
    for question in ("inherit", "fix-range"):
        records += make.series(question, "plain", "codex", base)
        hung = make.series(question, "hang", "codex", [value // 2 for value in base], **ends)
        records += [make.cut(record, 5, 0.25) for record in hung]
        some = make.series(question, "map", "codex", [value // 2 for value in base])
        records += [*some[:3], make.cut(some[3] | ends, 1, 0.25)]
    return {"records": records, "baseline": "plain"}


def hostile() -> Arguments:
    """Names, reasons and warnings that a terminal would obey, or that break out of a cell."""
    bad = "\x1b[2J\x07\x9b31m\u202e\u2066\n| x"
    changes = {"outcome": "failed", "reason": f"r{bad}", "warnings": [f"w{bad}"], "model": f"m{bad}"}
    records = [*make.series(f"q{bad}", f"a{bad}", f"g{bad}", [20_000, 22_000], **changes)]
    records += make.series(f"other{bad}", f"b{bad}", f"g{bad}", [20_000, None], **changes)
    records[0] |= {"versions": {f"v{bad}": f"1{bad}"}, "images": {f"i{bad}": f"x{bad}"}, "run_id": bad}
    records[1] |= {"versions": {f"v{bad}": f"2{bad}"}, "images": {f"i{bad}": f"y{bad}"}}
    records += _reference(f"audit{bad}", oracle=("failed", "infra"), nop=("passed", "failed"))
    records[-4] |= {"reason": f"because{bad}"}
    policy = {"network": {"allow": [f"host{bad}"]}}
    return {"records": records, "receipt": receipt(trial=f"t{bad}", policy=policy), "baseline": f"a{bad}"}


def claims() -> Arguments:
    """Agents asked what they did to check their answers: true, false, broken and missing claims."""
    records = [
        *make.series("inherit", "plain", "codex", [20_000, 22_000, 25_000, 19_000, 21_000]),
        *make.series("inherit", "docs", "codex", [12_000, 13_000, 11_000, 12_500, 12_000]),
    ]
    ends = ["passed", "failed", "failed", "passed", "timeout"] * 2
    stated = ["passed", "passed", "not-run", "not-run", "passed", "failed", None, "passed", None, None]
    for index, (record, outcome, result) in enumerate(zip(records, ends, stated, strict=True)):
        claim: dict[str, Any] = (
            {"state": "absent"} if index % 2 else {"state": "malformed", "problem": "no JSON"}
        )
        if result:
            lacks = {"missing": ["A database.", "| x"], "could_not_verify": [f"case {index}", "the\tdocs"]}
            claim = {"state": "stated", "result": result, **lacks}
        record |= {"outcome": outcome, "reason": None, "claim": claim}
    records[2]["claim"]["missing"] = ["a  Database"]
    return {"records": records, "receipt": receipt(runs_expected=len(records))}


def empty() -> Arguments:
    """A trial that has not begun."""
    return {"records": [], "receipt": receipt(runs_expected=4)}


def all_lost() -> Arguments:
    """Nothing worked: every run was lost."""
    records = [
        make.record(
            "inherit", arm, "codex", 1, None, outcome="infra", reason="the provider answered 401: key."
        )
        for arm in ("plain", "docs")
    ]
    return {"records": records, "receipt": receipt(runs_expected=2)}


def audit() -> Arguments:
    """Two competitors with scripted replies, and an oracle and a nop that find two questions unsound."""
    records = [
        *make.series("inherit", "plain", "codex", [20_000, 22_000, 25_000, 19_000]),
        *make.series("inherit", "docs", "codex", [12_000, 13_000, 11_000, 12_500]),
        *make.series("inherit", "plain", "claude", [30_000, 32_000, 35_000, 29_000]),
        *make.series("inherit", "docs", "claude", [18_000, 19_000, 17_000, 19_500]),
        *_reference("fix-range", oracle=("passed", "passed"), nop=("failed", "failed")),
        *_reference("fix-padding", oracle=("passed", "infra"), nop=("passed", "passed")),
        *_reference("fix-name", oracle=("failed", "failed"), nop=("failed", "passed")),
    ]
    facts = receipt(runs_expected=len(records), policy={"network": "sealed", "models": "scripted"})
    return {"records": records, "receipt": facts}


def audit_alone() -> Arguments:
    """Questions are audited before any money is spent."""
    records = _reference("fix-range", oracle=("passed", "passed"), nop=("failed", "failed"))
    return {"records": records, "receipt": receipt(runs_expected=len(records))}


def _reference(question: str, **ends: tuple[str, ...]) -> list[dict[str, Any]]:
    """Runs of the oracle and nop, one per arm."""
    return [
        make.record(
            question,
            arm,
            f"{kind}-agent",
            1,
            None,
            kind=kind,
            model=None,
            outcome=end,
            reason=None if end == "passed" else "verify ended with exit code 1",
        )
        for kind, outcomes in ends.items()
        for arm, end in zip(("plain", "docs"), outcomes, strict=True)
    ]


def many_arms() -> Arguments:
    """Five arms with three agents: more than one line of a terminal or one sentence can hold."""
    base = [20_000, 22_000, 25_000, 19_000, 21_000, 23_000, 20_500, 22_500]
    shifts = {"plain": 1.0, "docs": 0.6, "graph": 1.02, "skills": 1.6, "docs-and-skills": 0.5}
    records = []
    for agent in ("claude", "codex@gpt-a@low", "codex@gpt-a@high"):
        for arm, shift in shifts.items():
            few = base[:3] if (agent, arm) == ("claude", "graph") else base
            values = [int(value * shift) for value in few]
            for question in ("inherit", "fix-range"):
                cut = values[:1] if len(few) < len(base) else values
                records += make.series(question, arm, agent, cut, used_tool=arm != "plain" or None)
    return {"records": records, "baseline": "plain"}


def broken() -> Arguments:
    """An agent that never answers, a verify command that cannot run, and too many runs lost."""
    verify = {"command": "pytest", "exit_code": 127, "passed": False, "seconds": 0.1, "timed_out": False}
    failed = {"outcome": "failed", "reason": "verify ended with exit code 127", "verify": verify}
    silent = {"outcome": "no_answer", "reason": "crash: no config file", "kind": "text"}
    records = [
        *make.series("fix-range", "plain", "codex", [20_000, 22_000, 25_000, 19_000], **failed),
        *make.series("fix-range", "docs", "codex", [12_000, 13_000, 11_000, 12_500], **failed),
        *make.series("inherit", "plain", "probe", [None] * 4, **silent),
        *make.series("inherit", "docs", "probe", [None] * 4, **silent),
    ]
    records[9] |= {"outcome": "infra", "reason": "the engine stopped"}
    return {"records": records, "receipt": receipt(runs_expected=len(records))}


ALL: dict[str, Callable[[], Arguments]] = {
    function.__name__: function
    for function in (
        two_agents,
        partial,
        unhealthy,
        scripted,
        unknown_cost,
        one_arm,
        reported_tokens,
        all_lost,
        audit,
        audit_alone,
        many_arms,
        broken,
        cut_off,
        hostile,
        claims,
        empty,
    )
}
