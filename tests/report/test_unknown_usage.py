"""Runs of which the tokens or the cost are not fully known: no ratio, no verdict, and bounds of the spend."""

import json
from types import ModuleType
from typing import Any

import pytest

from tiltyard_report import Report, analyse, render_json, render_markdown

BASE = [20_000, 22_000, 25_000, 19_000, 21_000, 23_000, 20_500, 22_500]
HALF = [value // 2 for value in BASE]


def trial(make: ModuleType, unknown: dict[str, int], **facts: Any) -> Report:
    """Arms plain and map; the last runs of an arm are cut off, as many as are asked for."""
    records = []
    for arm, values in (("plain", BASE), ("map", HALF)):
        rows = make.series("a", arm, "codex", values)
        known = len(rows) - unknown.get(arm, 0)
        records += rows[:known] + [make.cut(row, 5, 0.5) for row in rows[known:]]
    return analyse(records, baseline="plain", receipt=facts or None)


def test_known_tokens_get_a_verdict(make: ModuleType) -> None:
    """The same trial without a gap is clear, so that what follows is the gap's doing."""
    assert trial(make, {}).headline.startswith("map needs 0.50x the tokens of plain with codex")


@pytest.mark.parametrize(
    ("unknown", "why"),
    [
        ({"map": 8}, "the tokens of 8 of 8 runs of map are not fully known"),
        ({"map": 1}, "the tokens of 1 of 8 runs of map are not fully known"),
        ({"plain": 1}, "the tokens of 1 of 8 runs of plain are not fully known"),
        (
            {"map": 2, "plain": 3},
            "the tokens of 2 of 8 runs of map and 3 of 8 runs of plain are not fully known",
        ),
        (
            {"map": 8, "plain": 8},
            "the tokens of 8 of 8 runs of map and 8 of 8 runs of plain are not fully known",
        ),
    ],
)
def test_one_unknown_run_is_enough_for_no_verdict(
    make: ModuleType, unknown: dict[str, int], why: str
) -> None:
    """No ratio, no p value, no verdict, and the headline says whose runs are unknown."""
    report = trial(make, unknown)
    text = render_markdown(report)
    row = report.agents[0].arms[1]

    assert report.headline.startswith(f"map against plain with codex gets no verdict: {why}, with pass rates")
    assert report.headline.endswith("Do not claim a difference either way.")
    assert row.relative_tokens is not None
    assert row.relative_tokens.ratio is None
    assert row.relative_tokens.pvalue != row.relative_tokens.pvalue
    assert row.relative_usd is None
    assert "0.50x" not in text
    assert "no verdict: tokens not fully known" in text
    assert f"A difference in tokens between map and plain (codex), either way: {why}" in text


def test_a_mean_over_known_runs_is_marked_and_has_no_interval(make: ModuleType) -> None:
    """The known runs are no sample of all."""
    report = trial(make, {"map": 2})
    tokens = report.agents[0].arms[1].tokens

    assert (tokens.known, tokens.unknown) == (6, 2)
    assert tokens.interval is not None
    assert not tokens.interval.known
    assert "missing-runs" in tokens.interval.warnings
    assert "| 10.8 (known for 6 of 8 runs) |" in render_markdown(report)
    assert "codex: without the 2 runs whose tokens are not fully known" in render_markdown(report)
    data = json.loads(render_json(report))["agents"][0]["arms"][1]["tokens"]
    assert (data["interval"]["low"], data["unknown"]) == (None, 2)


def test_a_run_that_does_not_count_leaves_the_verdict(make: ModuleType) -> None:
    """Only counted runs are compared."""
    records = [*make.series("a", "plain", "codex", BASE), *make.series("a", "map", "codex", HALF)]
    records.append(make.cut(make.record("a", "map", "codex", 9, outcome="cancelled"), 5, 0.5))

    assert analyse(records, baseline="plain").headline.startswith("map needs 0.50x the tokens of plain")


def test_an_incomplete_meter_outweighs_a_usage(make: ModuleType) -> None:
    """A record that says both is not believed on its tokens."""
    records = make.series("a", "plain", "codex", BASE)
    records[0]["metered"]["incomplete"] = 1

    assert analyse(records).agents[0].arms[0].tokens.unknown == 1
    assert analyse(records).agents[0].arms[0].usd.unknown == 1


def test_unknown_usd_with_known_tokens(make: ModuleType) -> None:
    """Tokens get their verdict, USD none."""
    records = [*make.series("a", "plain", "codex", BASE), *make.series("a", "map", "codex", HALF)]
    records[-1]["metered"] = records[-1]["metered"] | {"cost_usd": None}
    row = analyse(records, baseline="plain").agents[0].arms[1]

    assert row.relative_tokens is not None
    assert row.relative_tokens.ratio is not None
    assert row.relative_usd is None
    assert row.usd.unknown == 1


def test_spend_has_both_bounds(make: ModuleType) -> None:
    """The meter's partial usage is the lower bound, its charge the upper one."""
    text = render_markdown(trial(make, {"map": 8}))

    assert (
        "- All 16 runs: at least 260k tokens, at least $0.35 (the usage of 40 calls in 8 runs is not fully "
        "known; charged at most $4.35)." in text
    )


def test_spend_without_a_price(make: ModuleType) -> None:
    """A charge of 0 for calls that may have been billed is no upper bound; tokens have one still."""
    rows = [make.cut(row, 1, 0.0) for row in make.series("a", "plain", "codex", BASE[:2])]
    text = render_markdown(analyse(rows))

    assert (
        "- All 2 runs: at least 42.0k tokens, USD unknown (the usage of 2 calls in 2 runs is not fully "
        "known; charged at most 180k tokens)." in text
    )
    rows[0]["metered"]["charged_tokens"] = None
    assert "in 2 runs is not fully known)." in render_markdown(analyse(rows))


def test_spend_of_runs_unknown_altogether(make: ModuleType) -> None:
    """Runs without a meter stand beside those with cut calls, and no upper bound is left."""
    rows = make.series("a", "plain", "codex", [*BASE[:3], None])
    rows[0] = make.cut(rows[0], 1, 0.5)
    text = render_markdown(analyse(rows))

    assert (
        "- All 4 runs: at least 67.0k tokens (1 unknown), at least $0.0940 (1 unknown) "
        "(the usage of 1 call in 1 run is not fully known)." in text
    )


def test_spend_when_scripted(make: ModuleType) -> None:
    """A lower bound of what would be spent."""
    text = render_markdown(trial(make, {"map": 1}, policy={"models": "scripted"}))

    assert "at least 260k scripted tokens, would be at least $0.50 at the spec's prices (scripted) (" in text


def test_a_cut_call_may_know_its_input_alone(make: ModuleType) -> None:
    """The known buckets are a lower bound though the total is unknown."""
    row = make.cut(make.record("a", "plain", "codex", 1), 1, 0.5)
    row["metered"] |= {"usage": {"input": 3_000, "output": None}}

    assert analyse([row]).spend.tokens == 3_000
    row["metered"] |= {"usage": None}
    assert "- All 1 run: tokens unknown, USD unknown (" in render_markdown(analyse([row]))


def test_a_bad_partial_usage_is_named(make: ModuleType) -> None:
    """As every other part of a record."""
    row = make.cut(make.record("a", "plain", "codex", 1), 1, 0.5)
    row["metered"] |= {"usage": {"input": "many"}}
    with pytest.raises(Exception, match=r"metered\.usage\.input is 'many', it must be token counts"):
        analyse([row])
