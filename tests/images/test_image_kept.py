"""Kept images: what comes in comes out, in memory and from the file, and chosen ones are those of their rows."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from invariance.images import ChosenImages, KeptImages, read_compact, read_image, shrink


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    shapes = [(4, 5), (3, 7, 3), (6, 2)] * 4
    return [
        rng.integers(0, 256, shape, np.uint8) if number % 2 else rng.random(shape, np.float32)
        for number, shape in enumerate(shapes)
    ]


@pytest.mark.parametrize("max_bytes", [0, 300, 10**9])
def test_images_come_out_as_they_came_in(images, max_bytes):
    kept = KeptImages(max_bytes)
    for image in images:
        kept.append(image[:, ::-1])  # of which no two rows are beside each other in memory
    assert len(kept) == len(images)
    for found, image in zip(kept, images, strict=True):
        assert found.dtype == image.dtype
        np.testing.assert_array_equal(found, image[:, ::-1])
    np.testing.assert_array_equal(kept[-1], images[-1][:, ::-1])
    assert [image.shape for image in kept[2:5]] == [image.shape for image in images[2:5]]
    with pytest.raises(IndexError):
        kept[len(images)]


def test_threads_read_at_the_same_time(images):
    kept = KeptImages(0)
    for image in images:
        kept.append(image)
    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(kept.__getitem__, [k % len(images) for k in range(400)])):
            np.testing.assert_array_equal(found, images[number % len(images)])


def test_images_in_memory_are_not_copied_when_asked_for(images):
    kept = KeptImages()
    kept.append(images[0])
    assert kept[0] is kept[0]


def test_chosen_images_are_those_of_their_rows(images):
    chosen = ChosenImages(images, [7, 2, 2])
    assert [image is images[row] for image, row in zip(chosen, (7, 2, 2), strict=True)] == [True] * 3
    assert chosen[1:][0] is images[2]
    assert len(chosen[1:]) == 2


@pytest.mark.parametrize(("mode", "dtype"), [("L", np.uint8), ("RGB", np.uint8), ("I;16", np.float32)])
def test_eight_bits_stay_eight_bits(tmp_path, mode, dtype):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)
    values = {"L": pixels[..., 0], "RGB": pixels, "I;16": pixels[..., 0].astype(np.uint16) * 200}[mode]
    Image.fromarray(values).save(tmp_path / "image.png")
    compact = read_compact(tmp_path / "image.png")
    assert compact.dtype == dtype
    scale = 255 if dtype == np.uint8 else 1
    np.testing.assert_array_equal(compact.astype(np.float32) / np.float32(scale), read_image(tmp_path / "image.png"))


def test_images_that_a_camera_turned_are_shrunk_upright(tmp_path):
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, :30, 0] = 255
    exif = Image.Exif()
    exif[274] = 6  # the camera was turned by 90°
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    shrunk = shrink(read_compact(tmp_path / "turned.png"), 30)
    assert shrunk.shape == (30, 20, 3)
    assert shrunk[0, :, 0].tolist() == [255] * 20
    assert not shrunk[-1].any()
    np.testing.assert_array_equal(shrunk, shrink(np.rot90(pixels, -1), 30))


def test_transparent_images_are_laid_over_white(tmp_path):
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    np.testing.assert_array_equal(read_compact(tmp_path / "clear.png"), np.ones((4, 4, 3)))


def test_shrinking_eight_bits_rounds_what_shrinking_floats_gives():
    image = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
    shrunk, exact = shrink(image, 40), shrink(image / np.float32(255), 40)
    assert shrunk.dtype == np.uint8
    assert shrunk.shape == exact.shape == (27, 40, 3)
    np.testing.assert_allclose(shrunk, 255 * exact, atol=0.51)
