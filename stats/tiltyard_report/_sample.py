"""The runs of one arm with one agent. What several statistics need of them is looked up once and kept."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar, overload

from tiltyard_report._grid import Grid, Rep, laid_out
from tiltyard_report._run import Run
from tiltyard_specs.outcomes import Outcome

Quantity = Callable[[Run], float | None]


class Sample(Sequence[Run]):
    """Some runs, in any order.

    Args:
        runs: All of them, the excluded ones too.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = list(runs)
        self._values: dict[Quantity, list[float | None]] = {}
        self._by_question: dict[Quantity, dict[str, list[float]]] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        return self._runs[index]

    @cached_property
    def counted(self) -> list[Run]:
        """Those that count as a pass or a failure."""
        return [run for run in self._runs if run.counted]

    @cached_property
    def questions(self) -> dict[str, list[Run]]:
        """The counted ones by question, in the order of its name."""
        found: dict[str, list[Run]] = {}
        for run in self.counted:
            found.setdefault(run.question, []).append(run)
        return dict(sorted(found.items()))

    @cached_property
    def attempted(self) -> dict[int, set[str]]:
        """The questions that each result has a run of; one that somebody stopped is none."""
        asked = {(run.source, run.question) for run in self._runs if run.outcome is not Outcome.CANCELLED}
        found: dict[int, set[str]] = {}
        for source, question in asked:
            found.setdefault(source, set()).add(question)
        return found

    @cached_property
    def passes(self) -> dict[str, dict[Rep, bool]]:
        """Whether the counted ones passed, by question and repetition."""
        return {name: _ends(runs) for name, runs in self.questions.items()}

    @cached_property
    def grid(self) -> Grid:
        """The same, laid out."""
        return laid_out(self.passes)

    def grid_of(self, questions: Container[str]) -> Grid:
        """The same of some questions."""
        return laid_out({name: ends for name, ends in self.passes.items() if name in questions})

    def values(self, quantity: Quantity) -> list[float | None]:
        """A quantity of the counted ones, None where it is not known."""
        if quantity not in self._values:
            self._values[quantity] = [quantity(run) for run in self.counted]
        return self._values[quantity]

    def by_question(self, quantity: Quantity) -> dict[str, list[float]]:
        """The known values of a quantity, by question."""
        if quantity not in self._by_question:
            cells = {name: list(map(quantity, runs)) for name, runs in self.questions.items()}
            known = {name: [value for value in cell if value is not None] for name, cell in cells.items()}
            self._by_question[quantity] = {name: cell for name, cell in known.items() if cell}
        return self._by_question[quantity]


class Extended(Sample):
    """A sample with further runs that count; what is known of it is not looked up again.

    Args:
        base: A sample.
        added: Runs that stand in it uncounted and count now, each with its new outcome.
    """

    def __init__(self, base: Sample, added: Sequence[Run]) -> None:
        super().__init__(())
        self._runs = [*base.counted, *added]
        self._base, self._added = base, Sample(added)

    @cached_property
    def counted(self) -> list[Run]:
        """All that the base has, and the further ones."""
        return self._runs

    @cached_property
    def questions(self) -> dict[str, list[Run]]:
        """As of the base, with the further ones at the end of their question."""
        return _joined(self._base.questions, self._added.questions)

    @cached_property
    def attempted(self) -> dict[int, set[str]]:
        """The same as of the base."""
        return self._base.attempted

    @cached_property
    def passes(self) -> dict[str, dict[Rep, bool]]:
        """As of the base; only the questions of the further ones are made anew."""
        more = {name: _ends(self.questions[name]) for name in self._added.questions}
        return dict(sorted((self._base.passes | more).items()))

    def by_question(self, quantity: Quantity) -> dict[str, list[float]]:
        """As of the base, with the values of the further ones."""
        return _joined(self._base.by_question(quantity), self._added.by_question(quantity))


ItemT = TypeVar("ItemT")


def _joined(base: dict[str, list[ItemT]], added: dict[str, list[ItemT]]) -> dict[str, list[ItemT]]:
    more = {name: [*base.get(name, ()), *items] for name, items in added.items()}
    return dict(sorted((base | more).items()))


def _ends(runs: Iterable[Run]) -> dict[Rep, bool]:
    return {(run.source, run.rep): run.passed for run in runs}


def sample(runs: Sequence[Run]) -> Sample:
    """The runs as a sample; one stays what it is."""
    return runs if isinstance(runs, Sample) else Sample(runs)
