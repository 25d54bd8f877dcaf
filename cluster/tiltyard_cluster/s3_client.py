"""Clients of S3-compatible storage: how they are made, and what their errors mean."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tiltyard_cluster.outage import Outage
from tiltyard_specs.errors import UnavailableError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

_LONGEST_PAUSE = 15.0
ResultT = TypeVar("ResultT")
ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
"""Codes of errors: there is no such object."""
TAKEN = frozenset({"PreconditionFailed", "412"})
"""A condition of the request does not hold."""
AGAIN = frozenset(
    {"ConditionalRequestConflict", "SlowDown", "ServiceUnavailable", "InternalError", "500", "503"}
)
"""The service may answer later."""


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


def code_of(error: Any) -> str:
    """The code of a client's error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_hopeless(error: Exception) -> bool:
    """Whether waiting cannot help: no credentials, a malformed address."""
    return type(error).__name__ in {
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "InvalidEndpointError",
        "ParamValidationError",
        "NoRegionError",
    }


def patiently(call: Callable[[], ResultT], outage: Outage, store: str) -> ResultT:
    """Call until the service answers, or patience ends.

    Args:
        call: A request.
        outage: Knows whether to go on, and tells of it.
        store: What to call it.

    Raises:
        UnavailableError: It does not answer, or will not let us.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # only a store in S3 needs boto3

    away: float | None = None
    pause = 0.5
    while True:
        try:
            result = call()
        except ClientError as error:
            if code_of(error) not in AGAIN:
                raise UnavailableError(f"the store at {store} refuses: {error}") from error
            problem: Exception = error
        except (BotoCoreError, OSError) as error:
            problem = error
        else:
            if away is not None:
                outage.end()
            return result
        away = away or time.monotonic()
        outage.go_on(problem, since=away, hopeless=is_hopeless(problem))
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
