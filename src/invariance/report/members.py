"""Members of Φ in words, for the titles of figures."""

import numpy as np
from scipy import linalg

from invariance.transformations.steps import Alteration, Member, Step, Warp


def describe_member(member: Member) -> str:
    """Describe a member of a transformation set in words.

    Parameters
    ----------
    member : tuple of steps
        One of `TransformationSet.members`.

    Returns
    -------
    description : str
        For example "rotated 45°" or "mirrored, shifted 2 right and 1 down"; rotations are counter-clockwise, shifts in
        pixels.
    """
    return ", ".join(words for step in member for words in _describe_step(step)) or "unchanged"


def _describe_step(step: Step) -> list[str]:
    if isinstance(step, Warp):
        return _describe_warp(step.homography)
    if isinstance(step, Alteration):
        parameters = " ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in step.parameters)
        return [f"{step.function.__name__.replace('_', ' ')} {parameters}".rstrip()]
    return ["distorted"]


def _describe_warp(homography: np.ndarray) -> list[str]:
    """Describe the inverse of a homography, which maps pixels of the result to their sources."""
    if not np.allclose(homography[2, :2], 0, atol=1e-9):
        return ["tilted"]
    forward = np.linalg.inv(homography)
    linear, (right, down) = forward[:2, :2], forward[:2, 2]
    words = []
    if np.linalg.det(linear) < 0:
        # A reflection followed by a rotation, except for a reflection about the horizontal axis.
        axis, word = ((1, -1), "upside down") if linear[0, 0] > 0 > linear[1, 1] else ((-1, 1), "mirrored")
        linear = linear @ np.diag(axis)
        words.append(word)
    rotation, stretch = linalg.polar(linear)
    # The y axis points down, so that a counter-clockwise rotation has a positive upper right entry.
    degrees = np.rad2deg(np.arctan2(rotation[0, 1], rotation[0, 0]))
    scale = np.sqrt(np.linalg.det(stretch))
    if not np.allclose(stretch, scale * np.eye(2), atol=1e-6):
        words.append("sheared")
    elif abs(degrees) > 1e-3:
        words.append(f"rotated {degrees:.3g}°".replace("-180", "180").replace("-", "−"))
    if abs(scale - 1) > 1e-6:
        words.append(f"scaled {scale:.3g}")
    sides = ((right, "right", "left"), (down, "down", "up"))
    shifts = [f"{abs(by):.3g} {ahead if by > 0 else back}" for by, ahead, back in sides if abs(by) > 1e-6]
    if shifts:
        words.append("shifted " + " and ".join(shifts))
    return words
