"""The runs of one arm with one agent. What several statistics need of them is looked up once and kept."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiltyard_report._gather import Gatherer
from tiltyard_report._grid import Grid, laid_out
from tiltyard_report._run import Run
from tiltyard_report._runs import Runs
from tiltyard_specs.outcomes import Outcome
from tiltyard_stats._result import FloatArray, IntArray
from tiltyard_stats.cells import Cells


class Quantity:
    """A quantity of a run; None, and in a column NaN, where it is not known."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, run: Run) -> float | None:
        value: float | None = getattr(run, self.name)
        return value


class ByQuestion(Mapping[str, FloatArray]):
    """Known values by question, in the order of its name.

    Args:
        names: The questions, in order; and the place of each among all questions.
        places: As the store ranks them.
        cells: The values of each.
    """

    def __init__(self, names: NDArray[np.object_], places: IntArray, cells: Cells) -> None:
        self.names, self.places, self.cells = names, places, cells

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names.tolist())

    def __getitem__(self, question: str) -> FloatArray:
        return self.cells[self._index[question]]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self)}

    def on(self, places: IntArray) -> Cells:
        """The values of some of the questions."""
        return self.cells.take(np.searchsorted(self.places, places))


class Sample(Runs):
    """Some runs, in any order, the excluded ones too."""

    @cached_property
    def counted(self) -> "Sample":
        """Those that count as a pass or a failure."""
        return self.where(self.column("counted"))

    @cached_property
    def places(self) -> IntArray:
        """The questions of the counted ones, each as its place among all of the store; in order."""
        return np.unique(self.counted.ranks("question"))

    @property
    def asked(self) -> list[str]:
        """Their names."""
        return self.named(self.places)

    def named(self, places: IntArray) -> list[str]:
        """The questions at some places."""
        names: list[str] = self.store.ranks("question")[1][places].tolist()
        return names

    @cached_property
    def questions(self) -> dict[str, list[Run]]:
        """The counted ones by question, in the order of its name: row by row, which is slow."""
        found: dict[str, list[Run]] = {}
        for run in self.counted:
            found.setdefault(run.question, []).append(run)
        return dict(sorted(found.items()))

    @cached_property
    def attempted(self) -> dict[int, IntArray]:
        """The places of the questions that each result has a run of; one that somebody stopped is none."""
        own = self.where(self.having("outcome", lambda outcome: outcome is not Outcome.CANCELLED))
        places, sources = own.ranks("question"), own.column("source")
        return {source: np.unique(places[sources == source]) for source in np.unique(sources).tolist()}

    @cached_property
    def grid(self) -> Grid:
        """Whether the counted ones passed, by question and repetition."""
        return _grid(self.counted)

    def grid_of(self, places: IntArray) -> Grid:
        """The same of some questions."""
        if len(places) == len(self.places):
            return self.grid
        return _grid(self.counted.where(np.isin(self.counted.ranks("question"), places)))

    def values(self, quantity: Quantity) -> FloatArray:
        """A quantity of the counted ones, NaN where it is not known."""
        values: FloatArray = self.counted.column(quantity.name)
        return values

    def whole(self, quantity: Quantity) -> bool:
        """Whether it is known of each counted one."""
        return not np.isnan(self.values(quantity)).any()

    def by_question(self, quantity: Quantity) -> ByQuestion:
        """The known values of a quantity, by question."""
        if quantity.name not in self._by_question:
            values = self.by_name.column(quantity.name)
            known = ~np.isnan(values)
            places = self.by_name.ranks("question")[known]
            cells, n = np.unique(places, return_counts=True)
            names = self.store.ranks("question")[1][cells]
            self._by_question[quantity.name] = ByQuestion(names, cells, Cells(values[known], n))
        return self._by_question[quantity.name]

    @cached_property
    def by_name(self) -> "Sample":
        """The counted ones, question by question in the order of its name."""
        return self.counted.take(np.argsort(self.counted.ranks("question"), kind="stable"))

    @cached_property
    def _by_question(self) -> dict[str, ByQuestion]:
        return {}


def _grid(counted: Sample) -> Grid:
    """Laid out; each run is a repetition of its own."""
    places, questions = np.unique(counted.ranks("question"), return_inverse=True)
    reps, rows = np.unique(counted.together("source", "rep"), return_inverse=True)
    return laid_out(
        tuple(counted.named(places)), questions, rows, counted.column("passed"), repetitions=len(reps)
    )


def sample(runs: Sequence[Run]) -> Sample:
    """The runs as a sample; one stays what it is."""
    if isinstance(runs, Sample):
        return runs
    gatherer = Gatherer()
    gatherer.add_runs(runs)
    return everything(gatherer)


def everything(gatherer: Gatherer) -> Sample:
    """All runs that were gathered."""
    store = gatherer.store()
    return Sample(store, np.arange(store.size))
