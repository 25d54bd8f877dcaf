"""What the agents are asked: repos, questions, and the capabilities that group them."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tiltyard_specs.scalars import Duration, Float, Name, Regex, SpecPath, Text, WorkspacePath, wrong
from tiltyard_specs.spec_base import SpecModel


class Repo(SpecModel):
    """A git repository that questions are asked about; every run gets a fresh copy."""

    name: Name
    """Unique name, by which questions refer to it."""
    source: Text
    """URL, or path of a repository or git bundle, relative to the spec."""
    ref: Name | None = None
    """Tag, branch or commit; without it the head of the default branch."""

    @property
    def is_local(self) -> bool:
        """Whether the source is a path on this machine."""
        scp_like = "@" in self.source.partition(":")[0] and ":" in self.source
        return "://" not in self.source and not scp_like


class Question(SpecModel):
    """A task given to the agent, with an answer key, a verify command, or both."""

    id: Name
    """Unique name of the question."""
    repo: Name | None = None
    """Name of a repo; without it the workspace is an empty git repository."""
    prompt: Text
    """What the agent is asked."""
    expect: tuple[Regex, ...] = ()
    """Answer key: regular expressions that the final answer should match."""
    min_recall: Annotated[Float, Field(ge=0, le=1)] = 1.0
    """Fraction of `expect` that must match."""
    forbid: tuple[Regex, ...] = ()
    """Regular expressions that must match nowhere in the answer."""
    verify: Text | None = None
    """Shell command that decides, run on the agent's result in a pristine container."""
    hidden: dict[WorkspacePath, SpecPath] = Field(default_factory=dict)
    """Files present only while verify runs: path in the workspace, then file relative to the spec."""
    solution: SpecPath | None = None
    """File for the oracle: with verify a patch that solves the question, else the right answer as text."""
    timeout: Duration | None = None
    """Limit of one run, instead of `defaults.timeout`."""

    @model_validator(mode="after")
    def _can_be_graded(self) -> Self:
        if not self.expect and self.verify is None:
            raise wrong("nothing decides whether an answer is right", "add expect, verify or both")
        if self.hidden and self.verify is None:
            raise wrong("has hidden files but no verify command, which alone would see them", "add verify")
        return self


class Capability(SpecModel):
    """A named set of questions. A question may stand in several: each is a run of its own."""

    id: Name
    """Unique name of the capability."""
    questions: tuple[Name, ...] = Field(min_length=1)
    """Ids of its questions."""
