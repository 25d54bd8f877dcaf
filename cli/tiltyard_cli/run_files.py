"""The files of runs for a site: read from a store, never from outside of it, no more than a page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from tiltyard_cluster.places import Files
    from tiltyard_report.site import RunFile
    from tiltyard_specs import RunRecord


@dataclass(frozen=True, slots=True)
class _Cell:
    """What names a run's folder."""

    capability: str | None
    question: str
    arm: str
    agent: str
    rep: int


class StoredFiles:
    """Reads the files beside a record, wherever the result lies."""

    def __init__(self, files: "Files") -> None:
        self._files = files

    def read(self, record: Mapping[str, object], name: str, limit: int) -> "RunFile | None":
        """See `tiltyard_report.site.RunFiles`."""
        from tiltyard_cluster.layout import run_key  # noqa: PLC0415
        from tiltyard_report.site import RunFile  # noqa: PLC0415

        key = f"{run_key(_cell(record))}/{name}"
        if _leads_out(self._files, key):
            return None
        data = b""
        try:
            for chunk in self._files.stream(key):
                data += chunk
                if len(data) > limit:
                    break
        except OSError:
            return None
        return RunFile(data[:limit], whole=len(data) <= limit, size=_size(self._files, key, data))


class Records(Sequence[Mapping[str, object]]):
    """Records as plain data, each made when it is asked for."""

    def __init__(self, records: "Sequence[RunRecord]") -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, object]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, object]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return Records(self._records[place])
        return self._records[place].to_data()


def _cell(record: Mapping[str, object]) -> _Cell:
    capability, rep = record.get("capability"), record["rep"]
    return _Cell(
        None if capability is None else str(capability),
        str(record["question"]),
        str(record["arm"]),
        str(record["agent"]),
        int(str(rep)),
    )


def _leads_out(files: "Files", key: str) -> bool:
    """Whether a link in a results folder leads out of it: what lies there is nobody's to publish."""
    from tiltyard_cluster import FolderStore  # noqa: PLC0415

    if not isinstance(files, FolderStore):
        return False
    root = files.root.resolve()
    return not (root / key).resolve().is_relative_to(root)


def _size(files: "Files", key: str, data: bytes) -> int | None:
    """Of the whole file, where that can be told without reading it."""
    from tiltyard_cluster import FolderStore  # noqa: PLC0415

    return (files.root / key).stat().st_size if isinstance(files, FolderStore) else None if data else 0
