"""The runs of one arm with one agent. What several statistics need of them is looked up once and kept."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

from tiltyard_report._grid import Grid, grid
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
    def grid(self) -> Grid:
        """Passes of the counted ones."""
        return grid((run.question, (run.source, run.rep), run.passed) for run in self.counted)

    def grid_of(self, questions: Container[str]) -> Grid:
        """The same of some questions."""
        kept = (run for run in self.counted if run.question in questions)
        return grid((run.question, (run.source, run.rep), run.passed) for run in kept)

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


def sample(runs: Sequence[Run]) -> Sample:
    """The runs as a sample; one stays what it is."""
    return runs if isinstance(runs, Sample) else Sample(runs)
