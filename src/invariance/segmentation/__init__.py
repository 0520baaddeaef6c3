"""Every pixel of images and stacks: learning from marked pixels, dense prediction, scores."""

from invariance.segmentation.scores import SegmentationScores, segmentation_scores
from invariance.segmentation.segmenter import JungleSegmenter

__all__ = ["JungleSegmenter", "SegmentationScores", "segmentation_scores"]
