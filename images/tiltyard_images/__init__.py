"""Image layers: found by content, built once, and removed only when they are ours."""

from tiltyard_images.builder import ImageBuilder
from tiltyard_images.engine import EngineFacts, connect, engine_facts
from tiltyard_images.model import ArmContent, History, Image, TreeFile

__all__ = [
    "ArmContent",
    "EngineFacts",
    "History",
    "Image",
    "ImageBuilder",
    "TreeFile",
    "connect",
    "engine_facts",
]
