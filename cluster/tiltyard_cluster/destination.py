"""Where a start of a trial puts its results: opened, proven fit, and kept from other drivers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tiltyard_cluster.addresses import Address, S3Address, local_home
from tiltyard_cluster.folder import only_one, require_results_folder, require_trial_only
from tiltyard_cluster.options import RunOptions, cache_folder
from tiltyard_cluster.staging import STAGING
from tiltyard_cluster.store import FolderStore, Store


@dataclass(frozen=True, slots=True)
class Destination:
    """An open destination."""

    address: Address
    store: Store
    home: Path
    """The folder on this machine whose disk a trial needs: the results folder, or the cache's part for it."""

    @property
    def staging(self) -> Path:
        """Where attempts under way lie. A later start on this machine finds them there."""
        return self.home / STAGING


@contextmanager
def open_destination(
    address: Address, options: RunOptions, *, tell: Callable[[str], None], on_lost: Callable[[], None]
) -> Iterator[Destination]:
    """Open where results go, for this process alone.

    Args:
        address: A folder or a place in S3.
        options: How to run.
        tell: Told of outages, one line each.
        on_lost: Called when another driver has taken the place over.

    Raises:
        UsageError: It holds something that is no trial.
        UnavailableError: It cannot be written, is in use, or does not keep conditions.
    """
    if isinstance(address, Path):
        out = address.absolute()
        require_results_folder(out)
        store = FolderStore.create(out)
        with only_one(out):
            store.remove_leftovers()
            yield Destination(address, store, out)
        return
    with _in_s3(address, options, tell, on_lost) as destination:
        yield destination


@contextmanager
def _in_s3(
    address: S3Address, options: RunOptions, tell: Callable[[str], None], on_lost: Callable[[], None]
) -> Iterator[Destination]:
    from tiltyard_cluster.s3_store import S3Store  # noqa: PLC0415  # only a result in S3 needs boto3
    from tiltyard_cluster.store_lock import StoreLock  # noqa: PLC0415

    store = S3Store(address.bucket, address.prefix, endpoint=options.s3_endpoint, tell=tell)
    store.require_conditions()
    require_trial_only(store, str(address))
    home = local_home(address, options.s3_endpoint, cache_folder(options.environ), options.environ)
    home.mkdir(parents=True, exist_ok=True)
    with only_one(home, str(address)), StoreLock(store, tell=tell, on_lost=on_lost):
        yield Destination(address, store, home)
