"""Carries the agent's working tree into a pristine container as one tar stream, made harmless on the way.

Nothing is unpacked on the host. Ownership, modes and times are set anew; any `.git` stays behind, and so does
what git cannot hold: device files, fifos, sockets. Nothing can be written through a symbolic link.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

_BLOCK = tarfile.BLOCKSIZE
_COPY = 1 << 20
_END = 2 * _BLOCK
"""An archive ends with this many zero bytes at least."""


class ChunkReader(io.RawIOBase):
    """Makes a file of a stream of chunks, for tarfile's streaming mode."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self._tail = b""

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; empty at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._rest = chunk
            self._tail = (self._tail + chunk)[-_END:]
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def check_whole(self) -> None:
        """Read to the end of an archive: `tarfile` takes it for whole where it breaks off between members.

        Raises:
            tarfile.ReadError: Its end mark is missing.
        """
        while self.read(_COPY):
            pass
        if self._tail != bytes(_END):
            raise tarfile.ReadError("the engine's archive breaks off")


class TreeArchive:
    """A filter over the archive of a working tree.

    Args:
        chunks: The tar stream of the tree, its members below one folder.
        folder: The name that this folder gets.
        uid: The owner that everything gets.
    """

    def __init__(self, chunks: Iterable[bytes], *, folder: str, uid: int) -> None:
        self._source = ChunkReader(chunks)
        self._reader = tarfile.open(  # noqa: SIM115  # a stream without end of its own
            fileobj=self._source, mode="r|", encoding="utf-8", errors="surrogateescape"
        )
        self._folder = folder
        self._uid = uid
        self._links: set[str] = set()
        self._kept: set[str] = set()
        self.left_out: list[str] = []
        """Paths of what cannot be carried."""

    def chunks(self) -> Iterator[bytes]:
        """The new tar stream."""
        for parent in reversed(PurePosixPath(self._folder).parents[:-1]):
            yield self._folder_header(str(parent))
        for member in self._reader:
            name = _inner(member.name)
            if self._passes(member, name):
                self._kept.add(name)
                yield self._header(member, name)
                if member.isreg():
                    yield from self._content(member)
        self._source.check_whole()
        yield bytes(_END)

    def _passes(self, member: tarfile.TarInfo, name: str) -> bool:
        path = PurePosixPath(name)
        # Git refuses every spelling of `.git`, and a whole tree with it.
        if any(part.casefold() == ".git" for part in path.parts):
            return False
        if any(str(parent) in self._links for parent in path.parents):
            return False
        if not self._can_be_held(member, path):
            self.left_out.append(name)
            return False
        if member.issym():
            self._links.add(name)
        return True

    def _can_be_held(self, member: tarfile.TarInfo, path: PurePosixPath) -> bool:
        if member.issym():
            return path.name.casefold() != ".gitmodules"
        if member.islnk():
            # The content came with the first name of the file, which may have stayed behind.
            return _inner(member.linkname) in self._kept
        return member.isreg() or member.isdir()

    def _header(self, member: tarfile.TarInfo, name: str) -> bytes:
        info = tarfile.TarInfo(f"{self._folder}/{name}" if name else self._folder)
        info.type = tarfile.REGTYPE if member.isreg() else member.type
        info.size = member.size if member.isreg() else 0
        info.linkname = f"{self._folder}/{_inner(member.linkname)}" if member.islnk() else member.linkname
        info.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        info.uid = info.gid = self._uid
        return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")

    def _folder_header(self, name: str) -> bytes:
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        info.uid = info.gid = self._uid
        return info.tobuf(tarfile.GNU_FORMAT)

    def _content(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        file = self._reader.extractfile(member)
        assert file is not None  # noqa: S101  # isreg() was asked
        left = member.size
        while left:
            chunk = file.read(min(_COPY, left))
            if not chunk:
                raise tarfile.ReadError(f"the engine's archive ends inside {member.name!r}")
            left -= len(chunk)
            yield chunk
        yield bytes(-member.size % _BLOCK)


def _inner(name: str) -> str:
    """The path below the archive's one top folder; empty for the folder itself."""
    return name.strip("/").partition("/")[2]
