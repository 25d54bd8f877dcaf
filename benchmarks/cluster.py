"""What a cluster costs beside the runs themselves. Prints plain lines.

    python benchmarks/cluster.py simulate [--runs N] [--nodes N] [--slots N] [--seed N] [--budget SHARE]
    python benchmarks/cluster.py store [--objects N]
    python benchmarks/cluster.py ray [--runs N] [--nodes N] [--slots N]

`simulate` drives the real scheduler and the real ledger of the budget through a long trial with failures.
`store` writes small objects to a folder and to a real S3 service on this machine. `ray` sends runs that do
nothing through the executor of a Ray cluster on this machine.
"""

import argparse
import os

from simulated_cluster import Scenario
from simulation import simulate


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="part", required=True)
    simulated = parts.add_parser("simulate")
    simulated.add_argument("--runs", type=int, default=100_000)
    simulated.add_argument("--nodes", type=int, default=100)
    simulated.add_argument("--slots", type=int, default=8)
    simulated.add_argument("--seed", type=int, default=1)
    simulated.add_argument(
        "--budget", type=float, default=1.3, help="over what all runs are expected to cost"
    )
    store = parts.add_parser("store")
    store.add_argument("--objects", type=int, default=2000)
    ray = parts.add_parser("ray")
    ray.add_argument("--runs", type=int, default=10_000)
    ray.add_argument("--nodes", type=int, default=2)
    ray.add_argument("--slots", type=int, default=4)
    given = vars(parser.parse_args())
    part = given.pop("part")
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    PARTS[part](**given)


def _simulate(**given: object) -> None:
    for line in simulate(Scenario(**given)).lines():
        print(line)


def _store(objects: int) -> None:
    from store_speed import measure  # noqa: PLC0415  # boto3 only where it is asked for

    for line in measure(objects):
        print(line)


def _ray(runs: int, nodes: int, slots: int) -> None:
    from ray_overhead import measure  # noqa: PLC0415  # Ray only where it is asked for

    for line in measure(runs, nodes, slots):
        print(line)


PARTS = {"simulate": _simulate, "store": _store, "ray": _ray}

if __name__ == "__main__":
    main()
