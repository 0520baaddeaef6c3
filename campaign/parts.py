"""The parts of the campaign by name, and what they import."""

import importlib

from campaign import arguments, concurrent, disks, images, kills, memory, models, volumes
from campaign.part import Part

PARTS: dict[str, Part] = {
    module.PART.name: module.PART for module in (models, images, arguments, kills, disks, concurrent, memory, volumes)
}

IMPORTS = (
    "cv2",
    "matplotlib.pyplot",
    "PIL.Image",
    "skimage.segmentation",
    "skops.io",
    "tifffile",
    "h5py",
    "zarr",
    "invariance.cli",
    "invariance.datasets",
    "invariance.methods.classifier",
    "invariance.models",
    "invariance.report",
    "invariance.segmentation",
    "invariance.volumes.segmentation",
)


def preload() -> None:
    """Import what commands import when they run, so that their processes begin with it."""
    for name in IMPORTS:
        importlib.import_module(name)
    from invariance.methods import get_methods

    get_methods()
