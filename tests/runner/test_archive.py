"""The filter between the agent's tree and the pristine container, on archives no container would make."""

import io
import itertools
import tarfile
import tracemalloc
from collections.abc import Iterator

import pytest

from tiltyard_runner.grading.archive import MAX_PATH, TooMuchError, TreeArchive


def _member(
    name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", **more: object
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def _tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def _through(
    data: bytes, size: int = 700
) -> tuple[dict[str, tarfile.TarInfo], dict[str, bytes], TreeArchive]:
    archive = TreeArchive(_chunks(data, size), folder="tiltyard/new", uid=1000)
    buffer = io.BytesIO(b"".join(archive.chunks()))
    with tarfile.open(fileobj=buffer, errors="surrogateescape") as tar:
        found = {member.name: member for member in tar}
        content = {}
        for name, member in found.items():
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                content[name] = file.read()
    return found, content, archive


def test_owner_mode_and_time_are_set_anew_and_content_is_kept() -> None:
    data = _tar(
        _member("workspace", tarfile.DIRTYPE, mode=0o1777, uid=7),
        _member("workspace/a", content=b"x" * 5000, mode=0o6711, uid=7, mtime=12345, uname="eve"),
        _member("workspace/b", content=b"", mode=0),
        *(_member("workspace/" + "long/" * depth, tarfile.DIRTYPE) for depth in range(1, 61)),
        _member("workspace/" + "long/" * 60 + "name", content=b"deep"),
        _member("workspace/odd-\udcff", content=b"odd"),
    )
    found, content, archive = _through(data)
    inner = {
        name.removeprefix("tiltyard/new").lstrip("/"): member
        for name, member in found.items()
        if name != "tiltyard"
    }
    for depth in range(1, 61):
        inner.pop("/".join(["long"] * depth))
    assert {member.uid for member in found.values()} == {1000}
    assert {member.mtime for member in found.values()} == {0}
    assert (inner[""].mode, inner["a"].mode, inner["b"].mode) == (0o755, 0o755, 0o644)
    assert content["tiltyard/new/a"] == b"x" * 5000
    assert content["tiltyard/new/" + "long/" * 60 + "name"] == b"deep"
    assert content["tiltyard/new/odd-\udcff"] == b"odd"
    assert archive.left_out == []


def test_what_no_tree_of_git_can_hold_stays_behind() -> None:
    data = _tar(
        _member("workspace", tarfile.DIRTYPE),
        _member("workspace/.git", tarfile.DIRTYPE),
        _member("workspace/.git/config", content=b"evil"),
        _member("workspace/sub", tarfile.DIRTYPE),
        _member("workspace/sub/.GiT", tarfile.DIRTYPE),
        _member("workspace/sub/.GiT/config", content=b"evil"),
        _member("workspace/block", tarfile.BLKTYPE, devmajor=8),
        _member("workspace/char", tarfile.CHRTYPE, devmajor=1),
        _member("workspace/pipe", tarfile.FIFOTYPE),
        _member("workspace/hard-to-git", tarfile.LNKTYPE, linkname="workspace/.git/config"),
        _member("workspace/hard-outside", tarfile.LNKTYPE, linkname="etc/passwd"),
        _member("workspace/sub/.gitmodules", tarfile.SYMTYPE, linkname="x"),
        _member("workspace/kept", content=b"kept"),
        _member("workspace/hard", tarfile.LNKTYPE, linkname="workspace/kept"),
    )
    found, _, archive = _through(data)
    new = {f"tiltyard/new/{name}" for name in ("sub", "kept", "hard")}
    assert set(found) == {"tiltyard", "tiltyard/new", *new}
    assert found["tiltyard/new/hard"].linkname == "tiltyard/new/kept"
    assert archive.left_out == ["block", "char", "pipe", "hard-to-git", "hard-outside", "sub/.gitmodules"]


def test_nothing_beneath_a_link_is_carried() -> None:
    data = _tar(
        _member("workspace", tarfile.DIRTYPE),
        _member("workspace/out", tarfile.SYMTYPE, linkname="/etc"),
        _member("workspace/out/passwd", content=b"root::0:0"),
        _member("workspace/out/deeper/x", content=b"x"),
        _member("workspace/outside", content=b"a name that begins like the link's"),
    )
    found, _, _ = _through(data)
    assert set(found) == {"tiltyard", "tiltyard/new", "tiltyard/new/out", "tiltyard/new/outside"}


def test_paths_longer_than_can_be_unpacked_are_left_out_and_counted() -> None:
    folders = ["/".join(["a" * 199] * depth) for depth in range(1, 21)]
    data = _tar(
        _member("workspace", tarfile.DIRTYPE), *(_member(f"workspace/{f}", tarfile.DIRTYPE) for f in folders)
    )
    found, _, archive = _through(data)
    assert max(len(name) for name in found) <= MAX_PATH + len("tiltyard/new/")
    assert (archive.deep, archive.left_out_count) == (True, 1), "what lies beneath is not counted"


def test_more_than_is_carried_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _tar(_member("workspace", tarfile.DIRTYPE), *(_member(f"workspace/{n:0200}") for n in range(50)))
    assert len(_through(data)[0]) == 52
    monkeypatch.setattr("tiltyard_runner.grading.archive.MAX_NAME_BYTES", 9_000)
    with pytest.raises(TooMuchError):
        _through(data)
    monkeypatch.setattr("tiltyard_runner.grading.archive.MAX_NAME_BYTES", 1 << 20)
    monkeypatch.setattr("tiltyard_runner.grading.archive.MAX_ENTRIES", 50)
    with pytest.raises(TooMuchError):
        _through(data)


@pytest.mark.slow
def test_the_filter_holds_neither_paths_nor_content() -> None:
    """An agent can leave a million of them."""
    header = _member("workspace", tarfile.DIRTYPE)[0].tobuf(tarfile.PAX_FORMAT)

    def endless() -> Iterator[bytes]:
        yield header
        for number in range(4000):
            yield tarfile.TarInfo(f"workspace/{number:080}").tobuf(tarfile.PAX_FORMAT)
        yield bytes(1024)

    archive = TreeArchive(endless(), folder="tiltyard/new", uid=1000)
    tracemalloc.start()
    try:
        for _ in archive.chunks():
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert archive.entries == 4001
    assert peak < 2_500_000, "a hash is kept of each path, not the path"


@pytest.mark.parametrize("size", [1, 511, 512, 1 << 20])
def test_the_size_of_chunks_does_not_matter(size: int) -> None:
    data = _tar(_member("workspace", tarfile.DIRTYPE), _member("workspace/a", content=b"0123456789" * 60))
    assert _through(data, size)[1] == {"tiltyard/new/a": b"0123456789" * 60}


def test_an_archive_that_breaks_off_anywhere_is_refused() -> None:
    whole = _tar(
        _member("workspace", tarfile.DIRTYPE),
        _member("workspace/a", content=b"a" * 600),
        _member("workspace/b", content=b"b" * 100),
    )
    content = 512 + 512 + 1024 + 512 + 512
    cuts = itertools.chain(range(0, content, 512), (100, 700, 1600, content - 12))
    for cut in cuts:
        with pytest.raises(tarfile.TarError):
            _through(whole[:cut])
    assert len(_through(whole)[0]) == 4
