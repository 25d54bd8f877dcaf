"""What `tiltyard run` was asked for: a spec, or a plan file and perhaps one shard of it."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from tiltyard_cli.loading import load

if TYPE_CHECKING:
    from tiltyard_specs import Trial
    from tiltyard_specs.plan_file import PlanFile
    from tiltyard_specs.receipt import Selection, ShardName

_SIGN = b'"plan_id"'
"""Stands in every plan file and in no spec."""


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A trial to run."""

    spec: Path
    trial: "Trial"
    plan: "PlanFile | None" = None
    shard: "ShardName | None" = None


def ask(given: Path, plan: Path | None, shard: str | None, selection: "Selection") -> Asked:
    """Read what the command line names.

    Args:
        given: A spec, or a plan file.
        plan: A plan file beside a spec.
        shard: Which part of the plan: 2/5.
        selection: Which part of the spec, where there is no plan.

    Raises:
        UsageError: The options do not go together.
        DataError: A file holds something wrong.
    """
    from tiltyard_specs import UsageError, select  # noqa: PLC0415

    if plan is None and is_plan(given):
        plan, given = given, Path()
    if plan is not None:
        return _planned(given if given != Path() else None, plan, shard, selection)
    if shard is not None:
        raise UsageError(
            "--shard needs a plan, so that all machines work on the same one: make it with `tiltyard plan`, "
            "then give --plan plan.json"
        )
    trial = select(
        load(given),
        questions=selection.questions,
        arms=selection.arms,
        agents=selection.agents,
        reps=selection.reps,
    )
    return Asked(given, trial)


def is_plan(path: Path) -> bool:
    """Whether a file is a plan, and no spec."""
    return path.suffix == ".json" and path.is_file() and _SIGN in path.read_bytes()


def read_plan(path: Path) -> "PlanFile":
    """The plan in a file.

    Raises:
        DataError: It is none.
    """
    from tiltyard_specs import DataError  # noqa: PLC0415
    from tiltyard_specs.plan_file import parse_plan  # noqa: PLC0415

    if path.is_dir() or not path.exists():
        what = "a folder" if path.is_dir() else "not there"
        raise DataError(
            f"{path} is {what}, and a plan file goes here, such as plan.json from `tiltyard plan`"
        )
    text = path.read_bytes()
    if _SIGN not in text:
        raise DataError(f"{path} is no plan; make one with `tiltyard plan`")
    return parse_plan(text, str(path))


def _planned(spec: Path | None, path: Path, shard: str | None, selection: "Selection") -> Asked:
    from tiltyard_specs import Selection, UsageError  # noqa: PLC0415
    from tiltyard_specs.receipt import ShardName  # noqa: PLC0415

    if selection != Selection():
        raise UsageError(
            "--question, --arm, --agent and --reps say which part of a spec is planned: give them to "
            "`tiltyard plan`"
        )
    name = None if shard is None else ShardName.parse(shard)
    plan = read_plan(path)
    from tiltyard_cluster.planning import planned_trial, require_shard, spec_of  # noqa: PLC0415

    require_shard(plan, name)
    spec = spec or spec_of(plan, path)
    return Asked(spec, planned_trial(load(spec), plan), plan, name)
