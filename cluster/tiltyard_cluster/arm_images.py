"""The images that the runs of a trial need: one for each repo, agent layer, edit permission and arm."""

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

from tiltyard_cluster.plan import PlannedRun, arm_repo
from tiltyard_cluster.treatment import with_treatment
from tiltyard_cluster.words import one_line
from tiltyard_images import ArmContent, Checkout, Image, ImageBuilder, SetupFailedError, TreeFile
from tiltyard_runner.agents import AgentTask, adapter_for
from tiltyard_specs import AgentVariant, Arm, Trial
from tiltyard_specs.record import ImageFact

TRIAL_OUT = "/var/tmp/trial"  # noqa: S108  # a path in the containers
"""Folder for what an arm's `prepare` and `setup` install outside the working tree."""
_SHORT = 120
_MAKE_OUT = f"mkdir -p {TRIAL_OUT} && chmod 1777 {TRIAL_OUT}"


@dataclass(frozen=True, slots=True)
class ArmImage:
    """An arm's image, and the facts about it that records hold."""

    id: str
    facts: Mapping[str, ImageFact]
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FailedArm:
    """An arm whose own setup failed: its runs are recorded, the others go on."""

    reason: str
    facts: Mapping[str, ImageFact] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Want:
    repo: str | None
    kind: str
    edits: bool
    arm: str


class ArmImages:
    """Builds images as they are asked for, each once.

    Args:
        trial: The trial.
        builder: Makes the layers.
        checkouts: The resolved repos, by name; None for the empty workspace.
        versions: Versions that every record holds.
        warn: Hears of each arm whose setup fails, with the end of its log.
    """

    def __init__(
        self,
        trial: Trial,
        builder: ImageBuilder,
        checkouts: Mapping[str | None, Checkout | None],
        versions: Mapping[str, str],
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._trial = trial
        self._builder = builder
        self._checkouts = checkouts
        self._versions = versions
        self._warn = warn
        self._made: dict[_Want, ArmImage | FailedArm] = {}

    def build(self, runs: Iterable[PlannedRun], variant: Callable[[str], AgentVariant]) -> None:
        """Build what these runs need.

        Raises:
            UnavailableError: A layer below the arms could not be built: nothing can run.
        """
        for run in runs:
            self.get(run, variant(run.agent))

    def get(self, run: PlannedRun, agent: AgentVariant) -> ArmImage | FailedArm:
        """The image of a run."""
        arm = self._trial.arm(run.arm)
        effective = agent.under(arm)
        want = _Want(
            arm_repo(self._trial.question(run.question), arm), effective.kind, effective.edits, arm.name
        )
        if want not in self._made:
            self._made[want] = self._make(want, arm)
        return self._made[want]

    def all_facts(self) -> dict[str, ImageFact]:
        """Every image made, by a name that says what it is."""
        return {
            f"{name} {fact.tag}": fact for made in self._made.values() for name, fact in made.facts.items()
        }

    def all_versions(self) -> dict[str, str]:
        """Versions of Tiltyard, Python and each agent CLI in use."""
        agents = {
            f"agent {want.kind}": made.versions["agent"]
            for want, made in self._made.items()
            if "agent" in made.versions
        }
        return dict(self._versions) | agents

    def _make(self, want: _Want, arm: Arm) -> ArmImage | FailedArm:
        history = self._trial.spec.history
        layer = adapter_for(want.kind).layer
        base = self._builder.base()
        agent = base if layer is None else self._builder.agent(layer)
        workspace = self._builder.workspace(
            agent, self._checkouts[want.repo], writable=want.edits, history=history
        )
        layers = {"base": base, "agent": agent, "workspace": workspace}
        versions = dict(self._versions) | ({"agent": agent.version} if agent.version else {})
        try:
            image = self._builder.arm(workspace, self._content(want, arm))
        except SetupFailedError as error:
            self._warn(f"arm {arm.name}: {_in_full(error)}")
            return FailedArm(_in_short(error), _facts(layers), versions)
        return ArmImage(image.id, _facts(layers | {"arm": image}), versions)

    def _content(self, want: _Want, arm: Arm) -> ArmContent:
        spec = self._trial.spec
        skills = _treatment_files(want.kind, arm)
        setup = arm.setup if spec.setup_scope == "image" else ()
        commands = bool(arm.prepare or arm.setup)
        return ArmContent(
            overlay=self._trial.folder / arm.overlay if arm.overlay else None,
            files=skills,
            prepare=((_MAKE_OUT, *arm.prepare) if commands else ()),
            setup=tuple(setup),
            env=dict(arm.env)
            | {
                "TRIAL_OUT": TRIAL_OUT,
                "TRIAL_DIR": "/workspace",
                "TRIAL_ARM": arm.name,
                "TRIAL_ID": "t_image",
            },
            writable=want.edits,
            history=spec.history,
        )


def _treatment_files(kind: str, arm: Arm) -> tuple[TreeFile, ...]:
    files = adapter_for(kind).treatment_files(with_treatment(AgentTask(prompt=""), arm))
    return tuple(TreeFile(file.path, file.content, file.mode) for file in files)


def _in_short(error: SetupFailedError) -> str:
    """For records and closing lines: the log's last line, and its path whole."""
    last = next((line for line in reversed(error.log_tail.splitlines()) if line.strip()), "")
    said = "" if last == f"$ {error.command}" else f": {one_line(last, _SHORT)}"
    return f"{_what(error)}{said}. Its log is {error.log_path}"


def _in_full(error: SetupFailedError) -> str:
    tail = "".join(f"\n    {line}" for line in error.log_tail.splitlines())
    return f"{_what(error)}. Its log is {error.log_path}; it ends:{tail}"


def _what(error: SetupFailedError) -> str:
    how = "ran out of time" if error.status is None else f"exited with {error.status}"
    return f"the setup command {one_line(error.command, _SHORT)!r} {how}"


def _facts(layers: Mapping[str, Image]) -> dict[str, ImageFact]:
    return {
        name: ImageFact(id=image.id, tag=image.tag, key=image.key, origin=image.origin)
        for name, image in layers.items()
    }


def tool_versions(engine: str) -> dict[str, str]:
    """The versions that every record holds."""
    return {"tiltyard": version("tiltyard"), "python": platform.python_version(), "engine": engine}
