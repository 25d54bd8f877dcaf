"""What a receipt lists after several starts that each asked for a part."""

from collections.abc import Callable
from typing import Any

import pytest

from tiltyard_cluster.asked import asked_for
from tiltyard_cluster.plan import make_plan
from tiltyard_cluster.resolve import Resolved
from tiltyard_images import Checkout
from tiltyard_specs import Trial, TrialReceipt, select
from tiltyard_specs.receipt import RepoFact

MakeTrial = Callable[..., Trial]
COMMITS = {"app": "a" * 40, "other": "b" * 40}


class History:
    """Starts of a trial, each with the receipt of the one before."""

    def __init__(self) -> None:
        self.receipt: TrialReceipt | None = None

    def start(self, trial: Trial, **chosen: Any) -> tuple[str, ...]:
        """Start with a selection; the order that the receipt then lists."""
        part = select(trial, **chosen)
        used = {question.repo for question in part.spec.questions if question.repo}
        commits = {name: COMMITS[name] for name in used}
        checkouts: dict[str | None, Checkout | None] = {
            name: Checkout(name, None, commit, trial.folder) for name, commit in commits.items()
        }
        plan = asked_for(part, Resolved(make_plan(part, commits), checkouts), self.receipt)
        order = tuple(run.run_id for run in plan.runs)
        facts = {name: RepoFact(source=name, commit=commit) for name, commit in commits.items()}
        self.receipt = TrialReceipt(
            trial="small",
            plan_id=plan.plan_id,
            seed=plan.seed,
            spec={},
            order=order,
            selection=part.selection,
            repos=facts | (self.receipt.repos if self.receipt else {}),
        )
        return order


def whole(trial: Trial) -> tuple[str, ...]:
    return tuple(run.run_id for run in make_plan(trial, COMMITS).runs)


def test_parts_add_up_to_the_whole(trial: MakeTrial) -> None:
    """Question by question, in any order, the receipt ends as if all had been asked at once."""
    loaded, history = trial(), History()
    history.start(loaded, questions=["q2"])

    assert history.start(loaded, questions=["q1"]) == whole(loaded)
    assert history.receipt is not None
    assert history.receipt.plan_id == make_plan(loaded, COMMITS).plan_id


def test_a_part_takes_nothing_away(trial: MakeTrial) -> None:
    """A whole trial stays whole when one question of it is tried again."""
    loaded, history = trial(), History()
    history.start(loaded)

    assert history.start(loaded, questions=["q2"], reps=1) == whole(loaded)


def test_a_part_alone_expects_no_more(trial: MakeTrial) -> None:
    """A smoke test with one repetition is complete in itself."""
    loaded, history = trial(), History()
    order = history.start(loaded, questions=["q2"], reps=1)

    assert set(order) < set(whole(loaded))
    assert len(order) == 6


def test_more_repetitions_stay(trial: MakeTrial) -> None:
    loaded, history = trial(), History()
    more = history.start(loaded, reps=4)

    assert history.start(loaded, questions=["q1"]) == more


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ('verify: "true"', 'verify: "false"', 12),
        ("seed: 7", "seed: 7\nlimits: {memory: 3g}", 24),
        ("seed: 7", "seed: 8", 0),
    ],
)
def test_what_the_spec_no_longer_has_is_not_listed(trial: MakeTrial, old: str, new: str, lost: int) -> None:
    """After a change, a start with a part lists that part, and of the rest what still stands."""
    history = History()
    before = set(history.start(trial()))
    after = set(history.start(trial((old, new)), questions=["q2"]))

    assert len(before - after) == lost
    assert len(after) == (24 if lost <= 12 else 12)
