"""What one part of a spec says about another: unique names, references, and lists without doubles."""

from collections.abc import Callable, Iterable, Iterator

from pydantic import BaseModel

from tiltyard_specs.agents import Agent
from tiltyard_specs.arms import Arm
from tiltyard_specs.draft import Draft
from tiltyard_specs.nearest import did_you_mean
from tiltyard_specs.problems import KeyPath
from tiltyard_specs.questions import Capability, Question, Repo
from tiltyard_specs.slug import fold
from tiltyard_specs.variants import expand

_NEEDED: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("arms", Arm, "one arm"),
    ("agents", Agent, "one agent"),
    ("questions", Question, "one question"),
)


def check_names(draft: Draft) -> None:
    """Every list has something in it, and no name twice."""
    for name, kind, why in _NEEDED:
        if name not in draft.incomplete and not list(draft.items(name, kind)):
            draft.report((name,), f"missing: a trial needs at least {why}")
    _unique(draft, ((("repos", i), repo.name) for i, repo in draft.items("repos", Repo)), "repo", str)
    _unique(draft, ((("arms", i), arm.name) for i, arm in draft.items("arms", Arm)), "arm", fold)
    _unique(
        draft, ((("questions", i), q.id) for i, q in draft.items("questions", Question)), "question", fold
    )
    _unique(
        draft,
        ((("capabilities", i), c.id) for i, c in draft.items("capabilities", Capability)),
        "capability",
        fold,
    )
    variants = ((("agents", i), v.name) for i, agent in draft.items("agents", Agent) for v in expand(agent))
    _unique(draft, variants, "agent", fold)


def _unique(draft: Draft, named: Iterable[tuple[KeyPath, str]], what: str, key: Callable[[str], str]) -> None:
    seen: dict[str, tuple[str, int | None]] = {}
    for path, name in named:
        if key(name) not in seen:
            seen[key(name)] = (name, draft.source.line(path))
            continue
        other, line = seen[key(name)]
        place = f" on line {line}" if line else ""
        if other == name:
            draft.report(path, f'the {what} "{name}" is already defined{place}')
        else:
            draft.report(
                path, f'the {what} "{name}" is too like "{other}"{place}: they would share a folder name'
            )


def check_references(draft: Draft) -> None:
    """Every name that is referred to exists."""
    names = {
        "repos": [repo.name for repo in draft.sound.repos],
        "arms": [arm.name for arm in draft.sound.arms],
        "questions": [question.id for question in draft.sound.questions],
    }
    for path, target, name in _references(draft):
        if name not in names[target] and target not in draft.incomplete:
            hint = did_you_mean(name, names[target], target.capitalize())
            draft.report(path, f'there is no {target.removesuffix("s")} "{name}"', hint)


def _references(draft: Draft) -> Iterator[tuple[KeyPath, str, str]]:
    """Where a name stands, which list it points into, and the name."""
    if draft.sound.defaults.baseline is not None:
        yield ("defaults", "baseline"), "arms", draft.sound.defaults.baseline
    for i, question in draft.items("questions", Question):
        if question.repo is not None:
            yield ("questions", i, "repo"), "repos", question.repo
    for i, arm in draft.items("arms", Arm):
        for old, new in arm.repos.items():
            yield ("arms", i, "repos", old), "repos", old
            yield ("arms", i, "repos", old), "repos", new
    for i, capability in draft.items("capabilities", Capability):
        for j, name in enumerate(capability.questions):
            yield ("capabilities", i, "questions", j), "questions", name


def check_lists(draft: Draft) -> None:
    """No question twice in a capability, no skill twice in an arm."""
    for i, capability in draft.items("capabilities", Capability):
        for j, name in enumerate(capability.questions):
            if name in capability.questions[:j]:
                draft.report(
                    ("capabilities", i, "questions", j), f'the question "{name}" stands in it already'
                )
    for i, arm in draft.items("arms", Arm):
        skills = [skill.name for skill in arm.skills]
        for j, skill in enumerate(skills):
            if skill in skills[:j]:
                draft.report(("arms", i, "skills", j), f'the skill "{skill}" is already defined in this arm')
