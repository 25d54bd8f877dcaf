"""Clients of S3-compatible storage: how they are made, and what their errors mean."""

from typing import TYPE_CHECKING, Any

from tiltyard_specs.errors import UnavailableError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

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
