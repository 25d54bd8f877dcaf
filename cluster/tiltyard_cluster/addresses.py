"""Addresses of results: a folder, or `s3://bucket/prefix`. The one place that tells them apart."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard_cluster.outage import LOOK_PATIENCE, PATIENCE
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_specs.errors import UsageError

S3 = "s3://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Where boto3 looks for an endpoint."""


_NEARLY_S3 = re.compile("s3[:;]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class S3Address:
    """A bucket, and the prefix below which results lie in it."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{S3}{self.bucket}/{self.prefix}".rstrip("/")


Address = Path | S3Address


def parse_address(text: str | os.PathLike[str] | S3Address) -> Address:
    """Where results lie, as a user says it.

    Raises:
        UsageError: It names no bucket, or a scheme that is not s3.
    """
    if isinstance(text, S3Address):
        return text
    text = os.fspath(text)
    if not text.startswith(S3):
        scheme, found, _ = text.partition("://")
        if found:
            raise UsageError(f"{text} names no results: {scheme}:// is not known; give a folder or s3://...")
        if _NEARLY_S3.match(text):
            # A folder of such a name would take paid runs that were meant for a bucket.
            raise UsageError(f"{text} is no s3://bucket/prefix; for a folder of that name give ./{text}")
        return Path(text)
    bucket, _, prefix = text.removeprefix(S3).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{text} names no bucket: give s3://bucket/prefix")
    parts = [part for part in prefix.split("/") if part]
    if any(part.startswith(".") for part in parts):
        raise UsageError(f"{text}: no part of a prefix may begin with a dot")
    return S3Address(bucket, "/".join(parts))


def open_store(
    address: str | os.PathLike[str] | S3Address,
    endpoint: str | None = None,
    tell: Callable[[str], None] | None = None,
    patience: float = PATIENCE,
) -> Store:
    """The store at an address. Nothing is made, and nothing is asked of a service yet.

    Args:
        address: A folder, or `s3://bucket/prefix`.
        endpoint: Address of the S3 service; None for what boto3 finds in the environment, else AWS.
        tell: Told of outages of a service, one line each.
        patience: Seconds that an outage of a service may last.
    """
    where = parse_address(address)
    if isinstance(where, Path):
        return FolderStore(where)
    from tiltyard_cluster.s3_store import S3Store  # noqa: PLC0415  # only a result in S3 needs it

    return S3Store(where.bucket, where.prefix, endpoint=endpoint, patience=patience, tell=tell)


def open_result(
    address: str | os.PathLike[str] | S3Address,
    endpoint: str | None = None,
    tell: Callable[[str], None] | None = None,
    patience: float = LOOK_PATIENCE,
) -> Store:
    """The store of a result that is there.

    Args:
        address: A folder, or `s3://bucket/prefix`.
        endpoint: Address of the S3 service, as for `open_store`.
        tell: Told of outages of a service, one line each.
        patience: Seconds that an outage may last; few by default, for whoever only looks.

    Raises:
        DataError: There is no such folder.
    """
    where = parse_address(address)
    if isinstance(where, Path):
        return FolderStore.open(where)
    return open_store(where, endpoint, tell, patience)


def local_home(address: S3Address, endpoint: str | None, cache: Path, environ: Mapping[str, str]) -> Path:
    """Where the attempts under way of a result in S3 lie on this machine: the same folder at each start."""
    service = endpoint or next((environ[name] for name in _ENDPOINTS if name in environ), "")
    name = hashlib.sha256(f"{service}\0{address}".encode()).hexdigest()[:16]
    return cache / "results" / f"{address.bucket}-{name}"
