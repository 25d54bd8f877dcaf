"""A browsable site: every page by its path, made when it is asked for. A server and a folder share it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from markupsafe import Markup

from tiltyard_report.html.environment import render
from tiltyard_report.html.render import FOLDED_ROWS, marks_of, overview
from tiltyard_report.model import ArmRow, QuestionCell, QuestionRow, Report
from tiltyard_report.site.arm_words import beside
from tiltyard_report.site.files import NoFiles, Record, RunFiles
from tiltyard_report.site.index import Entry, names, read_entries
from tiltyard_report.site.run_page import run_values
from tiltyard_specs.outcomes import Outcome
from tiltyard_specs.slug import slug

LISTED = 1_000
"""Runs that a question's page lists."""
_MATRIX = 500
"""Questions that a table of questions and arms has."""
_MOST_RUNS = 200_000
"""Runs that the list of all runs can hold in one page."""


class Site:
    """The pages of one report."""

    def __init__(
        self,
        report: Report,
        records: Sequence[Record],
        files: RunFiles | None = None,
        attempts: Sequence[Record] = (),
        *,
        version: str | None = None,
    ) -> None:
        """Index the runs; no page is made yet.

        Args:
            report: What `analyse` made of the records.
            records: The run.json objects, in any order; each is read again for its page.
            files: Reads the files beside a record.
            attempts: Earlier attempts, shown with their runs.
            version: Of the results, when the site is served: pages ask whether there is a newer one.
        """
        self.report = report
        self._records = records
        self._files = files or NoFiles()
        self._version = version
        self._entries = read_entries(records, report)
        self._attempts: dict[object, list[Record]] = {}
        for attempt in attempts:
            self._attempts.setdefault(attempt.get("run_id"), []).append(attempt)
        self._by_question: dict[str, list[Entry]] = {}
        for entry in self._entries:
            self._by_question.setdefault(entry.question, []).append(entry)
        self._runs = {entry.path: entry for entry in self._entries}
        self._makers = dict(self._list_makers())

    def paths(self) -> Iterator[str]:
        """Every page of the site, the overview first."""
        yield from self._makers
        yield from self._runs

    def page(self, path: str) -> str | None:
        """A page; None when there is none at this path."""
        if path in self._makers:
            return self._makers[path]()
        entry = self._runs.get(path)
        return self._run(entry) if entry else None

    def _list_makers(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield "index.html", self._overview
        yield "runs.html", self._all_runs
        for arm in self._arms:
            yield f"arm/{slug(arm)}.html", partial(self._arm, arm)
        for capability in self._capabilities:
            yield f"capability/{slug(capability)}.html", partial(self._capability, capability)
        for question in self._questions:
            where = f"question/{self._by_question[question][0].question_slug}.html"
            yield where, partial(self._question, question)

    @cached_property
    def _arms(self) -> list[str]:
        first = [row.arm for agent in self.report.agents for row in agent.arms]
        return names((entry.arm for entry in self._entries), first)

    @cached_property
    def _agents(self) -> list[str]:
        first = [agent.agent for agent in self.report.agents]
        return names((entry.agent for entry in self._entries), first)

    @cached_property
    def _questions(self) -> list[str]:
        return names(self._by_question, [row.question for row in self.report.questions])

    @cached_property
    def _capabilities(self) -> list[str]:
        return sorted({entry.capability for entry in self._entries if entry.capability is not None})

    def _render(self, template: str, depth: int, values: Mapping[str, object]) -> str:
        shared: dict[str, object] = {
            "report": self.report,
            "root": "../" * depth,
            "live": self._version,
            "slug": slug,
            "folded": FOLDED_ROWS,
            "capabilities": self._capabilities,
            "arms": self._arms,
            "agents": self._agents,
            "marks": marks_of(self.report),
            "trial": self.report.name or "Trial",
            "choices": self._choices,
        }
        return render(template, {**shared, **values})

    @cached_property
    def _choices(self) -> dict[str, list[str]]:
        """What can be filtered by."""
        outcomes = {entry.outcome for entry in self._entries}
        return {
            "capability": self._capabilities,
            "question": self._questions,
            "arm": self._arms,
            "agent": self._agents,
            "outcome": [item.value for item in Outcome if item.value in outcomes],
        }

    def _overview(self) -> str:
        return self._render("overview.html.j2", 0, overview(self.report) | {"matrix": self._matrix()})

    def _arm(self, arm: str) -> str:
        rows = [(agent, row) for agent in self.report.agents for row in agent.arms if row.arm == arm]
        deltas = [(agent.agent, row) for agent, row in rows]
        return self._render(
            "arm.html.j2",
            1,
            {"title": arm, "arm": arm, "rows": deltas, "matrix": self._matrix(arm=arm), "beside": beside},
        )

    def _capability(self, capability: str) -> str:
        totals = [
            (arm.name, group)
            for arm in self.report.groups
            for group in arm.groups
            if group.level == "capability" and group.name == capability
        ]
        values = {"title": capability, "capability": capability, "totals": totals}
        return self._render("capability.html.j2", 1, values | {"matrix": self._matrix(capability=capability)})

    def _question(self, question: str) -> str:
        entries = sorted(self._by_question[question], key=self._in_order)
        row = next((row for row in self.report.questions if row.question == question), None)
        prompt = self._files.read(self._records[entries[0].place], "prompt.txt", 64_000)
        values = {
            "title": question,
            "question": question,
            "capability": entries[0].capability,
            "row": row,
            "entries": entries[:LISTED],
            "left_out": max(0, len(entries) - LISTED),
            "prompt": prompt.data.decode("utf-8", "replace") if prompt else "",
            "prompt_of": entries[0],
        }
        return self._render("question.html.j2", 1, values)

    def _in_order(self, entry: Entry) -> tuple[int, int, int]:
        return self._agents.index(entry.agent), self._arms.index(entry.arm), entry.rep

    def _run(self, entry: Entry) -> str:
        record = self._records[entry.place]
        own = run_values(record, self._attempts.get(record.get("run_id"), ()), self._files)
        title = f"{entry.question}, {entry.arm} with {entry.agent}, repetition {entry.rep}"
        return self._render("run.html.j2", 4, own | {"title": title, "entry": entry})

    def _matrix(self, *, arm: str | None = None, capability: str | None = None) -> "Matrix":
        series = [
            (agent.agent, row)
            for agent in self.report.agents
            for row in agent.arms
            if arm is None or row.arm == arm
        ]
        rows = [
            (row, self._by_question[row.question][0], _cells(row, series))
            for row in self.report.questions
            if row.question in self._by_question
            and (capability is None or self._by_question[row.question][0].capability == capability)
        ]
        return Matrix(series, rows[:_MATRIX], max(0, len(rows) - _MATRIX))

    def _all_runs(self) -> str:
        return self._render(
            "runs.html.j2", 0, {"title": "All runs", "data": self._data(), "most": _MOST_RUNS}
        )

    def _data(self) -> Markup | None:
        """The runs as JSON in which each name stands once; None for too many of them."""
        if len(self._entries) > _MOST_RUNS:
            return None
        questions, arms, agents = self._questions, self._arms, self._agents
        outcomes = self._choices["outcome"]
        ranks = [
            {name: place for place, name in enumerate(each)} for each in (questions, arms, agents, outcomes)
        ]
        first = {question: self._by_question[question][0] for question in questions}
        marks = {entry.outcome: entry.mark for entry in self._entries}
        rows = [
            [
                ranks[0][entry.question],
                ranks[1][entry.arm],
                ranks[2][entry.agent],
                entry.rep,
                ranks[3][entry.outcome],
                entry.tokens,
                entry.usd,
                entry.seconds,
            ]
            for entry in self._entries
        ]
        data = {
            "questions": [[name, first[name].capability, first[name].question_slug] for name in questions],
            "arms": [[name, slug(name)] for name in arms],
            "agents": [[name, slug(name)] for name in agents],
            "outcomes": [[name, marks[name]] for name in outcomes],
            "rows": rows,
        }
        text = json.dumps(data, separators=(",", ":"))
        # Inside a script element only `<` could end it.
        return Markup(text.replace("<", "\\u003c"))  # noqa: S704


class Matrix:
    """Questions by arms and agents."""

    def __init__(
        self,
        series: Sequence[tuple[str, ArmRow]],
        rows: Sequence[tuple[QuestionRow, Entry, Sequence[QuestionCell | None]]],
        left_out: int,
    ) -> None:
        """Keep what a template lays out."""
        self.series = series
        self.rows = rows
        self.left_out = left_out


def _cells(row: QuestionRow, series: Sequence[tuple[str, ArmRow]]) -> list[QuestionCell | None]:
    known = {(cell.agent, cell.arm): cell for cell in row.cells}
    return [known.get((agent, arm.arm)) for agent, arm in series]
