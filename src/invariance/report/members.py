"""A member of Φ in words, so that a figure can say which transformation it shows."""

import numpy as np
from scipy import linalg

from invariance.transformations.steps import Alteration, Member, Step, Warp


def describe_member(member: Member) -> str:
    """For example "turned 45°" or "mirrored, shifted 2 right and 1 down"; rotations are counter-clockwise."""
    return ", ".join(words for step in member for words in _describe_step(step)) or "unchanged"


def _describe_step(step: Step) -> list[str]:
    if isinstance(step, Warp):
        return _describe_warp(step.homography)
    if isinstance(step, Alteration):
        parameters = " ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in step.parameters)
        return [f"{step.function.__name__.replace('_', ' ')} {parameters}".rstrip()]
    return ["distorted"]


def _describe_warp(homography: np.ndarray) -> list[str]:
    """The homography takes a pixel of the result to its source; its inverse is what happens to the content."""
    if not np.allclose(homography[2, :2], 0, atol=1e-9):
        return ["tilted"]
    forward = np.linalg.inv(homography)
    linear, (right, down) = forward[:2, :2], forward[:2, 2]
    words = []
    if np.linalg.det(linear) < 0:
        # Read as a mirror image that is then turned, except where it is simply upside down.
        axis, word = ((1, -1), "upside down") if linear[0, 0] > 0 > linear[1, 1] else ((-1, 1), "mirrored")
        linear = linear @ np.diag(axis)
        words.append(word)
    turn, stretch = linalg.polar(linear)
    # The y axis points down, so that a counter-clockwise turn has a positive upper right entry.
    degrees = np.rad2deg(np.arctan2(turn[0, 1], turn[0, 0]))
    scale = np.sqrt(np.linalg.det(stretch))
    if not np.allclose(stretch, scale * np.eye(2), atol=1e-6):
        words.append("sheared")
    elif abs(degrees) > 1e-3:
        words.append(f"turned {degrees:.3g}°".replace("-180", "180").replace("-", "−"))
    if abs(scale - 1) > 1e-6:
        words.append(f"scaled {scale:.3g}")
    sides = ((right, "right", "left"), (down, "down", "up"))
    shifts = [f"{abs(by):.3g} {ahead if by > 0 else back}" for by, ahead, back in sides if abs(by) > 1e-6]
    if shifts:
        words.append("shifted " + " and ".join(shifts))
    return words
