"""Results in S3-compatible storage: conditional puts, checksums on read, patience in outages."""

import hashlib
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tiltyard_specs.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

PATIENCE = 600.0
"""Seconds that an outage of the store may last."""
_CHUNK = 1 << 20
_LONGEST_PAUSE = 15.0
_DIGEST = "sha256"
_RAW = "raw"
"""Names in an object's metadata: the digest of what went in, and `raw` for what lies there compressed."""
_PACKED = frozenset(
    {"raw.out", "raw.err", "verify.log", "setup.log", "calls.jsonl", "patch.diff", "prompt.txt"}
)
"""Files that are stored compressed: text of any length, which no report reads."""
_ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
_TAKEN = frozenset({"PreconditionFailed", "412"})
_AGAIN = frozenset(
    {"ConditionalRequestConflict", "SlowDown", "ServiceUnavailable", "InternalError", "500", "503"}
)

ResultT = TypeVar("ResultT")


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
        self._patience = patience
        self._tell = tell
        self._made: S3Client | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None, "_tell": None}

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
                "one run; use one that keeps them, such as AWS S3, MinIO, Ceph or SeaweedFS, or a folder"
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
                if _code(error) not in _TAKEN:
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
            raw = name in _PACKED
            source = _packed(path, Path(folder, "packed")) if raw else path
            metadata = {_DIGEST: _file_sha256(path)} | ({_RAW: "zstd"} if raw else {})
            self._patiently(
                lambda: self._client().upload_file(
                    str(source), self._bucket, self._prefix + key, ExtraArgs={"Metadata": metadata}
                )
            )
        path.unlink()

    def get(self, key: str) -> bytes | None:
        """See `Store`.

        Raises:
            DataError: What lies there is not what was put.
        """
        return self._patiently(lambda: self._get(key))

    def stream(self, key: str) -> Iterator[bytes]:
        """See `Store`.

        Raises:
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
            DataError: There is no such object, or what lies there is not what was put.
        """
        if not self._patiently(lambda: self._fetch(key, path)):
            raise DataError(f"{self}/{key} is missing")

    def list(self, prefix: str) -> Iterator[str]:
        """See `Store`."""
        start = self._prefix + prefix
        token: dict[str, Any] = {}
        while True:
            page = self._patiently(
                lambda: self._client().list_objects_v2(Bucket=self._bucket, Prefix=start, **token)  # noqa: B023
            )
            for item in page.get("Contents", []):
                key = item["Key"].removeprefix(self._prefix)
                if not key.startswith("."):
                    yield key
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

    def _put(self, key: str, data: bytes, **conditions: str) -> None:
        metadata = {_DIGEST: hashlib.sha256(data).hexdigest()}
        self._client().put_object(
            Bucket=self._bucket,
            Key=self._prefix + key,
            Body=data,
            Metadata=metadata,
            **conditions,  # type: ignore[arg-type]
        )

    def _get(self, key: str) -> bytes | None:
        try:
            found = self._client().get_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._client().exceptions.ClientError as error:
            if _code(error) in _ABSENT:
                return None
            raise
        with closing(found["Body"]) as body:
            data = body.read()
        if found["Metadata"].get(_RAW):
            data = _unpacked(data)
        self._check(key, found["Metadata"], hashlib.sha256(data).hexdigest())
        return data

    def _fetch(self, key: str, path: Path) -> bool:
        try:
            found = self._client().get_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._client().exceptions.ClientError as error:
            if _code(error) in _ABSENT:
                return False
            raise
        with closing(found["Body"]) as body, path.open("wb") as file:
            for chunk in body.iter_chunks(_CHUNK):
                file.write(chunk)
        if found["Metadata"].get(_RAW):
            path.write_bytes(_unpacked(path.read_bytes()))
        self._check(key, found["Metadata"], _file_sha256(path))
        return True

    def _check(self, key: str, metadata: Mapping[str, str], digest: str) -> None:
        if metadata.get(_DIGEST, digest) != digest:
            raise DataError(f"{self}/{key} was altered: it is not what was put there")

    def _client(self) -> "S3Client":
        if self._made is None:
            self._made = make_client(self._endpoint)
        return self._made

    def _patiently(self, call: Callable[[], ResultT]) -> ResultT:
        """Call until the service answers, or patience ends.

        Raises:
            UnavailableError: It does not answer, or will not let us.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # only a store in S3 needs boto3

        began = time.monotonic()
        pause = 0.5
        told = False
        while True:
            try:
                result = call()
            except ClientError as error:
                if _code(error) not in _AGAIN:
                    raise UnavailableError(f"the store at {self} refuses: {error}") from error
                problem: Exception = error
            except (BotoCoreError, OSError) as error:
                problem = error
            else:
                if told and self._tell:
                    self._tell(f"the store at {self} answers again")
                return result
            if time.monotonic() - began > self._patience or _is_hopeless(problem):
                raise UnavailableError(
                    f"the store at {self} does not answer: {problem}; finished runs are kept: "
                    "start again to go on"
                ) from problem
            if not told and self._tell:
                self._tell(f"the store at {self} does not answer ({problem}); trying again")
            told = True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def make_client(endpoint: str | None) -> "S3Client":
    """A client with credentials from boto3's usual chain.

    Raises:
        UnavailableError: boto3 is not installed.
    """
    try:
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415
    except ImportError as error:
        raise UnavailableError(
            "results in S3 need boto3: install Tiltyard with `pip install 'tiltyard[cluster]'`"
        ) from error
    config = Config(
        s3={"addressing_style": "path"},
        retries={"mode": "standard", "max_attempts": 4},
        connect_timeout=5,
        read_timeout=60,
        max_pool_connections=32,
        # Older services know no other checksums; each object carries a digest of ours.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    # A session of its own: the default one is not safe for threads.
    return boto3.session.Session().client("s3", endpoint_url=endpoint, config=config)


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _is_hopeless(error: Exception) -> bool:
    """Whether waiting cannot help: no credentials, a malformed address."""
    return type(error).__name__ in {
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "InvalidEndpointError",
        "ParamValidationError",
        "NoRegionError",
    }


def _packed(path: Path, target: Path) -> Path:
    import pyarrow as pa  # noqa: PLC0415

    with path.open("rb") as reader, pa.CompressedOutputStream(str(target), "zstd") as writer:
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
    return target


def _unpacked(data: bytes) -> bytes:
    import pyarrow as pa  # noqa: PLC0415

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        unpacked: bytes = stream.read()
    return unpacked


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
