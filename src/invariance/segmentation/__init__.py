"""Labelling every pixel of images and stacks, also while one paints, and scoring segmentations."""

from invariance.segmentation.live import LiveSegmenter
from invariance.segmentation.live_scores import LiveScores
from invariance.segmentation.scores import SegmentationScores, segmentation_scores
from invariance.segmentation.segmenter import JungleSegmenter
from invariance.segmentation.strokes import brush_pixels
from invariance.segmentation.suggestions import Suggestion
from invariance.segmentation.views import LiveTile, View

__all__ = [
    "JungleSegmenter",
    "LiveScores",
    "LiveSegmenter",
    "LiveTile",
    "SegmentationScores",
    "Suggestion",
    "View",
    "brush_pixels",
    "segmentation_scores",
]
