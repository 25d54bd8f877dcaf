"""Where results lie. One narrow interface; a folder here, S3 beside it later."""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from tiltyard_specs.errors import DataError, UnavailableError
from tiltyard_specs.visible import visible

_CHUNK = 1 << 20
_TEMPORARY = ".tmp-"


class Store(Protocol):
    """Objects by key. Keys are relative paths with `/`; a put is atomic and durable before it returns."""

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write a new object; False, and nothing written, when there is one already."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write or replace an object."""
        ...

    def put_file(self, key: str, path: Path) -> None:
        """Take a file into the store; the file is gone afterwards."""
        ...

    def put_files(self, folder: str, paths: Iterable[Path]) -> None:
        """Take files into one folder of the store, each under its name; they are gone afterwards."""
        ...

    def get(self, key: str) -> bytes | None:
        """The whole object, or None when there is none."""
        ...

    def stream(self, key: str) -> Iterator[bytes]:
        """The object in chunks."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """The keys that begin with `prefix`, in no particular order."""
        ...

    def stamps(self, prefix: str) -> Iterator[tuple[str, str]]:
        """The same keys, each with a mark that is another one once the object was replaced."""
        ...

    def move(self, source: str, target: str) -> None:
        """Give every object below the folder `source` a key below `target`."""
        ...

    def remove(self, key: str) -> None:
        """Remove an object, if it is there."""
        ...


class FolderStore:
    """A folder on this machine: each object a file, each put a rename."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._identity: tuple[int, int] | None = None

    @classmethod
    def create(cls, root: Path) -> "FolderStore":
        """Make the folder if it is missing. Nothing is written to another one that takes its place later.

        Raises:
            UnavailableError: It cannot be made or written.
        """
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                pass
        except OSError as error:
            raise UnavailableError(
                f"the results folder {root} cannot be written: {error.strerror or error}; "
                "choose another with --out"
            ) from error
        store = cls(root)
        store.hold()
        return store

    @classmethod
    def open(cls, root: Path) -> "FolderStore":
        """An existing folder.

        Raises:
            DataError: There is none.
        """
        if root.is_file():
            raise DataError(f"{visible(str(root))} is a file; give the results folder that holds it")
        if not root.is_dir():
            raise DataError(f"{visible(str(root))} is no results folder: there is no such folder")
        return cls(root)

    def __getstate__(self) -> dict[str, object]:
        # Other machines know a shared folder by another identity.
        return {"root": self.root, "_identity": None}

    def hold(self) -> None:
        """From now on nothing is written to another folder that takes this one's place, or makes it anew."""
        self._identity = _identity(self.root)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """See `Store`. A hard link fails where the name exists: test and write are one step."""
        path = self._place(key)
        temporary = self._write(path, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        _sync(path.parent)
        return True

    def put(self, key: str, data: bytes) -> None:
        """See `Store`."""
        path = self._place(key)
        temporary = self._write(path, data)
        try:
            temporary.replace(path)
        except BaseException:
            # An interrupt may come here as well; who was killed here leaves it to `remove_leftovers`.
            temporary.unlink(missing_ok=True)
            raise
        _sync(path.parent)

    def put_file(self, key: str, path: Path) -> None:
        """See `Store`."""
        _sync(self._take(key, path).parent)

    def put_files(self, folder: str, paths: Iterable[Path]) -> None:
        """See `Store`. The folder is written to disk once for all."""
        places = {self._take(f"{folder}/{path.name}", path).parent for path in paths}
        for place in places:
            _sync(place)

    def get(self, key: str) -> bytes | None:
        """See `Store`."""
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stream(self, key: str) -> Iterator[bytes]:
        """See `Store`."""
        with self._path(key).open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def list(self, prefix: str) -> Iterator[str]:
        """See `Store`."""
        top = self.root / prefix.rpartition("/")[0]
        for folder, folders, files in os.walk(top, onerror=_unless_missing):
            if Path(folder) == self.root:
                # Keys never begin with a dot: such folders are a driver's own.
                folders[:] = [name for name in folders if not name.startswith(".")]
                files = [name for name in files if not name.startswith(".")]  # noqa: PLW2901
            for name in files:
                key = Path(folder, name).relative_to(self.root).as_posix()
                if key.startswith(prefix) and not name.startswith(_TEMPORARY):
                    yield key

    def stamps(self, prefix: str) -> Iterator[tuple[str, str]]:
        """See `Store`. A put is a rename, so that a new file number tells it even within one tick."""
        for key in self.list(prefix):
            with contextlib.suppress(FileNotFoundError):
                facts = self._path(key).stat()
                yield key, f"{facts.st_ino} {facts.st_size} {facts.st_mtime_ns}"

    def move(self, source: str, target: str) -> None:
        """See `Store`. One rename where the target is new, so that a kill leaves no half of it."""
        before, after = self._path(source), self._path(target)
        if before.is_dir() and not after.exists():
            self._place(target)
            before.rename(after)
            return
        for key in list(self.list(source + "/")):
            self.put_file(target + key.removeprefix(source), self._path(key))
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(before)

    def remove(self, key: str) -> None:
        """See `Store`."""
        self._path(key).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        """Remove what killed puts have left. Only for who alone writes to this folder."""
        for folder, _, files in os.walk(self.root):
            for name in files:
                if name.startswith(_TEMPORARY):
                    Path(folder, name).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.root / key

    def _take(self, key: str, path: Path) -> Path:
        target = self._place(key)
        if path.stat().st_size > 0:
            _sync(path)
        try:
            path.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self._copy_over(path, target)
        return target

    def _place(self, key: str) -> Path:
        """Where a new object goes; its folder is there."""
        if self._identity is not None and _identity(self.root) != self._identity:
            raise FileNotFoundError(errno.ENOENT, "another folder has taken its place", str(self.root))
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @staticmethod
    def _write(path: Path, data: bytes) -> Path:
        with _temporary(path) as file:
            file.write(data)
        return Path(file.name)

    @staticmethod
    def _copy_over(source: Path, target: Path) -> None:
        with source.open("rb") as reader, _temporary(target) as writer:
            shutil.copyfileobj(reader, writer, _CHUNK)
        Path(writer.name).replace(target)
        source.unlink()


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator["tempfile._TemporaryFileWrapper[bytes]"]:
    """A new file beside `path`, on the disk when the block ends; removed when the block fails."""
    with tempfile.NamedTemporaryFile(prefix=_TEMPORARY, dir=path.parent, delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            # Temporary files are made private; results are for whoever may read the folder.
            os.fchmod(file.fileno(), 0o644)
        except BaseException:
            Path(file.name).unlink()
            raise


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _unless_missing(error: OSError) -> None:
    """A folder that cannot be read is an error: its records must not seem to be missing."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _sync(path: Path) -> None:
    """Make a file's content, or a rename in a folder, survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
