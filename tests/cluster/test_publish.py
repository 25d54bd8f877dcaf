"""Publishing loses nothing and doubles nothing, wherever a driver is killed."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard_cluster import FolderStore, PlannedRun
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_result
from tiltyard_cluster.recovery import recover
from tiltyard_cluster.staging import begin
from tiltyard_specs import Outcome, RunRecord
from tiltyard_specs.errors import DataError

MakeRecord = Callable[..., RunRecord]
FILES = {
    "prompt.txt": "prompt",
    "raw.out": "out",
    "raw.err": "",
    "patch.diff": "patch",
    "verify.log": "log",
}
PLACE = "runs/q/a/g/1"


class KilledError(Exception):
    """Stands for SIGKILL."""


class KilledStore(FolderStore):
    """A folder store whose process dies before one of its changes."""

    def __init__(self, root: Path, lives: int) -> None:
        super().__init__(root)
        self._lives = lives

    def _live(self) -> None:
        if self._lives == 0:
            raise KilledError
        self._lives -= 1

    def put_if_absent(self, key: str, data: bytes) -> bool:
        self._live()
        return super().put_if_absent(key, data)

    def put(self, key: str, data: bytes) -> None:
        self._live()
        super().put(key, data)

    def put_file(self, key: str, path: Path) -> None:
        self._live()
        super().put_file(key, path)

    def put_files(self, folder: str, paths: Iterable[Path]) -> None:
        for path in paths:
            self.put_file(f"{folder}/{path.name}", path)

    def move(self, source: str, target: str) -> None:
        self._live()
        super().move(source, target)

    def remove(self, key: str) -> None:
        self._live()
        super().remove(key)


def at_every_step(root: Path) -> Iterator[tuple[FolderStore, KilledStore]]:
    """A folder of its own for each number of changes that a process lives through."""
    for lives in itertools.count():
        folder = root / str(lives)
        yield FolderStore.create(folder), KilledStore(folder, lives)


def staged(out: Path, run: PlannedRun, attempt: int = 1, **files: str) -> Path:
    """An attempt that has run to its end, not yet published."""
    folder = begin(out / ".staging", run, attempt).folder
    for name, text in (FILES | files).items():
        (folder / name).write_text(text)
    return folder


def content(store: FolderStore) -> dict[str, bytes | None]:
    return {key: store.get(key) for key in store.list("")}


def test_a_settled_run_lies_where_other_tools_look(
    tmp_path: Path, planned: PlannedRun, record: MakeRecord
) -> None:
    store = FolderStore.create(tmp_path)
    done = record(planned)
    Publisher(store).final(planned, done, staged(tmp_path, planned))

    files = {f"{PLACE}/{name}": text.encode() for name, text in FILES.items()}
    assert content(store) == files | {f"{PLACE}/run.json": done.to_json().encode()}
    assert Publisher(store).done(planned) == done


def test_killed_while_a_run_is_settled(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> None:
    """At every step: the run is open with nothing to see, or the next start brings it to the same end."""
    done = record(planned)
    for store, dying in at_every_step(tmp_path):
        folder = staged(store.root, planned)
        try:
            Publisher(dying).final(planned, done, folder)
        except KilledError:
            recover(store.root / ".staging", "small", Publisher(store))
        else:
            break
        finished = Publisher(store).done(planned)

        if finished is not None:
            assert finished == done
            assert set(content(store)) == {f"{PLACE}/{name}" for name in [*FILES, "run.json"]}
        else:
            assert content(store) == {}
        assert list((store.root / ".staging").iterdir()) == []


def test_a_paid_attempt_is_never_lost_once_it_has_ended(
    tmp_path: Path, planned: PlannedRun, record: MakeRecord
) -> None:
    """From the moment the record is written down, a kill at any store call loses neither record nor spend."""
    done = record(planned)
    # The manifest goes first, then the files, then the record.
    changes = 1 + len(FILES) + 1
    for step, (store, dying) in enumerate(at_every_step(tmp_path)):
        folder = staged(store.root, planned)
        (folder / "run.json").write_text(done.to_json())
        try:
            Publisher(dying).finish(planned, done, folder)
        except KilledError:
            assert recover(store.root / ".staging", "small", Publisher(store)) == 1
        else:
            assert step == changes
            break
        assert read_result(store, "x").records == (done,)


def test_killed_while_an_attempt_is_kept(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> None:
    lost = record(planned, outcome=Outcome.INFRA)
    for store, dying in at_every_step(tmp_path):
        folder = staged(store.root, planned)
        try:
            Publisher(dying).earlier(planned, lost, folder)
        except KilledError:
            assert recover(store.root / ".staging", "small", Publisher(store)) == 1
        else:
            break
        assert set(content(store)) == {f"{PLACE}/attempts/1/{name}" for name in [*FILES, "attempt.json"]}
        assert Publisher(store).done(planned) is None
        assert Publisher(store).next_attempt(planned) == 2


@pytest.mark.slow
def test_killed_while_a_run_is_opened_again(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> None:
    """At every step the attempt's record, spend and files are there; a repetition ends as one go would."""
    lost = record(planned, outcome=Outcome.INFRA, usd=0.25)
    ends = []
    for store, dying in at_every_step(tmp_path):
        Publisher(store).final(planned, lost, staged(store.root, planned))
        try:
            Publisher(dying).retire(planned, lost)
        except KilledError:
            killed = True
        else:
            killed = False
        read = read_result(store, "x")
        spent = [item.metered.cost_usd for item in (*read.records, *read.attempts) if item.metered]
        assert spent == [0.25]
        assert b"patch" in content(store).values()
        if (again := Publisher(store).done(planned)) is not None:
            Publisher(store).retire(planned, again)

        # The next attempt leaves no patch: the earlier one must not stand beside its record.
        folder = staged(store.root, planned, attempt=2)
        (folder / "patch.diff").unlink()
        assert Publisher(store).next_attempt(planned) == 2
        Publisher(store).final(planned, record(planned, attempt=2), folder)
        ends.append(content(store))
        if not killed:
            break

    assert len(ends) > len(FILES)
    assert all(end == ends[-1] for end in ends)
    assert f"{PLACE}/patch.diff" not in ends[-1]
    assert f"{PLACE}/attempts/1/patch.diff" in ends[-1]


def test_a_record_of_an_older_spec_is_kept_apart(
    tmp_path: Path, planned: PlannedRun, record: MakeRecord
) -> None:
    """A changed spec opens the run again, and what was paid for stays."""
    store = FolderStore.create(tmp_path)
    old, new = planned, replace(planned, run_id="e" * 32)
    Publisher(store).final(old, record(old), staged(tmp_path, old))
    before = content(store)

    assert Publisher(store).done(new) is None
    assert content(store) == {
        key.replace(PLACE, f"superseded/{old.run_id}"): text for key, text in before.items()
    }
    assert Publisher(store).next_attempt(new) == 1


def test_a_spec_that_is_changed_back_finds_its_record(
    tmp_path: Path, planned: PlannedRun, record: MakeRecord
) -> None:
    """Nothing is bought twice: a run whose record exists is done."""
    store = FolderStore.create(tmp_path)
    old, new = planned, replace(planned, run_id="e" * 32)
    publisher = Publisher(store)
    publisher.final(old, record(old), staged(tmp_path, old))
    before = content(store)
    assert publisher.done(new) is None
    publisher.final(new, record(new), staged(tmp_path, new))

    assert publisher.done(old) == record(old)
    assert {key: text for key, text in content(store).items() if key.startswith("runs/")} == before
    assert publisher.done(new) == record(new)


def test_looking_moves_nothing(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> None:
    """A dry run with a changed spec leaves every file where it is."""
    store = FolderStore.create(tmp_path)
    Publisher(store).final(planned, record(planned), staged(tmp_path, planned))
    before = content(store)

    assert Publisher(store, read_only=True).done(replace(planned, run_id="e" * 32)) is None
    assert content(store) == before


def test_two_writers_never_settle_one_run(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> None:
    """The second one is told, and the first one's files stay."""
    store = FolderStore.create(tmp_path)
    Publisher(store).final(planned, record(planned), staged(tmp_path, planned))
    before = content(store)
    with pytest.raises(DataError) as caught:
        Publisher(store).final(planned, record(planned, usd=9.0), staged(tmp_path, planned, attempt=2))

    assert str(caught.value) == (
        "runs/q/a/g/1/run.json exists already: is another tiltyard writing to this folder?"
    )
    assert content(store) == before


def test_a_run_without_an_attempt_takes_no_files(
    tmp_path: Path, planned: PlannedRun, record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed setup is recorded from wherever the user stands: files there are not ours to take."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.txt").write_text("the user's own")
    store = FolderStore.create(tmp_path / "results")
    Publisher(store).final(planned, record(planned, outcome=Outcome.SETUP_FAILED))

    assert (tmp_path / "prompt.txt").read_text() == "the user's own"
    assert list(content(store)) == [f"{PLACE}/run.json"]


@pytest.mark.parametrize(
    ("names", "following"), [([], 1), (["1"], 2), (["1", "3"], 4), (["x", "10", "9"], 11)]
)
def test_the_next_attempt_follows_all_that_left_a_trace(
    tmp_path: Path, planned: PlannedRun, names: list[str], following: int
) -> None:
    store = FolderStore.create(tmp_path)
    for name in names:
        store.put(f"{PLACE}/attempts/{name}/raw.out", b"")

    assert Publisher(store).next_attempt(planned) == following


def test_a_capability_is_part_of_the_folder(tmp_path: Path, planned: PlannedRun, record: MakeRecord) -> None:
    run = replace(planned, capability="Navi gation")
    store = FolderStore.create(tmp_path)
    Publisher(store).final(run, record(run))

    assert list(content(store)) == ["runs/navi-gation--0fda74fea8+q/a/g/1/run.json"]
