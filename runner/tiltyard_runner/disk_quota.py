"""A hard bound of a container's disk, on engines whose storage keeps quotas: overlay2 on xfs with pquota.

Elsewhere the engine refuses to make such a container. It is asked once; from then on the size is only
watched.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import docker
import docker.errors

from tiltyard_specs.record import DiskBound

_SLACK = 16 << 20
_REFUSALS = ("storage-opt", "storage opt", "quota", "pquota")
_keeps: WeakKeyDictionary[docker.APIClient, bool] = WeakKeyDictionary()


def quota_for(disk: int) -> dict[str, str]:
    """The engine's option for so many bytes.

    A little more than the limit: the watch, which ends the run and says so, comes first.
    """
    return {"size": str(disk + disk // 10 + _SLACK)}


def with_quota(
    api: docker.APIClient, disk: int, create: Callable[[dict[str, str] | None], Any]
) -> tuple[Any, DiskBound]:
    """Make a container, with a quota where the engine keeps them.

    Args:
        api: The engine.
        disk: The limit in bytes.
        create: Makes the container with the engine's storage options; None for none.

    Returns:
        What `create` returned, and which bound applies.
    """
    if _keeps.get(api, True):
        try:
            return create(quota_for(disk)), "quota"
        except docker.errors.APIError as error:
            if not is_refusal(error):
                raise
            _keeps[api] = False
    return create(None), "watched"


def is_refusal(error: docker.errors.APIError) -> bool:
    """Whether the engine says that its storage has no quotas."""
    text = str(error.explanation or error).lower()
    return any(word in text for word in _REFUSALS)
