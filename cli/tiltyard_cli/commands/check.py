"""`tiltyard check`: says everything that is wrong with a spec, and with `--grade` tries its graders."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.counts import plural
from tiltyard_cli.loading import load, warn
from tiltyard_cli.options import ModelScript, SpecFile

if TYPE_CHECKING:
    from tiltyard_cluster.grader_audit import QuestionAudit
    from tiltyard_specs import Trial

_REGRADES = 3


def check(
    spec: SpecFile,
    model_script: ModelScript = None,
    regrades: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help=f"With --grade: how often to grade; default: {_REGRADES}."),
    ] = None,
    *,
    grade: Annotated[
        bool, typer.Option("--grade", help="Try the graders in containers; no model is called.")
    ] = False,
) -> None:
    """Check a spec: every problem at once; nothing is run without --grade.

    Repositories are looked up as well. Exit code 65 means that the spec is wrong, or a repository or ref does
    not exist; 69 that the spec is right but this machine lacks a key, an engine, or what `limits` ask for.

    With --grade, each question with verify or a solution is tried N times in the baseline arm, without a key:
    its solution must pass and doing nothing must fail. Exit code 1 means that a question is bad, 2 that its
    grader disagrees with itself or too little could be tried.
    """
    from tiltyard_specs import UsageError, select  # noqa: PLC0415

    if regrades is not None and not grade:
        raise UsageError("--regrades N needs --grade")
    trial = select(load(spec))
    _require_sound(trial)
    # Only a right spec needs what takes long to load.
    from tiltyard_cluster.readiness import require_ready  # noqa: PLC0415
    from tiltyard_cluster.registration import registration_hash  # noqa: PLC0415
    from tiltyard_cluster.resolve import require_repos  # noqa: PLC0415
    from tiltyard_cluster.uncommitted import uncommitted  # noqa: PLC0415

    require_repos(trial, os.environ)
    if grade and model_script is None:
        _warn_of_keys(trial)
    else:
        require_ready(trial, os.environ, model_script=model_script)
    warn(trial, scripted=model_script is not None)
    for told in uncommitted(trial):
        typer.echo(f"warning: {told}", err=True)
    spec_ = trial.spec
    counts = {"question": spec_.questions, "arm": spec_.arms, "agent": trial.agents}
    runs = ", ".join(plural(len(items), noun) for noun, items in counts.items())
    typer.echo(f"{spec}: right. {runs}, {plural(spec_.defaults.reps, 'repetition')} each.")
    typer.echo(f"Pre-registration hash: {registration_hash(trial)}")
    if grade:
        raise typer.Exit(_grade(trial, regrades or _REGRADES))


def _require_sound(trial: "Trial") -> None:
    from tiltyard_cluster.known_secrets import refuse_values  # noqa: PLC0415
    from tiltyard_cluster.launchable import require_launchable  # noqa: PLC0415

    refuse_values(trial, os.environ)
    require_launchable(trial)


def _warn_of_keys(trial: "Trial") -> None:
    """Graders need no key, so that they can be tried where none is; the trial will want them."""
    from tiltyard_specs import missing_keys  # noqa: PLC0415

    for problem in missing_keys(trial, os.environ):
        typer.echo(f"warning: {problem}", err=True)


def _grade(trial: "Trial", regrades: int) -> int:
    from tiltyard_cluster.grader_audit import can_be_tried  # noqa: PLC0415

    audits = _tried(trial, regrades)
    for audit in audits:
        typer.echo(str(audit))
    for question in trial.spec.questions:
        if not can_be_tried(question):
            typer.echo(f"{question.id}: neither verify nor a solution: nothing to try")
    return _verdict(audits, arm=trial.baseline.name)


def _tried(trial: "Trial", regrades: int) -> "tuple[QuestionAudit, ...]":
    from tiltyard_cli.progress import progress  # noqa: PLC0415
    from tiltyard_cli.signals import stop_on_signals  # noqa: PLC0415
    from tiltyard_cluster import RunOptions, Stopper  # noqa: PLC0415
    from tiltyard_cluster.grader_audit import audit_graders  # noqa: PLC0415

    stopper = Stopper()
    with progress() as shown, stop_on_signals(stopper):
        return audit_graders(trial, regrades, RunOptions(listen=shown), stopper)


def _verdict(audits: "tuple[QuestionAudit, ...]", *, arm: str) -> int:
    from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

    if not audits:
        typer.echo("No question has verify or a solution: no grader was tried.")
        return ExitCode.INCONCLUSIVE
    codes = [audit.code for audit in audits]
    good, bad = codes.count(ExitCode.OK), codes.count(ExitCode.FAIL)
    typer.echo(f"Graders in arm {arm}: {good} good, {bad} bad, {len(codes) - good - bad} in doubt.")
    if bad:
        return ExitCode.FAIL
    return ExitCode.OK if good == len(codes) else ExitCode.INCONCLUSIVE
