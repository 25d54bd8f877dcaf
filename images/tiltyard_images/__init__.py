"""Image layers: found by content, built once, and removed only when they are ours."""

from tiltyard_images.builder import ImageBuilder
from tiltyard_images.engine import EngineFacts, connect, engine_facts
from tiltyard_images.errors import ImageBuildError, NoBaseImageError, RepoError, SetupFailedError
from tiltyard_images.manage import ImageInfo, PruneResult, give_names, list_images, prune, sweep_builds
from tiltyard_images.model import ArmContent, History, Image, TreeFile
from tiltyard_images.pins import AGENT_PINS
from tiltyard_images.repos import Checkout, Repos

__all__ = [
    "AGENT_PINS",
    "ArmContent",
    "Checkout",
    "EngineFacts",
    "History",
    "Image",
    "ImageBuildError",
    "ImageBuilder",
    "ImageInfo",
    "NoBaseImageError",
    "PruneResult",
    "RepoError",
    "Repos",
    "SetupFailedError",
    "TreeFile",
    "connect",
    "engine_facts",
    "give_names",
    "list_images",
    "prune",
    "sweep_builds",
]
