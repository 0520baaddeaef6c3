"""Transparent images, laid over one stated background, so that what a viewer shows is what a method sees."""

import numpy as np

# The background of transparent images: white, as on a page. Files store black or anything else where nothing is drawn.
BACKGROUND = 1.0


def over_background(colours: np.ndarray, alpha: np.ndarray, premultiplied: bool = False) -> np.ndarray:
    """Lay colours over the background, alpha * colour + (1 - alpha) * `BACKGROUND`.

    Parameters
    ----------
    colours : ndarray of shape (..., c), float32
        In [0, 1].
    alpha : ndarray of shape (...), float32
        The opacity in [0, 1].
    premultiplied : bool, default=False
        Whether the colours have been multiplied by alpha already.

    Returns
    -------
    composite : ndarray of shape (..., c), float32
        The colours themselves where nothing is transparent.
    """
    if (alpha >= 1).all():
        return colours
    alpha = np.clip(alpha, 0, 1)[..., None]
    composite = colours.copy() if premultiplied else colours * alpha
    composite += BACKGROUND * (1 - alpha)
    return np.minimum(composite, 1, out=composite)


def without_alpha(image: np.ndarray) -> np.ndarray:
    """Lay a float32 image (h, w, 2) or (h, w, 4) over the background; images without alpha are returned as they are."""
    if image.ndim != 3 or image.shape[2] not in (2, 4):
        return image
    return over_background(image[..., :-1], image[..., -1])
