"""What a start of a trial would cost: the public `estimate_trial`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tiltyard_cluster.addresses import Address, open_result, open_store, parse_address
from tiltyard_cluster.budget import Spent
from tiltyard_cluster.estimate import estimate_left
from tiltyard_cluster.estimate_model import Estimate, Situation
from tiltyard_cluster.folder import require_results_folder
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.reading import read_attempts
from tiltyard_cluster.resolve import progress, resolve, without_failed
from tiltyard_cluster.staging import unsettled
from tiltyard_specs import Trial


def estimate_trial(
    trial: Trial,
    out: Address | str,
    options: RunOptions | None = None,
    *,
    prior: Sequence[Address | str] = (),
    price_per_mtok: float | None = None,
) -> Estimate:
    """Say what a start would cost, from earlier runs; no engine is needed, and nothing is spent.

    Args:
        trial: What `load_trial` returned, or a selection of it.
        out: The results folder, or `s3://bucket/prefix`, whose own runs are the nearest.
        options: How it would run.
        prior: Further results with earlier runs.
        price_per_mtok: USD per million tokens of any kind, for models without a price.

    Raises:
        UsageError: The results folder holds something that is no trial.
        DataError: One of `prior` holds no trial.
    """
    options, where = options or RunOptions(), parse_address(out)
    if isinstance(where, Path):
        require_results_folder(where)
    publisher = Publisher(open_store(where, options.s3_endpoint), read_only=True)
    plan = resolve(trial, options).plan
    there = progress(plan, publisher)
    spent = Spent()
    for record in (*there.done.values(), *read_attempts(publisher.store, there.done.values())):
        spent = spent.plus(record)
    if options.retry_failed:
        there = without_failed(plan, there)
    now = Situation(len(there.done), spent, options.script is not None, price_per_mtok)
    stores = [(str(source), open_result(source, options.s3_endpoint)) for source in prior]
    found = estimate_left(trial, publisher, there.left, now, name=str(where), prior=stores)
    left = unsettled(where) if isinstance(where, Path) else ()
    return replace(found, notes=(*found.notes, *left)) if left else found
