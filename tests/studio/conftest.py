import pytest

from tests.studio.driving import write_images


@pytest.fixture
def folder(tmp_path):
    """A folder with two grey images of 300 x 300 pixels."""
    place = tmp_path / "images"
    place.mkdir()
    return write_images(place)
