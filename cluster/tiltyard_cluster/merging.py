"""Joins results of parts of a plan into one, and proves what it holds.

Merging is a union of sets of records, written down sorted: in any order and grouping it gives the same bytes.
Everything is checked that is given: the compacted files by their digests, each record by the manifest's, and
each run.json by the record. Memory does not grow with the records, only with the list of runs.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tiltyard_cluster.compaction import scratch_folder
from tiltyard_cluster.layout import MANIFEST, TRIAL
from tiltyard_cluster.merge_parts import distinct, require_apart
from tiltyard_cluster.merge_sources import Source, open_source
from tiltyard_cluster.merge_tally import MergeError, Tally, require_whole, tally_of
from tiltyard_cluster.merge_writing import Union, UnionWriter
from tiltyard_cluster.merged_receipt import merge_receipts
from tiltyard_cluster.store import Store
from tiltyard_specs.errors import DataError, UsageError
from tiltyard_specs.manifest import Manifest
from tiltyard_specs.plan_file import PlanFile

_AT_ONCE = 100
"""Parts that are open at once; a process has 1,024 open files by default, and a part needs two."""
__all__ = ["MergeError", "Tally", "merge"]


def merge(
    plan: PlanFile,
    parts: Sequence[tuple[str, Store]],
    target: Store,
    *,
    allow_partial: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Merge results of parts of a plan.

    Args:
        plan: The plan.
        parts: Address and store of each part: a shard, a whole result, or a merged one.
        target: Where the merged result goes; an earlier one in it is replaced.
        allow_partial: Write it though runs are missing. The result says PARTIAL and no verdict rests on it.
        tell: Told what is being done.

    Returns:
        What was found.

    Raises:
        UsageError: There are no parts, or the result would lie inside one of them, or one inside it.
        MergeError: A part is of another plan, has not ended or was altered, two differ on a run, runs are
            missing or foreign. Its tally says what was found.
    """
    if not parts:
        raise UsageError("there is nothing to merge: give at least one result")
    parts = distinct(parts)
    require_apart(parts, target)
    with scratch_folder() as folder, _no_collecting():
        sources = _open_all(plan, parts, folder, tell, allow_partial=allow_partial)
        tally = tally_of(plan, sources)
        require_whole(plan, sources, tally, allow_partial=allow_partial)
        receipt = merge_receipts([source.receipt for source in sources], plan, len(tally.missing))
        few = _few(sources, tally, folder, tell)
        out = folder / "merged"
        out.mkdir()
        union = UnionWriter(few, tally, out, tell).write()
        # What is written now takes its room: there may be a million runs.
        del sources, few
        tally.attempts = union.attempts
        manifest = _manifest(plan, union, tally)
        tell(f"writing {tally.present} records")
        # Without its receipt it is no trial, which nobody reads; alone that would be one without any runs.
        target.remove(TRIAL)
        target.remove(MANIFEST)
        for name in manifest.files:
            target.put_file(name, out / name)
        target.put(MANIFEST, manifest.to_json().encode())
        target.put(TRIAL, receipt.to_json().encode())
    return tally


def _few(
    sources: Sequence[Source], tally: Tally, folder: Path, tell: Callable[[str], None]
) -> Sequence[Source]:
    """The parts joined into so few that all can be open at once: each takes files, and a megabyte or two."""
    stage = 0
    while len(sources) > _AT_ONCE:
        groups = [sources[start : start + _AT_ONCE] for start in range(0, len(sources), _AT_ONCE)]
        stage += 1
        joined = []
        for number, group in enumerate(groups):
            tell(f"joining {len(sources)} parts into {len(groups)}")
            out = folder / f"stage-{stage}-{number}"
            out.mkdir()
            union = UnionWriter(group, tally, out, tell).write()
            name = f"one of {group[0].name} to {group[-1].name}"
            joined.append(replace(group[0], name=name, folder=out, present=union.present))
        sources = joined
    return sources


def _manifest(plan: PlanFile, union: Union, tally: Tally) -> Manifest:
    return Manifest(
        plan_id=plan.plan_id,
        trial=plan.trial,
        merged=True,
        partial=bool(tally.missing),
        runs={**dict.fromkeys(tally.missing), **union.present},
        files=dict(union.files),
    )


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Within the block no cycles are looked for: among millions of texts that costs, and none are made."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def _open_all(
    plan: PlanFile,
    parts: Sequence[tuple[str, Store]],
    folder: Path,
    tell: Callable[[str], None],
    *,
    allow_partial: bool,
) -> list[Source]:
    """Open every part, so that all that is wrong with any of them is told at once."""
    sources, problems = [], []
    for number, (name, store) in enumerate(parts):
        tell(f"checking {name}, {number + 1} of {len(parts)}")
        scratch = folder / str(number)
        scratch.mkdir()
        try:
            sources.append(open_source(name, store, plan, scratch, allow_partial=allow_partial))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise MergeError("; ".join(problems), tally_of(plan, sources))
    return sources
