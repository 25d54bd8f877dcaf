"""`ray start` with patience: Ray itself gives a node up that has not registered after 30 seconds.

    python -m tiltyard_cluster.ray_start --head ...

On a machine that does a hundred things at once that is no sign of a fault.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

PATIENCE = 120.0
"""Seconds for a node to register."""
_PAUSE = 0.2


def patiently(look: Callable[..., Any], *args: object, patience: float = PATIENCE, **options: object) -> Any:
    """What `look` finds, once it does.

    Args:
        look: Raises a RuntimeError while there is nothing to find.
        args: For it.
        patience: Seconds to wait.
        options: For it.

    Raises:
        RuntimeError: Its last one.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return look(*args, **options)
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)


def main() -> None:
    """Start a node as the arguments say."""
    from ray._private import services  # noqa: PLC0415  # only a cluster needs Ray
    from ray.scripts import scripts  # noqa: PLC0415

    if hasattr(services, "get_node"):
        services.get_node = partial(patiently, services.get_node)
    sys.argv = ["ray", "start", *sys.argv[1:]]
    command: Any = scripts.main
    command()


if __name__ == "__main__":
    main()
