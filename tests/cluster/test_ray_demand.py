"""What an autoscaler is asked for."""

from tiltyard_cluster.ray_demand import MOST, Bundles, Demand


def test_a_slot_for_each_run_that_could_go_on() -> None:
    asked: list[Bundles] = []
    demand = Demand(asked.append, cpus=0.5)
    for slots in (0, 3, 3, 2):
        demand.want(slots)
    demand.withdraw()
    demand.withdraw()

    assert asked == [[{"CPU": 0.5}] * 3, [{"CPU": 0.5}] * 2, []]


def test_a_node_shows_how_many_runs_fit_another_one() -> None:
    """16 processors with 5 slots, because of memory or of `parallel`: a run claims a fifth, and five fit."""
    asked: list[Bundles] = []
    demand = Demand(asked.append, cpus=1.0)
    demand.want(3)
    demand.learn(0.0, 4)
    demand.learn(16.0, 5)
    demand.learn(16.0, 16)
    demand.want(3)
    demand.learn(8.0, 3)
    demand.want(3)

    assert [[bundle["CPU"] for bundle in bundles] for bundles in asked] == [[1.0] * 3, [3.2] * 3]


def test_there_is_a_bound() -> None:
    asked: list[Bundles] = []
    Demand(asked.append, cpus=1.0).want(1_000_000)

    assert [len(bundles) for bundles in asked] == [MOST]
