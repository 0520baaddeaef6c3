"""Labelling every pixel of images and stacks, and scoring segmentations."""

from invariance.segmentation.scores import SegmentationScores, segmentation_scores
from invariance.segmentation.segmenter import JungleSegmenter

__all__ = ["JungleSegmenter", "SegmentationScores", "segmentation_scores"]
