"""Headlines: which comparison, how it came out, how many others there are, and what not to claim."""

from types import ModuleType
from typing import Any

from tiltyard_report import Report, analyse, render_markdown

BASE = [20_000, 22_000, 25_000, 19_000]


def trial(make: ModuleType, cells: dict[tuple[str, str], list[int]], **facts: Any) -> Report:
    """A trial by (agent, arm), one question."""
    records = [
        record for (agent, arm), values in cells.items() for record in make.series("a", arm, agent, values)
    ]
    spec = {"agents": [{"name": agent} for agent, _ in cells], "arms": [{"name": arm} for _, arm in cells]}
    return analyse(records, baseline="plain", receipt={"spec": spec} | facts)


def times(factor: float, values: list[int] | None = None) -> list[int]:
    """The base times a factor."""
    return [int(value * factor) for value in values or BASE]


def test_one_pattern_over_two_agents(make: ModuleType) -> None:
    """Both are named, with one verdict."""
    cells = {
        (agent, arm): times(f) for agent in ("claude", "codex") for arm, f in (("plain", 1), ("map", 0.5))
    }

    assert trial(make, cells).headline == (
        "map needs 0.50x the tokens of plain with claude (95% 0.40 to 0.62) and 0.50x with codex "
        "(0.40 to 0.62); both are cheaper (provisional: 4 runs a side), with pass rates of 4/4 against 4/4 "
        "in both. Do not claim it beyond this 1 question."
    )


def test_two_arms_with_one_agent(make: ModuleType) -> None:
    """Each arm has its verdict."""
    cells = {("codex", "plain"): BASE, ("codex", "map"): times(0.5), ("codex", "docs"): times(1.01)}

    assert (
        "map needs 0.50x the tokens of plain with codex (95% 0.40 to 0.62) and docs 1.01x (0.82 to 1.25); "
        "cheaper for map and no clear difference for docs (both provisional: 4 runs a side), with"
    ) in trial(make, cells).headline


def test_no_verdict_says_why_as_the_table_does(make: ModuleType) -> None:
    """The same words in both places."""
    cells = {(agent, arm): BASE[:2] for agent in ("claude", "codex") for arm in ("plain", "map")}
    report = trial(make, cells)
    words = "no verdict: under 4 runs a side"

    assert report.headline.startswith(f"map against plain with claude or codex gets {words}, with pass rates")
    assert report.headline.endswith("Do not claim a difference either way.")
    # In the sentence, and for each agent in the table of tokens and in that of pass rates.
    assert render_markdown(report).count(words) == 5


def test_it_does_not_change_the_agent_by_chance(make: ModuleType) -> None:
    """Of several clear results the first in the spec leads, whichever p value is smaller."""
    leads = set()
    for first, second in ((0.5, 0.4), (0.4, 0.5)):
        cells = {
            (agent, arm): times(factor if arm != "plain" else 1)
            for agent, factor in (("zeta", first), ("alpha", second))
            for arm in ("plain", "map", "docs")
        }
        leads.add(trial(make, cells).headline.partition(" (95%")[0].partition(" the tokens ")[2])

    assert leads == {"of plain with zeta"}


def test_the_others_are_counted(make: ModuleType) -> None:
    """One sentence names one comparison and says how all others came out."""
    cells = {
        ("codex", "plain"): BASE,
        ("codex", "few"): BASE[:3],
        ("codex", "map"): times(0.5),
        ("codex", "docs"): times(2),
        ("codex", "same"): times(1.01),
    }
    headline = trial(make, cells).headline

    assert headline.startswith("map needs 0.50x the tokens of plain with codex")
    assert (
        "; of the 3 other comparisons 1 is dearer, 1 shows no clear difference and 1 gets no verdict "
        "(under 4 runs a side). Do not claim"
    ) in headline
    assert "first of" not in headline


def test_others_alike(make: ModuleType) -> None:
    """No list where one word holds for all."""
    cells = {("codex", arm): times(f) for arm, f in (("plain", 1), ("a", 0.5), ("b", 0.4), ("c", 0.45))}

    assert "; the 2 other comparisons are cheaper." in trial(make, cells).headline


def test_pass_rates_where_nothing_is_compared(make: ModuleType) -> None:
    """Two are named; of more the first, and the span of the rest."""
    cells = {(agent, "plain"): BASE for agent in ("claude", "codex")}
    assert (
        "plain with claude passed in 4/4 runs (95% interval 51 to 100%) and plain with codex passed in"
        in (trial(make, cells).headline)
    )
    cells |= {("mini", "plain"): BASE}
    assert (
        ", and the 2 other arms and agents pass in 100%; nothing is compared." in trial(make, cells).headline
    )


def test_scripted_money_is_what_it_would_be(make: ModuleType) -> None:
    """No reader takes a rehearsal for a bill."""
    report = trial(make, {("codex", "plain"): BASE}, policy={"models": "scripted"})
    text = render_markdown(report)

    assert report.scripted
    assert report.headline.endswith("Do not claim anything about a real model: the replies were scripted.")
    assert "- All 4 runs: 86.0k scripted tokens, would be $0.17 at the spec's prices (scripted)." in text


def test_unknown_spend_is_no_lower_bound_of_nothing(make: ModuleType) -> None:
    """A sum of 0 over known runs says nothing about the unknown ones."""
    records = [make.record("a", "plain", "codex", 1, None), make.record("a", "plain", "codex", 2, 0)]
    records[1]["metered"]["cost_usd"] = 0.0
    text = render_markdown(analyse(records))

    assert "- All 2 runs: tokens unknown, USD unknown." in text
    assert "at least" not in text.partition("## Do not claim")[0].partition("Spend:")[2]


def test_runs_needed_are_never_fewer_than_a_verdict_needs(make: ModuleType) -> None:
    """A calm agent still needs four runs a side."""
    calm = [20_000, 20_100, 19_900, 20_050]
    report = trial(make, {("codex", "plain"): calm, ("codex", "map"): calm})
    needed = report.spread[0].needed

    assert needed is not None
    assert needed.runs < 4
    assert "| 4 (the least for a verdict) | 4 (the least for a verdict) |" in render_markdown(report)


def test_used_tool_is_explained_where_it_is_shown(make: ModuleType) -> None:
    """Once, under the table that has it."""
    records = [
        *make.series("a", "plain", "codex", BASE),
        *make.series("a", "map", "codex", BASE, used_tool=True),
    ]
    explained = "used tool: runs in which a tool call matched the arm's `uses`"

    assert render_markdown(analyse(records)).count(explained) == 1
    assert explained not in render_markdown(analyse(records[:4]))


def test_an_arm_without_a_run_that_counts_is_not_compared(make: ModuleType) -> None:
    """Its failed setup is told by an alert; the sentence speaks of the others, and it is no baseline."""
    lost = make.series("q", "broken", "g", [None] * 4, outcome="setup_failed", reason="exit 3")
    records = [*lost, *make.series("q", "plain", "g", [20_000, 22_000, 25_000, 19_000])]
    records += make.series("q", "works", "g", [20_500, 21_000, 24_000, 20_000])
    report = analyse(records)

    assert report.baseline == "plain"
    assert "broken" not in report.headline
    assert report.headline.startswith("works needs ")
    assert "(broken 4)" in report.alerts[0]


def test_agents_that_point_in_opposite_directions_are_both_told(make: ModuleType) -> None:
    """Of tokens, also where there are more comparisons than a sentence holds."""
    cells = {
        ("codex", "plain"): times(1), ("codex", "docs"): times(0.5), ("codex", "map"): times(1),
        ("claude", "plain"): times(1), ("claude", "docs"): times(2), ("claude", "map"): times(1),
    }  # fmt: skip
    text = trial(make, cells).headline

    assert "docs needs 0.50x the tokens of plain with codex" in text
    assert "and 2.00x with claude" in text
    assert "the agents differ: cheaper with codex and dearer with claude" in text


def test_agents_whose_passes_point_in_opposite_directions_are_both_told(make: ModuleType) -> None:
    """And of passes, where no tokens are known."""
    better = {"codex": "docs", "claude": "plain"}
    records = [
        make.record(
            "a", arm, agent, rep, None,
            outcome="passed" if better[agent] == arm else "failed", metered=None,
            score={"correct": better[agent] == arm},
        )
        for agent in ("codex", "claude")
        for arm in ("plain", "docs")
        for rep in range(1, 11)
    ]  # fmt: skip
    report = analyse(records, baseline="plain")

    text = report.headline
    assert "docs passes 100.0 points less often than plain with claude" in text
    assert "but 100.0 points more often with codex" in text
    assert "the agents differ: lower with claude and higher with codex; no tokens are known" in text
    assert "passes: higher" in render_markdown(report)


def test_a_question_whose_baseline_used_nothing_is_left_out(make: ModuleType) -> None:
    """Nothing is so many times 0; the other questions are compared, and a note names the one."""
    values = [20_000, 21_000, 19_000, 20_500, 20_200]
    records = [
        *make.series("free", "plain", "codex", [0] * 5), *make.series("free", "docs", "codex", values),
        *make.series("a", "plain", "codex", values), *make.series("a", "docs", "codex", values),
    ]  # fmt: skip
    report = analyse(records, baseline="plain")
    alone = analyse(records[:10], baseline="plain")
    compared = report.agents[0].arms[1].relative_tokens

    assert compared is not None
    assert (compared.questions, compared.free, compared.left_out) == (("a",), ("free",), ())
    assert compared.ratio is not None
    assert compared.ratio.estimate == 1.0
    assert any("the baseline used 0 tokens in free: not in the ratio" in note for note in report.notes)
    assert alone.agents[0].arms[1].relative_tokens.ratio is None
    assert "the baseline used 0 tokens" in render_markdown(alone)
    assert "no tokens" not in alone.headline


def test_one_question_is_not_called_one_run(make: ModuleType) -> None:
    """What a rate over questions rests on is questions."""
    text = render_markdown(analyse(make.series("a", "plain", "codex", [20_000] * 5)))

    assert "(1 question)" in text or "20.7 to 100.0" in text
    mixed = make.series("a", "plain", "codex", [20_000] * 4)
    mixed[0] |= {"outcome": "failed", "score": {"correct": False}}
    text = render_markdown(analyse(mixed))
    assert "75.0 (1 question)" in text
    assert "75.0 (1 run)" not in text
