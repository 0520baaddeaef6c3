from .opening import open_volume
from .segmentation import Outcome, segment_volume
from .training import read_labelled_sections
from .volume import Volume, VolumeError

__all__ = ["Outcome", "Volume", "VolumeError", "open_volume", "read_labelled_sections", "segment_volume"]
