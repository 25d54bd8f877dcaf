"""Results in S3-compatible storage: conditional puts, checksums on read, patience in outages."""

import errno
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tiltyard_cluster.lines import file_sha256
from tiltyard_cluster.outage import PATIENCE, Outage
from tiltyard_cluster.packing import PACKED, pack, unpack
from tiltyard_cluster.s3_client import ABSENT, TAKEN, code_of, make_client, patiently
from tiltyard_specs.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client
    from types_boto3_s3.type_defs import GetObjectOutputTypeDef

_CHUNK = 1 << 20
_DIGEST = "sha256"
_RAW = "raw"
"""Names in an object's metadata: the digest of what went in, and `raw` for what lies there compressed."""
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object, and what tells whether it has been replaced since."""

    data: bytes
    tag: str
    age: float
    """Seconds since it was written."""


class S3Store:
    """A bucket, or what lies below a prefix in it. See `Store`; safe for threads.

    A client is made when the first call needs one, so that a store can be sent to another process.

    Args:
        bucket: Name of the bucket.
        prefix: Without slashes at its ends; empty for the whole bucket.
        endpoint: Address of the service; None for what boto3 finds in the environment, else AWS.
        patience: Seconds that an outage may last.
        tell: Told of an outage, and of its end, in one line each.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str,
        *,
        endpoint: str | None = None,
        patience: float = PATIENCE,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint
        self._outage = Outage(str(self), patience, tell)
        self._made: S3Client | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __str__(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def require_conditions(self) -> None:
        """See that the service answers, lets us write, and keeps `put_if_absent` apart.

        Raises:
            UnavailableError: It does not.
        """
        key = f".probe/{secrets.token_hex(8)}"
        try:
            first, second = self.put_if_absent(key, b"1"), self.put_if_absent(key, b"2")
        finally:
            self.remove(key)
        if not first or second:
            raise UnavailableError(
                f"the store at {self} ignores conditions (If-None-Match), so that two machines could settle "
                "one run; use one that keeps them, such as AWS S3, SeaweedFS or a recent MinIO, or a folder"
            )

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """See `Store`. Where a try of ours was repeated, what stands there may be our own: it is compared."""
        tries = 0

        def put() -> bool:
            nonlocal tries
            tries += 1
            try:
                self._put(key, data, IfNoneMatch="*")
            except self._client().exceptions.ClientError as error:
                if code_of(error) not in TAKEN:
                    raise
                repeated = tries > 1 or error.response["ResponseMetadata"].get("RetryAttempts", 0)
                return bool(repeated) and self.get(key) == data
            return True

        return self._patiently(put)

    def put(self, key: str, data: bytes) -> None:
        """See `Store`."""
        self._patiently(lambda: self._put(key, data))

    def put_file(self, key: str, path: Path) -> None:
        """See `Store`. Large files go up in parts."""
        name = key.rpartition("/")[2]
        with tempfile.TemporaryDirectory(prefix="tiltyard-") as folder:
            raw = name in PACKED
            source = pack(path, Path(folder, "packed")) if raw else path
            metadata = {_DIGEST: file_sha256(path)} | ({_RAW: "zstd"} if raw else {})
            self._patiently(lambda: self._upload(key, source, metadata))
        path.unlink()

    def put_files(self, folder: str, paths: Iterable[Path]) -> None:
        """See `Store`."""
        for path in paths:
            self.put_file(f"{folder}/{path.name}", path)

    def get(self, key: str) -> bytes | None:
        """See `Store`.

        Raises:
            DataError: What lies there is not what was put.
        """
        return self._patiently(lambda: self._get(key))

    def stream(self, key: str) -> Iterator[bytes]:
        """See `Store`.

        Raises:
            FileNotFoundError: There is no such object.
            DataError: What lies there is not what was put.
        """
        with tempfile.TemporaryDirectory(prefix="tiltyard-") as folder:
            path = Path(folder, "object")
            self.fetch(key, path)
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    yield chunk

    def fetch(self, key: str, path: Path) -> None:
        """Write an object to a file.

        Raises:
            FileNotFoundError: There is no such object.
            DataError: What lies there is not what was put.
        """
        if not self._patiently(lambda: self._fetch(key, path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self}/{key}")

    def tagged(self, key: str) -> Tagged | None:
        """An object as it is now, or None when there is none."""
        return self._patiently(lambda: self._tagged(key))

    def replace(self, key: str, data: bytes, tag: str) -> str | None:
        """Replace an object that still has a tag; its new tag, or None where it has another one by now."""

        def put() -> str | None:
            try:
                return self._put(key, data, IfMatch=tag)
            except self._client().exceptions.ClientError as error:
                if code_of(error) not in TAKEN | ABSENT:
                    raise
                there = self._tagged(key)
                return there.tag if there is not None and there.data == data else None

        return self._patiently(put)

    def list(self, prefix: str) -> Iterator[str]:
        """See `Store`."""
        return (key for key, _ in self.stamps(prefix))

    def stamps(self, prefix: str) -> Iterator[tuple[str, str]]:
        """See `Store`. The service lists each object with its tag."""
        start = self._prefix + prefix
        token: dict[str, Any] = {}
        while True:
            page = self._patiently(
                lambda: self._client().list_objects_v2(Bucket=self._bucket, Prefix=start, **token)  # noqa: B023
            )
            for item in page.get("Contents", []):
                key = item["Key"].removeprefix(self._prefix)
                if not key.startswith("."):
                    yield key, item["ETag"]
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def move(self, source: str, target: str) -> None:
        """See `Store`. Everything is copied before anything is removed."""
        keys = list(self.list(f"{source}/"))
        for key in keys:
            origin = {"Bucket": self._bucket, "Key": self._prefix + key}
            goal = self._prefix + target + key.removeprefix(source)
            self._patiently(lambda: self._client().copy(origin, self._bucket, goal))  # type: ignore[arg-type]  # noqa: B023
        for key in keys:
            self.remove(key)

    def remove(self, key: str) -> None:
        """See `Store`."""
        self._patiently(lambda: self._client().delete_object(Bucket=self._bucket, Key=self._prefix + key))

    def _upload(self, key: str, path: Path, metadata: dict[str, str]) -> None:
        from boto3.exceptions import S3UploadFailedError  # noqa: PLC0415

        try:
            self._client().upload_file(
                str(path), self._bucket, self._prefix + key, ExtraArgs={"Metadata": metadata}
            )
        except S3UploadFailedError as error:
            # What the service said stands behind it.
            raise (error.__cause__ or error.__context__ or error) from None

    def _put(self, key: str, data: bytes, **conditions: str) -> str:
        metadata = {_DIGEST: hashlib.sha256(data).hexdigest()}
        answer = self._client().put_object(
            Bucket=self._bucket,
            Key=self._prefix + key,
            Body=data,
            Metadata=metadata,
            **conditions,  # type: ignore[arg-type]
        )
        return answer.get("ETag", "")

    def _found(self, key: str) -> "GetObjectOutputTypeDef | None":
        try:
            return self._client().get_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._client().exceptions.ClientError as error:
            if code_of(error) in ABSENT:
                return None
            raise

    def _tagged(self, key: str) -> Tagged | None:
        if (found := self._found(key)) is None:
            return None
        with closing(found["Body"]) as body:
            data = body.read()
        # Both times are the service's: clocks of machines differ.
        now = parsedate_to_datetime(found["ResponseMetadata"]["HTTPHeaders"]["date"])
        return Tagged(data, found["ETag"], (now - found["LastModified"]).total_seconds())

    def _get(self, key: str) -> bytes | None:
        if (found := self._found(key)) is None:
            return None
        with closing(found["Body"]) as body:
            data = body.read()
        if found["Metadata"].get(_RAW):
            data = unpack(data)
        self._check(key, found["Metadata"], hashlib.sha256(data).hexdigest())
        return data

    def _fetch(self, key: str, path: Path) -> bool:
        if (found := self._found(key)) is None:
            return False
        with closing(found["Body"]) as body, path.open("wb") as file:
            for chunk in body.iter_chunks(_CHUNK):
                file.write(chunk)
        if found["Metadata"].get(_RAW):
            path.write_bytes(unpack(path.read_bytes()))
        self._check(key, found["Metadata"], file_sha256(path))
        return True

    def _check(self, key: str, metadata: Mapping[str, str], digest: str) -> None:
        if metadata.get(_DIGEST, digest) != digest:
            raise DataError(f"{self}/{key} was altered: it is not what was put there")

    def _client(self) -> "S3Client":
        if self._made is None:
            self._made = make_client(self._endpoint)
        return self._made

    def _patiently(self, call: Callable[[], ResultT]) -> ResultT:
        return patiently(call, self._outage, str(self))
