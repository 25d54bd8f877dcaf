"""`parallel_agents`: containers are there at once, agents work one after the other."""

from itertools import pairwise
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_agents_take_turns(world: Any) -> None:
    """What an agent waits for its turn is no time of its run, and no timeout."""
    world.write(
        {
            "defaults": {"reps": 4, "parallel": 4, "parallel_agents": 1, "timeout": 6},
            "arms": [{"name": "plain"}],
            "agents": [{"name": "clock", "kind": "text", "command": "date +%s.%N; sleep 2; date +%s.%N"}],
            "questions": [{"id": "time", "prompt": "?", "expect": ["."]}],
        }
    )
    done = world("run", "trial.yaml")

    assert done.code == 0, done.err
    records = world.records().values()
    assert [record["outcome"] for record in records] == ["passed"] * 4
    times = sorted(tuple(map(float, record["answer"].split())) for record in records)
    assert all(ended <= began for (_, ended), (began, _) in pairwise(times))
