"""Images by id: decoded once, shown as tiles of any resolution and contrast, kept within a number of bytes."""

import io

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import open_stack
from invariance.studio.folder import probe
from invariance.studio.mask_files import MaskFiles, mask_paths
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.rasters import PageKey
from invariance.studio.sources import Sources, halve
from tests.studio.driving import write_images


@pytest.fixture
def open_folder(folder):
    opened = []

    def open_again(**settings):
        opened.append(Project(folder))
        return Sources(opened[-1], **settings)

    yield open_again
    for project in opened:
        project.close()


def decode(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def shrink(page, level):
    """The plain twin: means of squares, the last row and column repeated."""
    for _ in range(level):
        page = np.pad(page, [(0, page.shape[0] % 2), (0, page.shape[1] % 2), *[(0, 0)] * (page.ndim - 2)], "edge")
        page = page.reshape(page.shape[0] // 2, 2, page.shape[1] // 2, 2, *page.shape[2:]).mean(axis=(1, 3))
    return page


@pytest.mark.parametrize("shape", [(7, 9), (8, 5, 3), (9, 9, 2), (6, 7, 6), (1, 1), (5, 1, 1)])
def test_halving_is_the_mean_of_squares(shape):
    page = np.random.default_rng(0).random(shape, np.float32)
    np.testing.assert_allclose(halve(page), shrink(page, 1), rtol=1e-5)
    assert halve(page).shape[2:] == page.shape[2:]


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        *[(mode, "a.png") for mode in ("L", "RGB", "RGBA", "LA", "P", "1", "I;16")],
        *[("RGB", "a.jpg"), ("CMYK", "a.jpg"), ("L", "a.bmp"), ("RGB", "a.webp"), ("P", "a.gif")],
        *[("RGB", "a.tif"), ("F", "a.tif")],
    ],
)
def test_a_header_says_what_the_decoder_finds(tmp_path, mode, name):
    image = Image.fromarray(np.arange(35, dtype=np.uint8).reshape(5, 7)).convert(mode if mode != "I;16" else "I;16")
    image.save(tmp_path / name)
    stack = open_stack(tmp_path / name)
    assert probe(tmp_path / name) == (*stack.shape[:3], stack.shape[3] if stack.ndim == 4 else 1)


def test_a_turned_photograph(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    Image.new("RGB", (7, 5)).save(tmp_path / "a.jpg", exif=exif)
    assert probe(tmp_path / "a.jpg") == (1, 7, 5, 3) == (1, *open_stack(tmp_path / "a.jpg").shape[1:])


def test_tiles_show_the_page_at_all_levels(folder, open_folder):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (700, 1100, 3), np.uint8)).save(folder / "colour.png")
    sources = open_folder()
    image = next(source for source in sources.images() if source.name == "colour.png").id
    page = sources.read_page(image, 0)
    for level in range(3):
        small = shrink(page, level)
        part = small[512:1024, 512:1024] if level == 0 else small[:512, :512]
        place = 1 if level == 0 else 0
        shown = decode(sources.tile(image, 0, level, place, place, None, 0.0, 1.0))
        np.testing.assert_allclose(shown, np.clip(part * 255, 0, 255), atol=0.51)
    grey = decode(sources.tile(image, 0, 0, 0, 0, 1, 0.25, 0.5))
    np.testing.assert_allclose(grey, np.clip((page[:512, :512, 1] - 0.25) * 4 * 255, 0, 255), atol=0.51)
    assert decode(sources.thumbnail(image, 100)).shape == (64, 100, 3)


def test_what_is_kept_is_bounded_by_bytes_or_by_the_largest_page(folder, open_folder):
    write_images(folder, 12)
    sources = open_folder(max_bytes=1_000_000)
    for source in sources.images():
        assert sources.read_page(source.id, 0).shape == (300, 300)
        assert sources.nbytes <= 1_000_000
    lazy = sources.lazy_page(1, 0)
    np.testing.assert_array_equal(lazy[3:9, ::2], sources.read_page(1, 0)[3:9, ::2])


def test_ids_stay_and_files_that_come_get_new_ones(folder):
    project = Project(folder)
    assert {source.name: source.id for source in Sources(project).images()} == {"image0.png": 1, "image1.png": 2}
    project.close()
    (folder / "image0.png").unlink()
    (folder / "a_broken.png").write_bytes(b"\x89PNG nothing")
    (folder / "deeper").mkdir()
    Image.new("L", (4, 4)).save(folder / "deeper" / "image1.png")
    project = Project(folder)
    found = {source.name: (source.id, source.error is None) for source in Sources(project).images()}
    assert found == {"a_broken.png": (3, False), "deeper/image1.png": (4, True), "image1.png": (2, True)}
    project.close()


def test_a_painted_image_of_another_size_is_listed_with_an_error(folder):
    project = Project(folder)
    painting = Painting(project, Sources(project))
    painting.stroke(PageKey(1, 0, "labels"), "brush", 1, 3, np.array([[9.0, 9.0]]))
    project.close()
    Image.new("L", (20, 20)).save(folder / "image0.png")
    Image.new("L", (20, 20)).save(folder / "image1.png")
    project = Project(folder)
    sources = Sources(project)
    assert [source.error is None for source in sources.images()] == [False, True]
    assert Painting(project, sources).steps()[0].changes == []
    project.close()


def test_a_stack_has_pages_and_its_masks_too(folder):
    tifffile.imwrite(folder / "stack.tif", np.zeros((3, 40, 50), np.uint8), imagej=True, metadata={"axes": "ZYX"})
    project = Project(folder)
    sources = Sources(project)
    painting = Painting(project, sources)
    files = MaskFiles(project, sources, painting)
    image = next(source for source in sources.images() if source.name == "stack.tif").id
    painting.stroke(PageKey(image, 2, "labels"), "brush", 2, 3, np.array([[9.0, 9.0]]))
    painting.stroke(PageKey(1, 0, "labels"), "brush", 1, 3, np.array([[9.0, 9.0]]))
    for changed in (image, 1):
        files.mark(changed)
    files.close()
    mask = tifffile.imread(project.directory / "labels" / "stack.tif")
    assert (mask.shape, mask.dtype, np.unique(mask[2]).tolist(), mask[:2].max()) == ((3, 40, 50), np.uint8, [0, 2], 0)
    np.testing.assert_array_equal(np.asarray(Image.open(files.path_of(1))), painting.labels_of(1, 0, "labels"))
    project.close()


def test_masks_of_images_with_one_stem_have_names_of_their_own(open_folder, folder):
    Image.new("L", (4, 4)).save(folder / "image0.jpg")
    paths = mask_paths(open_folder().images())
    assert sorted(map(str, paths.values())) == ["image0.jpg.png", "image0.png.png", "image1.png"]


def test_a_zarr_store_is_a_stack(tmp_path):
    zarr = pytest.importorskip("zarr")
    pixels = np.random.default_rng(0).integers(0, 256, (3, 40, 50), dtype=np.uint8)
    zarr.create_array(tmp_path / "a.zarr", shape=pixels.shape, dtype="uint8", chunks=(1, 20, 20))[:] = pixels
    (tmp_path / "a.zarr" / "inside.png").write_bytes(b"")
    zarr.create_array(tmp_path / "signed.zarr", shape=(3, 40, 50), dtype="int32", chunks=(1, 20, 20))
    project = Project(tmp_path)
    sources = Sources(project)
    good, bad = sources.images()
    assert (good.name, good.n_pages, good.shape) == ("a.zarr", 3, (40, 50))
    np.testing.assert_allclose(sources.read_page(good.id, 2), pixels[2] / 255, rtol=1e-6)
    assert sources.layout(good.id).axes == "Z"
    assert "holds int32" in bad.error
    project.close()
