"""`tiltyard status`: how far a result is."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from tiltyard_cli.columns import columns
from tiltyard_cli.options import Results, S3Endpoint
from tiltyard_cli.told import tell
from tiltyard_cli.waiting import Waiting

if TYPE_CHECKING:
    from tiltyard_cluster.status import Status

_UNKNOWN = "unknown"


def status(
    results: Results,
    s3_endpoint: S3Endpoint = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show how far a trial, a shard or a merged result is, and what it has spent.

    The exit code is 65, after that, when a record is damaged and so left out.
    """
    from tiltyard_cluster.status import read_status  # noqa: PLC0415
    from tiltyard_specs.exit_codes import ExitCode  # noqa: PLC0415

    with Waiting() as waiting:
        waiting(f"reading {results}")
        found = read_status(results, s3_endpoint, tell)
    for problem in (*found.problems, *found.notes):
        typer.echo(f"tiltyard: {problem}", err=True)
    if as_json:
        typer.echo(json.dumps(_data(found), indent=2))
    else:
        for line in _lines(found):
            typer.echo(line)
    if found.problems:
        raise typer.Exit(int(ExitCode.DATA))


def _data(found: "Status") -> dict[str, object]:
    from tiltyard_cluster.status import SCHEMA_VERSION  # noqa: PLC0415

    data = dataclasses.asdict(found)
    data["arms"] = [dataclasses.asdict(arm) | {"missing": arm.missing} for arm in found.arms]
    return {
        "schema_version": SCHEMA_VERSION,
        **data,
        "missing": found.missing,
        "partial": found.partial,
        "complete": found.complete,
    }


def _lines(found: "Status") -> Iterator[str]:
    kind = f"shard {found.shard}" if found.shard else "merged" if found.merged else "whole trial"
    if found.shard and found.complete:
        kind += ", complete"
    yield f"{found.name}: trial {found.trial or _UNKNOWN}, {kind}, plan {found.plan_id or _UNKNOWN}"
    if found.under_way:
        yield f"Under way: {found.under_way}"
    counts = f"{_number(found.expected)} expected, {found.present} present, {_number(found.missing)} missing"
    yield f"{'' if found.complete else 'PARTIAL: '}{counts}"
    if found.arms:
        rows = [("arm", "expected", "present", "missing", "outcomes")]
        rows += [
            (arm.arm, _number(arm.expected), str(arm.present), _number(arm.missing), _outcomes(arm.outcomes))
            for arm in found.arms
        ]
        yield from columns(rows)
    attempts = f"{found.attempts} earlier {'attempt' if found.attempts == 1 else 'attempts'}"
    yield f"Spent: {found.spent.words(scripted=found.scripted)}; {attempts}"


def _number(count: int | None) -> str:
    return _UNKNOWN if count is None else str(count)


def _outcomes(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "none"
