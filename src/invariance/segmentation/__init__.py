"""Labelling every pixel of images and stacks, also while one paints, and scoring segmentations."""

from invariance.segmentation.live import (
    LiveScores,
    LiveSegmenter,
    LiveTile,
    Suggestion,
    View,
    brush_pixels,
    fill_pixels,
)
from invariance.segmentation.scores import SegmentationScores, segmentation_scores
from invariance.segmentation.segmenter import JungleSegmenter

__all__ = [
    "JungleSegmenter",
    "LiveScores",
    "LiveSegmenter",
    "LiveTile",
    "SegmentationScores",
    "Suggestion",
    "View",
    "brush_pixels",
    "fill_pixels",
    "segmentation_scores",
]
