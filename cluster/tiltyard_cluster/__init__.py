"""Whole trials: plan, stores, executors, resume."""

from tiltyard_cluster.budget import Spent
from tiltyard_cluster.estimate_model import Estimate
from tiltyard_cluster.estimate_trial import estimate_trial
from tiltyard_cluster.events import AttemptEnded, Event, Note, Planned, RunStarted
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.plan import Plan, PlannedRun, make_plan
from tiltyard_cluster.stopper import Stopper
from tiltyard_cluster.store import FolderStore, Store
from tiltyard_cluster.trial import Preview, TrialResult, preview_trial, run_trial

__all__ = [
    "AttemptEnded",
    "Estimate",
    "Event",
    "FolderStore",
    "Note",
    "Plan",
    "Planned",
    "PlannedRun",
    "Preview",
    "RunOptions",
    "RunStarted",
    "Spent",
    "Stopper",
    "Store",
    "TrialResult",
    "estimate_trial",
    "make_plan",
    "preview_trial",
    "run_trial",
]  # fmt: skip
