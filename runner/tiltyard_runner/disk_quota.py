"""A hard bound of a container's disk, on engines whose storage keeps quotas: overlay2 on xfs with pquota.

Elsewhere the engine refuses to make such a container. It is asked once; from then on the size is only
watched.
"""

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import docker
import docker.errors

from tiltyard_specs.record import DiskBound

_SLACK = 16 << 20
_REFUSALS = ("storage-opt", "storage opt", "quota", "pquota")
_asking = threading.Lock()
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
    keeps = _keeps.get(api)
    if keeps is None:
        # Slots that open together wait for one answer instead of asking each for itself.
        with _asking:
            if (keeps := _keeps.get(api)) is None:
                made = _first(api, disk, create)
                if made is not None:
                    return made, "quota"
                keeps = False
    return (create(quota_for(disk)), "quota") if keeps else (create(None), "watched")


def _first(api: docker.APIClient, disk: int, create: Callable[[dict[str, str] | None], Any]) -> Any | None:
    """The first container with a quota; None where the engine refuses to make it."""
    try:
        made = create(quota_for(disk))
    except docker.errors.APIError as error:
        if not is_refusal(error):
            raise
        _keeps[api] = False
        return None
    _keeps[api] = True
    return made


def is_refusal(error: docker.errors.APIError) -> bool:
    """Whether the engine says that its storage has no quotas."""
    text = str(error.explanation or error).lower()
    return any(word in text for word in _REFUSALS)
