"""Labelling pixels while one paints."""

from invariance.segmentation.live.brush import brush_pixels, fill_pixels
from invariance.segmentation.live.engine import LiveSegmenter
from invariance.segmentation.live.scores import LiveScores
from invariance.segmentation.live.suggestions import Suggestion
from invariance.segmentation.live.views import LiveTile, View

__all__ = ["LiveScores", "LiveSegmenter", "LiveTile", "Suggestion", "View", "brush_pixels", "fill_pixels"]
