"""Runs a trial with progress shown and signals heard."""

import dataclasses

from tiltyard_cli.progress import progress
from tiltyard_cli.signals import stop_on_signals
from tiltyard_cluster import RunOptions, Stopper, TrialResult, run_trial
from tiltyard_specs import Trial


def run_with_progress(trial: Trial, folder: str, options: RunOptions) -> TrialResult:
    """`run_trial` as a person at a terminal, or a log, wants to see it."""
    stopper = Stopper()
    with progress() as shown, stop_on_signals(stopper):
        return run_trial(trial, folder, dataclasses.replace(options, listen=shown), stopper)
