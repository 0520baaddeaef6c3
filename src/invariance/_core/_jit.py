"""The compiled loop that rooms share."""

from invariance._core.compilation import compiled


@compiled
def copy_values(source, out):
    """Copy a vector into another of the same length; why not ``out[:] = source``, see `compiled`."""
    for k in range(out.shape[0]):
        out[k] = source[k]
