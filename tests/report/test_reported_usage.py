"""Usage as agents report it beside what the meter saw, with the reason of a difference."""

import json
from types import ModuleType
from typing import Any

from tiltyard_report import analyse, render_json, render_markdown
from tiltyard_report.model import Report

TITLE = "## Usage as reported and as metered"


def _record(make: ModuleType, rep: int, reported: int | None, metered: int = 100_000, **changes: Any) -> Any:
    usage = None if reported is None else make.usage_of(reported)
    return make.record("q", "plain", "codex", rep, metered, reported={"usage": usage}, **changes)


def _difference(*causes: tuple[str, int | None], explained: bool = True) -> dict[str, Any]:
    return {
        "tokens": None,
        "usd": None,
        "causes": [{"code": code, "calls": 1, "tokens": tokens} for code, tokens in causes],
        "explained": explained,
    }


def _section(report: Report) -> str:
    text = render_markdown(report)
    return text.partition(TITLE)[2].partition("\n## ")[0]


def test_both_sums_stand_side_by_side_with_the_reasons(make: ModuleType) -> None:
    report = analyse(
        [
            _record(make, 1, 100_000),
            _record(make, 2, 90_000, difference=_difference(("side_calls", 10_000))),
            _record(make, 3, 60_000, difference=_difference(("side_calls", 10_000), ("cut_stream", 30_000))),
            _record(make, 4, None, difference=_difference(("no_usage_printed", None), explained=False)),
        ]
    )
    section = _section(report)

    assert "| codex | 3 of 4 |     250k |    300k | +50.0k (+16.7%) |" in section
    assert section.strip().splitlines()[-3:] == [
        "- codex, 1 run: the provider broke answers off, which agents do not count whole, 30.0k tokens.",
        "- codex, 2 runs: calls beside the main loop, such as titles and helpers' calls, 20.0k tokens.",
        "- codex, 1 run: the agent printed no usage.",
    ]
    (row,) = json.loads(render_json(report))["reported"]
    assert (row["runs"], row["compared"], row["agreed"], row["unexplained"]) == (4, 3, 1, 0)
    assert [cause["code"] for cause in row["causes"]] == ["cut_stream", "side_calls", "no_usage_printed"]


def test_accounts_that_agree_take_no_place(make: ModuleType) -> None:
    report = analyse([_record(make, 1, 100_000), _record(make, 2, 100_000)])

    assert TITLE not in render_markdown(report)
    assert report.reported[0].agreed == 2


def test_an_agent_without_a_meter_or_an_account_has_no_row(make: ModuleType) -> None:
    unmetered = _record(make, 1, 50_000) | {"metered": None}

    assert analyse([unmetered, _record(make, 2, None)]).reported == ()


def test_a_difference_without_a_known_reason_says_so(make: ModuleType) -> None:
    """Also where the record is older than the reasons, or knows only a part of them."""
    assert "- codex, 1 run: no known reason." in _section(analyse([_record(make, 1, 130_000)]))
    partly = _difference(("cut_stream", 5_000), ("unexplained", None), explained=False)
    section = _section(analyse([_record(make, 1, 50_000, difference=partly)]))
    assert section.count("no known reason") == 1


def test_a_code_of_a_later_version_keeps_its_name(make: ModuleType) -> None:
    record = _record(make, 1, 50_000, difference=_difference(("new|code", 50_000)))

    assert "- codex, 1 run: new\\|code, 50.0k tokens." in _section(analyse([record]))


def test_costs_stand_beside_the_tokens(make: ModuleType) -> None:
    """The agent's own price list, say."""
    record = _record(make, 1, 100_000, difference=_difference(("own_prices", None)))
    record["reported"]["cost_usd"] = 1.5

    section = _section(analyse([record]))
    assert "|       none |        $1.50 |       $0.20 |" in section
    assert "- codex, 1 run: the agent's own price list." in section


def test_usage_that_is_known_in_part_is_in_no_sum(make: ModuleType) -> None:
    cut = make.cut(_record(make, 1, 100_000), 2, 1.0)
    report = analyse([cut | {"difference": _difference(("incomplete_meter", None), explained=False)}])

    assert "| codex | 0 of 1 |" in _section(report)
    assert "the provider told no usage for some calls" in _section(report)


def test_imputed_cost_is_told(make: ModuleType) -> None:
    record = _record(make, 1, 100_000)
    record["metered"]["imputed"] = True

    assert (
        "USD of 1 run are imputed at list price: the agent's own login paid. Tokens are the truth."
        in analyse([record]).notes
    )
