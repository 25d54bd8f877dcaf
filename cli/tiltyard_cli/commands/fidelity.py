"""`tiltyard fidelity`: which models the runs of a trial really used."""

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.columns import columns
from tiltyard_cli.options import Results, S3Endpoint
from tiltyard_cli.told import tell

if TYPE_CHECKING:
    from tiltyard_cluster.fidelity import Fidelity, RunFidelity, Use

_HEAD = ("requested", "resolved", "calls", "tokens", "USD")


def fidelity(
    results: Results,
    worker: Annotated[
        str | None,
        typer.Option(
            metavar="GLOB",
            help="Requested models that count as the worker; default: what the agent was told.",
        ),
    ] = None,
    s3_endpoint: S3Endpoint = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Every run and arm as JSON.")] = False,
) -> None:
    """Show which models were requested, which ones answered, and their tokens and cost.

    Exit code 1 means that in a completed run no call of the worker was answered: it says nothing about that
    model. 2 means that the calls of a completed run are not there.
    """
    from tiltyard_cluster import open_result  # noqa: PLC0415
    from tiltyard_cluster.fidelity import check_fidelity  # noqa: PLC0415
    from tiltyard_cluster.places import run_files  # noqa: PLC0415
    from tiltyard_cluster.reading import read_result  # noqa: PLC0415

    store = open_result(results, s3_endpoint, tell)
    result = read_result(store, results)
    for problem in (*result.problems, *result.notes):
        typer.echo(f"tiltyard: {problem}", err=True)
    found = check_fidelity(run_files(store, results, result, s3_endpoint), result, worker)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        for line in _lines(found):
            typer.echo(line)
    raise typer.Exit(_exit_code(found, damaged=bool(result.problems)))


def _exit_code(found: "Fidelity", *, damaged: bool) -> int:
    from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

    if found.unfaithful:
        return ExitCode.FAIL
    if damaged:
        return ExitCode.DATA
    return ExitCode.INCONCLUSIVE if found.unknown else ExitCode.OK


def _lines(found: "Fidelity") -> Iterator[str]:
    rows = [(_label(run), *_cells(use)) for run in found.runs for use in run.uses]
    if rows:
        yield from columns([("run", *_HEAD), *rows])
        yield ""
        of_arms = [(arm.arm, *_cells(use)) for arm in found.arms for use in arm.uses]
        yield from columns([("arm", *_HEAD), *of_arms])
        yield ""
        yield "* the worker: the model under trial"
    failing = {run.arm for run in (*found.unfaithful, *found.unknown)}
    for arm in found.arms:
        if arm.uses or arm.faithful or arm.arm in failing:
            yield f"{arm.arm}: {arm.faithful} of {arm.completed} completed runs called the worker."
        else:
            yield f"{arm.arm}: no agent here had to call a model, and none did."
    if any(use.imputed for arm in found.arms for use in arm.uses):
        yield "imputed: the agent's own login paid; USD are what the tokens cost at list price."
    for run in found.unfaithful:
        expected = " or ".join(run.expected) or "any model"
        yield f"UNFAITHFUL: {_label(run)}: no call of {_plain(expected)} was answered."
    for run in found.unknown:
        yield f"UNKNOWN: {_label(run)}: {run.problem}."


def _label(run: "RunFidelity") -> str:
    question = f"{run.capability}+{run.question}" if run.capability else run.question
    return _plain(f"{question} {run.arm} {run.agent} #{run.rep}")


def _cells(use: "Use") -> tuple[str, ...]:
    from tiltyard_cluster.estimate_words import tokens_text  # noqa: PLC0415
    from tiltyard_cluster.words import usd_text  # noqa: PLC0415

    requested = f"{_plain(use.role)} as {_plain(use.asked)}" if use.asked else _plain(use.role)
    calls = (
        str(use.calls) if use.calls == use.answered else f"{use.calls} ({use.calls - use.answered} failed)"
    )
    tokens = _at_least(tokens_text(use.tokens), use.tokens, use.unknown_tokens)
    usd = _at_least(usd_text(use.usd), use.usd, use.unknown_usd) + (" imputed" if use.imputed else "")
    return requested + (" *" if use.worker else ""), _plain(use.model), calls, tokens, usd


def _at_least(text: str, amount: float, unknown: int) -> str:
    """A sum of which a part may be unknown; one of 0 says nothing then."""
    if not unknown:
        return text
    return f"at least {text}" if amount else "unknown"


def _plain(text: str | None) -> str:
    """Agents and providers chose these names: no control character of theirs reaches a terminal."""
    from tiltyard_specs.visible import visible  # noqa: PLC0415

    return "none" if text is None else visible(text, one_line=True)
