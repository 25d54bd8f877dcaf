"""Makes a site of a result, and makes it again when the result has changed."""

import hashlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tiltyard_cli.run_files import Records, StoredFiles

if TYPE_CHECKING:
    from tiltyard_cluster import Store
    from tiltyard_cluster.reading import ReadResult
    from tiltyard_report import Report
    from tiltyard_report.site import Site

_RESTS = 5.0
"""A changed result is read again after so many times what the last reading took."""


def site_of(
    result: "ReadResult",
    report: "Report",
    store: "Store",
    name: str,
    endpoint: str | None = None,
    *,
    version: str | None = None,
) -> "Site":
    """The site of a result that was read and analysed.

    Args:
        result: Its records and attempts.
        report: What `analyse` made of them.
        store: Where the result lies.
        name: What to call it in messages.
        endpoint: Of the S3 service.
        version: Of the result, for pages that are served.
    """
    from tiltyard_cluster.places import run_files  # noqa: PLC0415
    from tiltyard_report.site import Site  # noqa: PLC0415

    files = StoredFiles(run_files(store, name, result, endpoint))
    return Site(report, Records(result.records), files, Records(result.attempts), version=version)


def load_site(name: str, store: "Store", endpoint: str | None, version: str | None) -> "Site":
    """Read a result, analyse it, and make its site."""
    from tiltyard_cli.report_sources import of_trial  # noqa: PLC0415
    from tiltyard_cluster.reading import read_result  # noqa: PLC0415
    from tiltyard_report import analyse  # noqa: PLC0415

    result = of_trial(read_result(store, name))
    report = analyse(
        Records(result.records),
        receipt=result.receipt.to_data() if result.receipt else None,
        attempts=Records(result.attempts),
    )
    return site_of(result, report, store, name, endpoint, version=version)


def signature(store: "Store") -> str:
    """What changes when a result does: its records come, go, and are written again."""
    from tiltyard_cluster.layout import ATTEMPT, MANIFEST, RECORD, RUNS, TRIAL  # noqa: PLC0415

    digest = hashlib.sha256()
    for key in (TRIAL, MANIFEST):
        digest.update(store.get(key) or b"")
    stamps = (item for item in store.stamps(RUNS) if item[0].endswith((f"/{RECORD}", f"/{ATTEMPT}")))
    for key, stamp in sorted(stamps):
        digest.update(f"{key}\0{stamp}\0".encode())
    return digest.hexdigest()[:16]


class LiveSite:
    """The pages of a result as it is now. Safe to ask from several threads."""

    def __init__(
        self,
        load: Callable[[str], "Site"],
        signature: Callable[[], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the result for the first time.

        Args:
            load: Makes the site for a signature.
            signature: Of the result as it is now.
            clock: In seconds.
        """
        self._load, self._signature, self._clock = load, signature, clock
        # Drawing sets global state of matplotlib, so one page is made at a time.
        self._lock = threading.Lock()
        self._due = 0.0
        self._read(signature())

    def page(self, path: str) -> str | None:
        """A page as of now; None when there is none at this path."""
        with self._lock:
            self._renew()
            if path not in self._made:
                page = self._site.page(path)
                if page is None or path.startswith("run/"):
                    return page
                self._made[path] = page
            return self._made[path]

    def version(self) -> str:
        """Of the result as of now."""
        with self._lock:
            self._renew()
            return self.current

    def _renew(self) -> None:
        if self._clock() < self._due:
            return
        start = self._clock()
        try:
            found = self._signature()
            if found != self.current:
                self._read(found)
        except Exception:  # noqa: BLE001  # a result that cannot be read just now: the last one stays
            self._due = self._clock() + 1.0
            return
        self._due = max(self._due, self._clock() + max(1.0, _RESTS * (self._clock() - start)))

    def _read(self, found: str) -> None:
        start = self._clock()
        self._site = self._load(found)
        self.current = found
        self._made: dict[str, str] = {}
        self._due = self._clock() + max(1.0, _RESTS * (self._clock() - start))
