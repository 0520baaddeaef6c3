"""Loaders of real sets, on small stand-ins of the documented layout; on the sets themselves where they are there."""

import gzip
import os
import struct

import numpy as np
import pytest
import tifffile
from PIL import Image
from scipy.io import savemat

from invariance import datasets
from invariance.datasets import DatasetMissing, ImageFiles
from invariance.datasets._sources import SOURCES

LOADERS = {name: getattr(datasets, f"load_{name}") for name in SOURCES}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("invariance.datasets._sources.cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def write_idx(path, array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def write_idx_set(folder):
    folder.mkdir()
    rng = np.random.default_rng(0)
    parts = {"train": rng.integers(0, 256, (6, 28, 28)), "t10k": rng.integers(0, 256, (4, 28, 28))}
    for part, images in parts.items():
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"{part}-labels-idx1-ubyte.gz", np.arange(len(images)))
    return parts


def write_photos(folder, counts, mode="RGB"):
    for name, count in counts.items():
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.new(mode, (7 + i, 5), i).save(folder / name / f"{i}.png")


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_set_says_what_to_get_and_where_to_put_it(name, folder):
    with pytest.raises(DatasetMissing) as caught:
        LOADERS[name]()
    message = str(caught.value)
    assert "\n" not in message
    assert str(folder / name) in message
    assert ("download=True" in message) == bool(SOURCES[name].remotes)
    assert not (folder.parent / "cache").exists()  # nothing downloaded unasked


def test_the_cache_is_searched_after_the_data_folder(folder):
    (folder.parent / "cache").mkdir()
    write_idx_set(folder.parent / "cache" / "mnist")
    assert len(datasets.load_mnist()) == 6


def test_mnist_is_read_from_idx_files(folder):
    parts = write_idx_set(folder / "mnist")
    load = datasets.load_mnist
    np.testing.assert_array_equal(load().images, parts["train"])
    np.testing.assert_array_equal(load("test").images, parts["t10k"])
    np.testing.assert_array_equal(load("test", n=2).labels, [0, 1])
    both = load("all")
    assert both.images.dtype == np.uint8
    assert both.labels.dtype == np.int64
    np.testing.assert_array_equal(both.take("test").images, parts["t10k"])
    with pytest.raises(ValueError, match="n must be at most 4"):
        load("test", n=5)
    with pytest.raises(ValueError, match="split must be one of 'train', 'test', 'all'; got 'valid'"):
        load("valid")


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-20], lambda b: b"", lambda b: b"hello", lambda b: gzip.compress(b"x" * 99)]
)
def test_a_damaged_idx_file_is_named(damage, folder):
    write_idx_set(folder / "mnist")
    path = folder / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz' is not a complete idx file"):
        datasets.load_mnist()


def test_isbi2012_masks_are_true_on_membranes(folder):
    (folder / "isbi2012").mkdir()
    labels = np.full((2, 8, 9), 255, np.uint8)
    labels[:, 3] = 0
    tifffile.imwrite(folder / "isbi2012" / "train-labels.tif", labels)
    tifffile.imwrite(folder / "isbi2012" / "train-volume.tif", labels // 2)
    tissue = datasets.load_isbi2012()
    assert tissue.images.dtype == np.uint8
    assert tissue.masks[:, 3].all()
    assert tissue.masks.sum() == 2 * 9
    tifffile.imwrite(folder / "isbi2012" / "train-volume.tif", labels[:1])
    with pytest.raises(ValueError, match="both must be the same stack"):
        datasets.load_isbi2012()


def test_yale_images_are_upright_in_either_layout(folder):
    (folder / "yale").mkdir()
    for size in (32, 64):
        images = np.arange(165 * size * size).reshape(165, size, size) % 251
        rows = images.transpose(0, 2, 1).reshape(165, -1).astype(np.uint8)
        people = np.repeat(np.arange(1, 16), 11)[:, None]
        savemat(folder / "yale" / f"Yale_{size}x{size}.mat", {"fea": rows if size == 32 else rows.T, "gnd": people})
        faces = datasets.load_yale(size)
        np.testing.assert_array_equal(faces.images, images)
        assert np.bincount(faces.labels).tolist() == [11] * 15
    glasses = datasets.load_yale().take("glasses")
    assert glasses.labels.tolist() == list(range(15))
    with pytest.raises(ValueError, match="size must be 32 or 64; got 16"):
        datasets.load_yale(16)
    (folder / "yale" / "Yale_64x64.mat").unlink()
    with pytest.raises(DatasetMissing, match=r"Yale_64x64.mat' is missing"):
        datasets.load_yale(64)


def test_photo_sets_are_read_on_demand(folder):
    write_photos(folder / "graz02", {"bikes": 2, "cars": 3, "persons": 1})
    photos = datasets.load_graz02()
    assert photos.class_names == ("bikes", "cars", "persons")
    assert photos.labels.tolist() == [0, 0, 1, 1, 1, 2]
    assert isinstance(photos.images, ImageFiles)
    assert [image.shape for image in photos.images] == [(5, 7 + i, 3) for i in (0, 1, 0, 1, 2, 0)]
    assert photos.images[-1].dtype == np.float32
    assert len(photos.images[1:3]) == len(photos.images[np.array([0, 5])]) == 2
    some = photos.take([4, 0])
    assert some.labels.tolist() == [1, 0]
    assert some.images[0].shape == (5, 9, 3)
    assert some.paths == (photos.paths[4], photos.paths[0])
    reverse = datasets.load_graz02(classes=["persons", "bikes"])
    assert reverse.labels.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match=r"classes must name folders .* bikes, cars, persons; got 'dogs'"):
        datasets.load_graz02(classes=["dogs"])
    with pytest.raises(ValueError, match="the splits of graz02 are: none; got 'test'"):
        photos.take("test")


def test_caltech_background_is_no_category(folder):
    write_photos(folder / "caltech101", {"BACKGROUND_Google": 2, "ant": 1, "yin_yang": 1}, mode="L")
    assert datasets.load_caltech101().class_names == ("ant", "yin_yang")
    assert len(datasets.load_caltech101(classes=["ant", "BACKGROUND_Google"])) == 3


def test_an_empty_class_folder_is_named(folder):
    write_photos(folder / "graz02", {"bikes": 1, "cars": 0, "persons": 1})
    with pytest.raises(ValueError, match="cars' contains no images"):
        datasets.load_graz02()


def test_flowers_have_three_disjoint_splits(folder):
    (folder / "flowers17" / "jpg").mkdir(parents=True)
    for i in range(1, 1361):
        (folder / "flowers17" / "jpg" / f"image_{i:04d}.jpg").touch()
    order = np.random.default_rng(0).permutation(1360) + 1
    parts = {"trn": order[:680], "val": order[680:1020], "tst": order[1020:]}
    savemat(folder / "flowers17" / "datasplits.mat", {f"{k}{i}": v for k, v in parts.items() for i in (1, 2, 3)})
    flowers = datasets.load_flowers17()
    assert np.bincount(flowers.labels).tolist() == [80] * 17
    together = np.concatenate([flowers.splits[f"{name}2"] for name in ("train", "validation", "test")])
    np.testing.assert_array_equal(np.sort(together), np.arange(1360))
    np.testing.assert_array_equal(flowers.splits["test3"], parts["tst"] - 1)
    (folder / "flowers17" / "jpg" / "image_0007.jpg").unlink()
    with pytest.raises(ValueError, match=r"lacks 1 of its 1360 images, e.g. 'image_0007.jpg'"):
        datasets.load_flowers17()


def test_the_catalogue_says_what_is_there(folder):
    write_idx_set(folder / "mnist")
    statuses = {status.name: status for status in datasets.list_datasets()}
    assert set(statuses) >= set(SOURCES) | {"digits", "textures", "faces", "membranes", "glyphs"}
    assert statuses["mnist"].present
    assert statuses["mnist"].where == str(folder / "mnist")
    assert not statuses["yale"].present
    assert str(folder / "yale") in statuses["yale"].how
    for status in statuses.values():
        if status.present:
            call = getattr(datasets, status.how.removesuffix("()"))
            assert callable(call)


REAL = ("isbi2012", "mnist", "yale", "uiuc_textures", "flowers17", "caltech101", "graz02")
real = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


@real
@pytest.mark.parametrize(
    ("name", "n_classes"),
    list(zip(REAL, (2, 10, 15, 25, 17, 101, 3), strict=True)),
)
def test_the_real_sets(name, n_classes):
    try:
        dataset = LOADERS[name]()
    except DatasetMissing as missing:
        pytest.skip(str(missing))
    assert len(dataset.class_names) == n_classes
    assert len(dataset) > 20
    image = dataset.images[0]
    assert image.ndim in (2, 3)
    if dataset.masks is None:
        assert set(dataset.labels) == set(range(n_classes))
    else:
        assert dataset.images[dataset.masks].mean() < dataset.images[~dataset.masks].mean()


@real
def test_real_yale_faces_are_upright():
    """A face is more symmetric about its vertical axis than about its horizontal one, unless it lies on its side."""
    try:
        faces = datasets.load_yale().images.astype(float)
    except DatasetMissing as missing:
        pytest.skip(str(missing))

    def likeness(a, b):
        return np.mean([np.corrcoef(x.ravel(), y.ravel())[0, 1] for x, y in zip(a, b, strict=True)])

    assert likeness(faces, faces[:, :, ::-1]) > likeness(faces, faces[:, ::-1]) + 0.1
