"""The one error of image files."""


class ImageError(ValueError):
    """An image file or folder that cannot be used; one line names it, what is wrong and the cure."""
