from .opening import open_volume
from .segmentation import Outcome, segment_volume
from .volume import Volume, VolumeError

__all__ = ["Outcome", "Volume", "VolumeError", "open_volume", "segment_volume"]
