"""What every store keeps, as a test class: a new store subclasses it and gives a `store` fixture."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tiltyard_cluster import Store

ODD_NAMES = (
    "runs/a b/c+d/e@f@g/1/run.json",
    "runs/ünïcode/日本/x/1/run.json",
    "runs/a/--0123456789/=eq/1/run.json",
    "runs/q/[x]*?/~/1/run.json",
    "runs/.hidden/a/b/1/run.json",
    "x",
)


class StoreContract:
    """Objects by key: atomic puts, one winner, prefixes."""

    def test_an_object_comes_back_as_it_went_in(self, store: Store) -> None:
        data = bytes(range(256)) * 5000
        store.put("runs/a/run.json", data)

        assert store.get("runs/a/run.json") == data
        assert b"".join(store.stream("runs/a/run.json")) == data

    def test_what_is_not_there(self, store: Store) -> None:
        """Absence is None, also below an object, where a folder would have to be."""
        store.put("runs/a", b"1")

        assert store.get("runs/b") is None
        assert store.get("runs/a/b") is None
        assert list(store.list("elsewhere/")) == []
        store.remove("runs/b")

    def test_an_empty_object_is_an_object(self, store: Store) -> None:
        assert store.put_if_absent("runs/empty", b"")
        assert store.get("runs/empty") == b""
        assert not store.put_if_absent("runs/empty", b"more")

    def test_a_put_replaces(self, store: Store) -> None:
        store.put("a/b", b"long before")
        store.put("a/b", b"after")

        assert store.get("a/b") == b"after"
        assert list(store.list("a/")) == ["a/b"]

    def test_a_stamp_changes_with_its_object(self, store: Store) -> None:
        """And with nothing else."""
        store.put("a/b", b"before")
        store.put("a/c", b"before")
        first = dict(store.stamps("a/"))
        store.put("a/b", b"after!")
        second = dict(store.stamps("a/"))

        assert first.keys() == second.keys() == {"a/b", "a/c"}
        assert first["a/b"] != second["a/b"]
        assert first["a/c"] == second["a/c"]

    def test_put_if_absent_never_replaces(self, store: Store) -> None:
        assert store.put_if_absent("a/b", b"first")
        assert not store.put_if_absent("a/b", b"second")
        assert store.get("a/b") == b"first"

    def test_one_of_many_threads_wins(self, store: Store) -> None:
        """The winner's bytes stand there whole, and exactly one is told that it won."""
        start = threading.Barrier(16)

        def write(number: int) -> bool:
            start.wait()
            return store.put_if_absent("race/run.json", bytes([number]) * 100_000)

        with ThreadPoolExecutor(16) as pool:
            won = list(pool.map(write, range(16)))

        assert won.count(True) == 1
        assert store.get("race/run.json") == bytes([won.index(True)]) * 100_000
        assert list(store.list("race/")) == ["race/run.json"]

    def test_a_reader_never_sees_half(self, store: Store) -> None:
        """While an object is replaced over and over, each read finds one version whole."""
        versions = [bytes([number]) * 300_000 for number in range(4)]
        store.put("a/run.json", versions[0])
        done = threading.Event()

        def write() -> None:
            for _ in range(10):
                for version in versions:
                    store.put("a/run.json", version)
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen = []
        while not done.is_set():
            seen.append(store.get("a/run.json"))
        writer.join()

        assert seen
        assert set(seen) <= set(versions)

    def test_a_file_is_taken(self, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "raw.out"
        path.write_bytes(b"output")
        store.put_file("a/raw.out", path)

        assert store.get("a/raw.out") == b"output"
        assert not path.exists()

    def test_a_file_replaces(self, store: Store, tmp_path: Path) -> None:
        store.put("a/raw.out", b"before, longer")
        path = tmp_path / "raw.out"
        path.write_bytes(b"after")
        store.put_file("a/raw.out", path)

        assert store.get("a/raw.out") == b"after"

    def test_files_are_taken_together(self, store: Store, tmp_path: Path) -> None:
        store.put("a/raw.out", b"before, longer")
        contents = {"raw.out": b"after", "raw.err": b"", "patch.diff": bytes(range(256)) * 99}
        for name, content in contents.items():
            (tmp_path / name).write_bytes(content)
        store.put_files("a", [tmp_path / name for name in contents])

        assert {name: store.get(f"a/{name}") for name in contents} == contents
        assert list(tmp_path.glob("*.*")) == []

    @pytest.mark.parametrize("key", ODD_NAMES)
    def test_odd_names(self, store: Store, key: str) -> None:
        assert store.put_if_absent(key, b"1")
        assert store.get(key) == b"1"
        assert list(store.list("")) == [key]
        store.remove(key)
        assert list(store.list("")) == []

    def test_a_prefix_is_text_and_no_folder(self, store: Store) -> None:
        for key in ("runs/q/a/1", "runs/q/ab/1", "runs/q2/a/1", "runsx/1"):
            store.put(key, b"")

        def listed(prefix: str) -> set[str]:
            return set(store.list(prefix))

        assert listed("runs/") == {"runs/q/a/1", "runs/q/ab/1", "runs/q2/a/1"}
        assert listed("runs/q") == {"runs/q/a/1", "runs/q/ab/1", "runs/q2/a/1"}
        assert listed("runs/q/a") == {"runs/q/a/1", "runs/q/ab/1"}
        assert listed("runs/q/a/") == {"runs/q/a/1"}
        assert listed("runs/q/a/1") == {"runs/q/a/1"}
        assert listed("") == {"runs/q/a/1", "runs/q/ab/1", "runs/q2/a/1", "runsx/1"}

    def test_move_takes_all_below_and_nothing_beside(self, store: Store) -> None:
        for key in ("runs/q/1/run.json", "runs/q/1/attempts/1/raw.out", "runs/q/10/run.json"):
            store.put(key, key.encode())
        store.move("runs/q/1", "superseded/x")

        assert set(store.list("")) == {
            "superseded/x/run.json",
            "superseded/x/attempts/1/raw.out",
            "runs/q/10/run.json",
        }
        assert store.get("superseded/x/run.json") == b"runs/q/1/run.json"

    def test_move_joins_what_is_there(self, store: Store) -> None:
        """Also after a move that was broken off: what has come over stays, the rest follows."""
        store.put("to/a", b"old")
        store.put("to/b", b"stays")
        store.put("from/a", b"new")
        store.put("from/c/d", b"comes")
        store.move("from", "to")

        assert {key: store.get(key) for key in store.list("")} == {
            "to/a": b"new",
            "to/b": b"stays",
            "to/c/d": b"comes",
        }

    def test_moving_nothing_is_nothing(self, store: Store) -> None:
        store.move("nowhere", "to")

        assert list(store.list("")) == []
