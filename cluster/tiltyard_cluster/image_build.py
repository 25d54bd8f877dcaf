"""Builds the images of a trial ahead of it."""

from collections.abc import Mapping

from tiltyard_cluster.arm_images import ArmImages, FailedArm
from tiltyard_cluster.options import RunOptions
from tiltyard_cluster.resolve import resolve
from tiltyard_images import ImageBuilder
from tiltyard_specs import Trial


def build_images(trial: Trial, builder: ImageBuilder, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Build every image that the trial's runs need.

    Returns:
        The arms whose setup failed, each with the reason.
    """
    resolved = resolve(trial, RunOptions(environ=environ))
    images = ArmImages(trial, builder, resolved.checkouts, versions={})
    failed: dict[str, str] = {}
    for run in resolved.plan.runs:
        image = images.get(run, trial.agent(run.agent))
        if isinstance(image, FailedArm):
            failed[run.arm] = image.reason
    return sorted(failed.items())
