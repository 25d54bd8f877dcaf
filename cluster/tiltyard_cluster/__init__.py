"""Whole trials: plan, stores, executors, resume, shards, merge.

The names are loaded when they are first used: who merges or reads results needs no engine.
No module may be called like a name that is loaded so: importing the module would hide the name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltyard_cluster.addresses import S3Address, open_result, open_store
    from tiltyard_cluster.budget import Spent
    from tiltyard_cluster.estimate_model import Estimate
    from tiltyard_cluster.estimate_start import estimate_trial
    from tiltyard_cluster.events import AttemptEnded, Event, Note, Planned, RunStarted
    from tiltyard_cluster.merging import MergeError, Tally, merge
    from tiltyard_cluster.options import RunOptions
    from tiltyard_cluster.plan import Plan, PlannedRun, make_plan
    from tiltyard_cluster.planning import plan_trial, planned_trial
    from tiltyard_cluster.stopper import Stopper
    from tiltyard_cluster.store import FolderStore, Store
    from tiltyard_cluster.trial import preview_trial, run_trial
    from tiltyard_cluster.trial_result import Preview, TrialResult

_HOMES = {
    "addresses": ("S3Address", "open_result", "open_store"),
    "budget": ("Spent",),
    "estimate_model": ("Estimate",),
    "estimate_start": ("estimate_trial",),
    "events": ("AttemptEnded", "Event", "Note", "Planned", "RunStarted"),
    "merging": ("MergeError", "Tally", "merge"),
    "options": ("RunOptions",),
    "plan": ("Plan", "PlannedRun", "make_plan"),
    "planning": ("plan_trial", "planned_trial"),
    "stopper": ("Stopper",),
    "store": ("FolderStore", "Store"),
    "trial": ("preview_trial", "run_trial"),
    "trial_result": ("Preview", "TrialResult"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AttemptEnded",
    "Estimate",
    "Event",
    "FolderStore",
    "MergeError",
    "Note",
    "Plan",
    "Planned",
    "PlannedRun",
    "Preview",
    "RunOptions",
    "RunStarted",
    "S3Address",
    "Spent",
    "Stopper",
    "Store",
    "Tally",
    "TrialResult",
    "estimate_trial",
    "make_plan",
    "merge",
    "open_result",
    "open_store",
    "plan_trial",
    "planned_trial",
    "preview_trial",
    "run_trial",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
