"""The pre-registration of a trial: what was asked, and by which rule it was to be judged, before it began.

The hash covers the whole spec and the content of every file that it names. It is kept in the receipt from the
first start on, and each later change is written down beside it, so that a key, a threshold or a number of
repetitions that was changed with results at hand is seen. What a repo's ref names is no part of it: that is
resolved at the start, and stands in the receipt as a commit.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tiltyard_cluster.content import file_digest, folder_digest
from tiltyard_specs import Trial
from tiltyard_specs.canonical import content_id
from tiltyard_specs.receipt import Amendment, Registration, TrialReceipt

_NAME_OF = {"repos": "name", "arms": "name", "agents": "name", "questions": "id", "capabilities": "id"}
_IN_PARTS = frozenset({"defaults", "limits", "gateway", "prices", "budget"})
_LENGTH = 16

_HOW_MANY = frozenset({"reps", "parallel", "parallel_agents"})


def registration_hash(trial: Trial) -> str:
    """The hash that the first start of the trial would write down."""
    return register(trial, "").hash


def register(trial: Trial, at: str) -> Registration:
    """The registration of a trial as its spec stands now.

    Args:
        trial: The trial. A selection of questions, arms and agents is no part of it; repetitions are.
        at: When, RFC 3339.
    """
    parts = {name: content_id(value, length=_LENGTH) for name, value in _parts(trial)}
    return Registration(hash=content_id(parts, length=64), at=at, parts=parts)


def registered(
    trial: Trial, at: str, earlier: TrialReceipt | None
) -> tuple[Registration, tuple[Amendment, ...]]:
    """The registration of the first start, and what was changed since, this start included."""
    now = register(trial, at)
    first = earlier.registration if earlier else None
    if earlier is None or first is None:
        return now, ()
    before = earlier.amendments
    last = before[-1].hash if before else first.hash
    if now.hash == last:
        return first, before
    return first, (*before, Amendment(hash=now.hash, at=at, changed=_changed(first.parts, now.parts)))


def _changed(first: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Names of parts that are not as they were at the first start; none where all was changed back."""
    return tuple(sorted(name for name in {*first, *now} if first.get(name) != now.get(name)))


def _parts(trial: Trial) -> Iterator[tuple[str, Any]]:
    """Each part that a message can name, with its content; a default that is written out is none."""
    data = trial.whole.model_dump(mode="json", exclude_defaults=True)
    # How many runs there are decides what can be found; how many at once decides nothing.
    data["defaults"] = {"reps": trial.spec.defaults.reps} | {
        name: value for name, value in data.get("defaults", {}).items() if name not in _HOW_MANY
    }
    # Without one in the spec the seed follows from all of its content, and would name every change twice.
    if trial.whole.seed is not None:
        data["seed"] = trial.whole.seed
    for key, value in data.items():
        if key in _NAME_OF:
            yield from _of_items(key, value)
        elif key in _IN_PARTS:
            yield from ((f"{key}.{name}", item) for name, item in value.items())
        else:
            yield key, value
    yield from _files(trial)


def _of_items(key: str, items: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """One part for each key of each item, such as `questions.inherit.expect`, and one for their names."""
    yield key, [item[_NAME_OF[key]] for item in items]
    for item in items:
        own = item[_NAME_OF[key]]
        yield from ((f"{key}.{own}.{name}", value) for name, value in item.items() if name != _NAME_OF[key])


def _files(trial: Trial) -> Iterator[tuple[str, str]]:
    for arm in trial.whole.arms:
        if arm.overlay:
            yield f"arms.{arm.name}.overlay: files", folder_digest(trial.folder / arm.overlay)
    for question in trial.whole.questions:
        for path, source in question.hidden.items():
            yield f"questions.{question.id}.hidden: {path}", file_digest(trial.folder / source)
        if question.solution:
            yield f"questions.{question.id}.solution: file", file_digest(trial.folder / question.solution)
