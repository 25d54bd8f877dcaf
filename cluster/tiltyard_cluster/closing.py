"""The first and the last step of a start: whether a place fits it, and the compacted form of what it left."""

from tiltyard_cluster.asked import asked_for
from tiltyard_cluster.compaction import Share, compact
from tiltyard_cluster.layout import MANIFEST, TRIAL
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.publish import Publisher
from tiltyard_cluster.receipt import renew_receipt
from tiltyard_cluster.resolve import Resolved
from tiltyard_cluster.store import Store
from tiltyard_specs import Trial
from tiltyard_specs.errors import UsageError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.receipt import ShardName, parse_receipt


def require_fitting(store: Store, name: str, options: RunOptions) -> None:
    """See that a result is one that this start can add to.

    Raises:
        UsageError: It is a merged one, or another part of a plan.
    """
    text = store.get(TRIAL)
    if text is None:
        return
    manifest = store.get(MANIFEST)
    if manifest is not None and Manifest.parse(manifest, f"{name}/{MANIFEST}").merged:
        raise UsageError(
            f"{name} holds a merged result, to which nothing can be added; choose another place with --out"
        )
    there, wanted = parse_receipt(text, f"{name}/{TRIAL}").shard, _part(options.shard)
    if there != wanted:
        raise UsageError(
            f"{name} holds {_words(there)}, and {_words(wanted)} was asked for; "
            "choose another place with --out, or the same part again"
        )


def close_result(publisher: Publisher, trial: Trial, resolved: Resolved, options: RunOptions) -> None:
    """Write the compacted form of a result, and its manifest last.

    Where nothing was changed since it was written, it stays as it is.
    """
    store = publisher.store
    receipt = renew_receipt(store, trial, resolved, options)
    text = store.get(MANIFEST)
    if text is not None and Manifest.parse(text, MANIFEST).plan_id == receipt.plan_id:
        return
    plan = asked_for(trial, resolved, receipt)
    compact(store, Share(plan.plan_id, plan.trial, plan.runs, receipt.shard))


def _part(shard: ShardName | None) -> ShardName | None:
    return None if shard is None or shard.of == 1 else shard


def _words(shard: ShardName | None) -> str:
    return "a whole trial" if shard is None else f"shard {shard} of a plan"
