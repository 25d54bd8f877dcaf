"""`tiltyard run --estimate`: what a start would cost, as a table for people or as JSON."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from tiltyard_cli.columns import columns

if TYPE_CHECKING:
    from tiltyard_cluster import Estimate, RunOptions
    from tiltyard_cluster.estimate_model import Part
    from tiltyard_specs import Trial

CAUTION = (
    "Token totals of different agents are not comparable: they count, cache and prompt differently, "
    "so one price for all tokens is for planning alone."
)
_UNKNOWN = "unknown"


def show_estimate(
    trial: "Trial",
    folder: str,
    options: "RunOptions",
    *,
    prior: Sequence[str],
    price_per_mtok: float | None,
    as_json: bool,
) -> None:
    """Print the estimate. The exit code says nothing about it: it is no verdict."""
    from tiltyard_cluster import estimate_trial  # noqa: PLC0415

    found = estimate_trial(trial, folder, options, prior=prior, price_per_mtok=price_per_mtok)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
        return
    for line in _lines(found):
        typer.echo(line)


def _lines(found: "Estimate") -> Iterator[str]:
    from tiltyard_cluster.estimate_words import budget_words, most_words, runs_text  # noqa: PLC0415

    yield f"{runs_text(found.runs)} to do, {found.done} done; nothing was started or spent."
    if not found.runs:
        return
    if found.scripted:
        yield "A script answers: nothing is paid; USD are what it would be at the spec's prices."
    yield ""
    yield from _table(found)
    yield ""
    if found.earlier_runs:
        yield (
            "Expected is the mean of the earlier runs; the range is that of the cheapest and dearest of "
            "them, which few runs make too narrow."
        )
    if any(part.counts for part in found.parts):
        yield f"Budget: {budget_words(found)}."
        yield f"Bound: {most_words(found)}."
    yield from (f"Note: {note}." for note in found.notes)
    if found.price_per_mtok is not None:
        yield f"Caution: {CAUTION}"


def _table(found: "Estimate") -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("arm", "agent", "runs", "tokens", "USD", "basis")]
    rows += [_row(part) for part in found.parts]
    rows.append(_all(found))
    yield from columns(rows)


def _row(part: "Part") -> tuple[str, ...]:
    from tiltyard_cluster.estimate_words import range_text, tokens_text  # noqa: PLC0415
    from tiltyard_cluster.words import usd_text  # noqa: PLC0415

    nothing = _UNKNOWN if part.counts else "not counted"
    tokens = nothing if part.tokens is None else range_text(part.tokens, tokens_text)
    usd = nothing if part.usd is None else range_text(part.usd, usd_text)
    usd += " (projected)" if part.projected else ""
    return part.arm, part.agent, str(part.runs), tokens, usd, _basis(part)


def _basis(part: "Part") -> str:
    from tiltyard_cluster.estimate_words import runs_text  # noqa: PLC0415

    rests = "; ".join(
        f"{runs_text(support.runs)} of {support.level} in {', '.join(support.sources)}"
        for support in part.basis
    )
    if part.missing:
        return f"{part.missing}; {rests}" if rests else part.missing
    return rests or ("calls no model" if part.counts else "the spec names no model for it")


def _all(found: "Estimate") -> tuple[str, ...]:
    from tiltyard_cluster.estimate_words import range_text, runs_text, tokens_text  # noqa: PLC0415
    from tiltyard_cluster.words import usd_text  # noqa: PLC0415

    tokens = _UNKNOWN if found.tokens is None else range_text(found.tokens, tokens_text)
    usd = _UNKNOWN if found.usd is None else range_text(found.usd, usd_text)
    if found.tokens is not None and found.unknown_tokens_runs:
        tokens = f"at least {tokens}"
    if found.usd is not None and found.unknown_usd_runs:
        usd = f"at least {usd}"
    unknown = max(found.unknown_tokens_runs, found.unknown_usd_runs)
    basis = f"{runs_text(found.earlier_runs)} before" + (f"; {runs_text(unknown)} unknown" if unknown else "")
    return "all", "", str(found.runs), tokens, usd, basis
