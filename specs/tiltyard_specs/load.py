"""Reads a trial spec: one file in, one checked trial out, or every problem of the file at once."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from tiltyard_specs.agent_checks import check_agents
from tiltyard_specs.arms import Arm
from tiltyard_specs.canonical import canonical_json
from tiltyard_specs.checks import check_lists, check_names, check_references
from tiltyard_specs.draft import Draft
from tiltyard_specs.file_checks import check_files
from tiltyard_specs.key_checks import check_literals
from tiltyard_specs.problems import Problem, SpecError
from tiltyard_specs.questions import Question, Repo
from tiltyard_specs.receipt import Selection
from tiltyard_specs.size_checks import check_size
from tiltyard_specs.solution_checks import check_solutions
from tiltyard_specs.source import Source, read_source
from tiltyard_specs.text_checks import check_text
from tiltyard_specs.trial import TrialSpec
from tiltyard_specs.variants import AgentVariant, expand

_SEED_BITS = 31
# The solutions come last: of a question with a problem they are not looked at.
_CHECKS = (check_names, check_references, check_lists, check_agents, check_size, check_files, check_solutions)


@dataclass(frozen=True, slots=True)
class Trial:
    """A checked spec, and what follows from it."""

    spec: TrialSpec
    """The spec, narrowed to the selection where there is one."""
    path: Path
    folder: Path
    """Where the spec's relative paths begin."""
    seed: int
    agents: tuple[AgentVariant, ...]
    """Models and efforts expanded, in the order of the spec."""
    source: Source = field(repr=False, compare=False)
    """The file as read, for messages with line numbers."""
    whole: TrialSpec = field(repr=False)
    """The spec before any selection."""
    selection: Selection = field(default_factory=Selection)

    def question(self, name: str) -> Question:
        """The question with this id."""
        return next(question for question in self.spec.questions if question.id == name)

    def repo(self, name: str) -> Repo:
        """The repo of this name."""
        return next(repo for repo in self.spec.repos if repo.name == name)

    def arm(self, name: str) -> Arm:
        """The arm of this name."""
        return next(arm for arm in self.spec.arms if arm.name == name)

    def agent(self, name: str) -> AgentVariant:
        """The agent variant of this name."""
        return next(agent for agent in self.agents if agent.name == name)

    @property
    def baseline(self) -> Arm:
        """The arm that others are compared with: the spec's, or the first of those selected."""
        named = [arm for arm in self.spec.arms if arm.name == self.spec.defaults.baseline]
        return (named or list(self.spec.arms))[0]


def load_trial(path: str | Path) -> Trial:
    """Read and check a trial spec.

    Args:
        path: A YAML or TOML file.

    Raises:
        SpecError: The file holds something wrong; the error lists all of it.
    """
    path = Path(path)
    source = read_source(path)
    if not isinstance(source.data, dict):
        raise SpecError([*source.problems, Problem(source.file, None, "", _not_a_spec(source.data))])
    if "conversations" in source.data and "name" not in source.data:
        message = "is a model script, not a trial spec"
        raise SpecError([Problem(source.file, None, "", message, "pass it with --model-script")])
    spec = _checked(source, path.parent)
    agents = tuple(variant for agent in spec.agents for variant in expand(agent))
    return Trial(spec, path, path.parent, _seed(spec), agents, source, spec)


def _not_a_spec(data: object) -> str:
    return "is empty" if data is None else "expected keys and values, such as name: my-trial"


def _checked(source: Source, folder: Path) -> TrialSpec:
    draft = Draft(source, folder)
    check_text(draft)
    draft.validate()
    if draft.spec is not None:
        for check in _CHECKS:
            check(draft)
    check_literals(draft)
    problems = [*source.problems, *draft.found.values()]
    if problems or draft.spec is None:
        raise SpecError(problems)
    return draft.spec


def _seed(spec: TrialSpec) -> int:
    if spec.seed is not None:
        return spec.seed
    # Only what differs from the defaults counts, so that a key added by a later version moves no seed.
    content = canonical_json(spec.model_dump(mode="json", exclude_defaults=True))
    return int.from_bytes(hashlib.sha256(content.encode()).digest()[:4], "big") >> (32 - _SEED_BITS)
