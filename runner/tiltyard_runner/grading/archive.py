"""Carries the agent's working tree into a pristine container as one tar stream, made harmless on the way.

Nothing is unpacked on the host. Ownership, modes and times are set anew; any `.git` stays behind, and so does
what git cannot hold: device files, fifos, sockets. Nothing can be written through a symbolic link. Whatever
the tree holds, memory here stays bounded.
"""

import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

_BLOCK = tarfile.BLOCKSIZE
_COPY = 1 << 20
_CHUNK = 1 << 18
_NAMED = 10
_END = 2 * _BLOCK
"""An archive ends with this many zero bytes at least."""


MAX_ENTRIES = 1_000_000
MAX_NAME_BYTES = 64 << 20
"""Of all paths together: they end in memory and in the record."""
MAX_PATH = 3900
"""Bytes of one path: a longer one could not be unpacked in another place, and it is said of it."""
_NEAR_PATH = 3300
"""In a longer folder the engine itself may have left things out: it opens no path beyond 4095 bytes."""


class TooMuchError(Exception):
    """The tree holds more than is carried."""


class ChunkReader(io.RawIOBase):
    """Makes a file of a stream of chunks, for tarfile's streaming mode."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = b""
        self._at = 0
        self._tail = b""

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; empty at the end."""
        while self._at >= len(self._chunk):
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._chunk, self._at = chunk, 0
            self._tail = (self._tail + chunk)[-_END:]
        # By position: cutting pieces off the front would copy the rest of a large chunk each time.
        end = len(self._chunk) if size < 0 else self._at + size
        piece = self._chunk[self._at : end]
        self._at += len(piece)
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
        self._kept: set[int] = set()
        """Hashes of the paths that were carried; the paths themselves could take a gigabyte."""
        self._folders: set[int] = set()
        self._name_bytes = 0
        self.entries = 0
        self.left_out: list[str] = []
        """The first paths of what cannot be carried."""
        self.left_out_count = 0
        self.deep = False
        """Whether a path is so long that the engine may have left out what lies beneath it."""

    def chunks(self) -> Iterator[bytes]:
        """The new tar stream.

        Raises:
            TooMuchError: There are more paths than are carried.
            tarfile.TarError: The engine's archive breaks off.
        """
        pieces: list[bytes] = []
        size = 0
        # Each chunk is a message to the engine: a header or a small file alone would be many.
        for piece in self._pieces():
            pieces.append(piece)
            size += len(piece)
            if size >= _CHUNK:
                yield b"".join(pieces)
                pieces, size = [], 0
        yield b"".join(pieces)

    def _pieces(self) -> Iterator[bytes]:
        for parent in reversed(PurePosixPath(self._folder).parents[:-1]):
            yield self._folder_header(str(parent))
        while (member := self._reader.next()) is not None:
            # It remembers every member otherwise.
            self._reader.members = []  # type: ignore[attr-defined]  # the stubs do not know it
            name = _inner(member.name)
            self._count(name)
            if self._passes(member, name):
                (self._folders if member.isdir() else self._kept).add(hash(name))
                yield self._header(member, name)
                if member.isreg():
                    yield from self._content(member)
        self._source.check_whole()
        yield bytes(_END)

    def _count(self, name: str) -> None:
        size = len(os.fsencode(name))
        self.entries += 1
        self._name_bytes += size
        self.deep = self.deep or size > _NEAR_PATH
        if self.entries > MAX_ENTRIES or self._name_bytes > MAX_NAME_BYTES:
            raise TooMuchError(
                f"the tree has more than {MAX_ENTRIES} paths, or their names take more than "
                f"{MAX_NAME_BYTES >> 20} MiB"
            )

    def _passes(self, member: tarfile.TarInfo, name: str) -> bool:
        folder, _, last = name.rpartition("/")
        # Git refuses every spelling of `.git`, and a whole tree with it.
        if last.casefold() == ".git":
            return False
        # What lies in something that was not carried as a folder, a link for instance, stays behind with it.
        if name and hash(folder) not in self._folders:
            return False
        if not self._can_be_held(member, name, last):
            self.left_out_count += 1
            self.left_out += [name] if len(self.left_out) < _NAMED else []
            return False
        return True

    def _can_be_held(self, member: tarfile.TarInfo, name: str, last: str) -> bool:
        if len(os.fsencode(name)) > MAX_PATH:
            return False
        if member.issym():
            return last.casefold() != ".gitmodules"
        if member.islnk():
            # The content came with the first name of the file, which may have stayed behind.
            return hash(_inner(member.linkname)) in self._kept
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
