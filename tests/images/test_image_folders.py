import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import (
    ImageError,
    list_images,
    read_class_folder,
    read_image,
    read_mask_folder,
    read_masked_stack,
)


def write(path, shape=(6, 8), value=100):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(shape, value, dtype=np.uint8)).save(path)
    return path


@pytest.fixture
def pets(tmp_path):
    for name, value in [("dog/2.png", 20), ("cat/b.png", 11), ("cat/a.bmp", 10)]:
        write(tmp_path / name, value=value)
    for junk in ["cat/Thumbs.db", "cat/.DS_Store", "cat/._a.png", "dog/notes.txt", "notes.txt"]:
        (tmp_path / junk).write_text("junk")
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_classes_are_the_sub_folders(pets):
    data = read_class_folder(pets)
    assert data.labels.tolist() == ["cat", "cat", "dog"]
    assert [path.name for path in data.paths] == ["a.bmp", "b.png", "2.png"]
    assert [float(image.mean()) for image in data.images] == [10, 11, 20]
    assert {image.dtype.name for image in data.images} == {"uint8"}
    assert data.skipped == []


def test_images_are_resized_by_the_rule(pets):
    write(pets / "dog" / "3.png", shape=(30, 10, 3))
    data = read_class_folder(pets, shape=(4, 5), rule="stretch")
    assert [image.shape for image in data.images] == [(4, 5), (4, 5), (4, 5), (4, 5, 3)]


def test_bad_image_is_raised_or_skipped(pets):
    bad = pets / "cat" / "bad.png"
    bad.write_text("no image")
    with pytest.raises(ImageError, match=r"bad\.png"):
        read_class_folder(pets)
    data = read_class_folder(pets, on_error="skip")
    assert data.labels.tolist() == ["cat", "cat", "dog"]
    [(path, reason)] = data.skipped
    assert path == bad
    assert "is not a PNG" in reason


def test_images_in_sub_folders_of_a_class_belong_to_it(pets):
    write(pets / "dog" / "old" / "2019" / "1.png", value=30)
    data = read_class_folder(pets)
    assert data.labels.tolist() == ["cat", "cat", "dog", "dog"]
    assert [path.name for path in data.paths] == ["a.bmp", "b.png", "2.png", "1.png"]


LEFT_OUT = {
    "outside the classes": ("loose.png", b"", "lies in no class folder"),
    "another format": ("cat/1.HEIC", b"", "is a .heic file, which is not read. Convert it"),
    "another suffix": (
        "cat/1.jfif",
        b"\xff\xd8\xff\xe0",
        "is a JPEG image, but its name does not end in .jpg or .jpeg",
    ),
    "no suffix": ("dog/scan", b"\x89PNG\r\n", "is a PNG image, but its name does not end in .png. Rename it."),
    "deeper": ("dog/old/2.nef", b"", "is a .nef file"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_images_that_are_not_read_are_named(pets, name):
    path, content, words = LEFT_OUT[name]
    (pets / path).parent.mkdir(exist_ok=True)
    (pets / path).write_bytes(content)
    [(left_out, reason)] = read_class_folder(pets, on_error="skip").skipped
    assert left_out == pets / path
    assert words in reason
    assert str(left_out) in reason
    with pytest.raises(ImageError) as caught:
        read_class_folder(pets)
    assert str(caught.value) == reason


@pytest.mark.parametrize("content", [b"RIFF....WAVE", b"BM is how this note begins", b"", b"II"])
def test_other_files_are_no_images(pets, content):
    (pets / "cat" / "file").write_bytes(content)
    assert read_class_folder(pets).skipped == []


@pytest.fixture
def locked(monkeypatch):
    """Make a folder unreadable, also for a superuser."""
    from pathlib import Path

    iterdir, folders = Path.iterdir, []

    def refuse(path):
        if path in folders:
            raise PermissionError(13, "Permission denied")
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    return folders


def test_unreadable_sub_folder_is_named(pets, locked):
    write(pets / "dog" / "old" / "1.png")
    locked.append(pets / "dog" / "old")
    [(path, reason)] = read_class_folder(pets, on_error="skip").skipped
    assert path == pets / "dog" / "old"
    assert reason == f"folder '{path}' cannot be read (Permission denied). Check its permissions."
    with pytest.raises(ImageError, match="cannot be read"):
        read_class_folder(pets)


def test_links_to_folders_are_named_and_not_followed(pets):
    (pets / "dog" / "round").symlink_to(pets / "dog")
    [(path, reason)] = list_images(pets / "dog", recursive=True).left_out
    assert path.name == "round"
    assert "is a link" in reason


def test_sub_folders_that_are_not_read_are_named_if_they_hold_images(pets):
    (pets / "empty").mkdir()
    assert [path.name for path, _ in list_images(pets).left_out] == ["cat", "dog"]
    assert list_images(pets, recursive=True).left_out == []


def test_class_of_unsupported_images_says_so(pets):
    (pets / "fish").mkdir()
    (pets / "fish" / "1.heic").touch()
    with pytest.raises(ImageError, match=r"fish' holds no images that are read: .*1\.heic' is a \.heic file"):
        read_class_folder(pets, on_error="skip")


def test_class_of_which_all_images_were_skipped(pets):
    (pets / "dog" / "2.png").write_text("no image")
    with pytest.raises(ImageError, match=r"dog.*no readable image"):
        read_class_folder(pets, on_error="skip")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda root: root / "none", "none' does not exist"),
        (lambda root: write(root / "a.png"), "a.png' is a file"),
        (lambda root: root, "is empty"),
        (lambda root: write(root / "a.png").parent, "no sub-folders"),
        (lambda root: write(root / "cat" / "a.png").parents[1], "one class only, 'cat'"),
        (lambda root: (write(root / "cat" / "a.png"), (root / "dog").mkdir(), root)[-1], "dog' holds no images"),
    ],
    ids=["missing", "file", "empty", "no sub-folders", "one class", "empty class"],
)
def test_bad_class_folders(tmp_path, make, words):
    with pytest.raises(ImageError, match=words) as caught:
        read_class_folder(make(tmp_path))
    assert "\n" not in str(caught.value)


def test_unknown_choices(pets):
    with pytest.raises(ValueError, match="on_error must be one of 'raise', 'skip'; got 'ignore'"):
        read_class_folder(pets, on_error="ignore")
    with pytest.raises(ValueError, match="rule must be one of"):
        read_class_folder(pets, shape=(3, 3), rule="squash")


def test_masks_are_paired_by_stem(tmp_path):
    for stem, value in [("b", 2), ("a", 1), ("without_image", 9)]:
        write(tmp_path / "masks" / f"{stem}.png", value=value)
    for stem in "ab":
        write(tmp_path / "cells" / f"{stem}.jpg", shape=(6, 8, 3))
    (tmp_path / "cells" / "Thumbs.db").touch()
    (tmp_path / "cells" / "c.czi").touch()
    data = read_mask_folder(tmp_path / "cells", tmp_path / "masks")
    assert [path.name for path, _ in data.skipped] == ["c.czi"]
    assert [path.name for path in data.paths] == ["a.jpg", "b.jpg"]
    assert [np.unique(mask).tolist() for mask in data.masks] == [[1], [2]]
    np.testing.assert_array_equal(data.images[0], read_image(tmp_path / "cells" / "a.jpg"))


def test_image_without_mask(tmp_path):
    write(tmp_path / "cells" / "a.png")
    write(tmp_path / "masks" / "a_mask.png")
    with pytest.raises(ImageError, match=r"cells/a\.png' has no mask 'a\.\*' in '.*masks'"):
        read_mask_folder(tmp_path / "cells", tmp_path / "masks")


def test_mask_of_other_size(tmp_path):
    write(tmp_path / "cells" / "a.png", shape=(6, 8))
    write(tmp_path / "masks" / "a.tif", shape=(8, 6))
    with pytest.raises(ImageError, match=r"masks/a\.tif' is 8 x 6, but its image '.*cells/a\.png' is 6 x 8"):
        read_mask_folder(tmp_path / "cells", tmp_path / "masks")


def test_nothing_to_read_and_ambiguous_stems(tmp_path):
    (tmp_path / "cells").mkdir()
    with pytest.raises(ImageError, match="cells' holds no images"):
        read_mask_folder(tmp_path / "cells", tmp_path / "cells")
    write(tmp_path / "cells" / "a.png")
    write(tmp_path / "cells" / "a.bmp")
    with pytest.raises(ImageError, match=r"a\.bmp' and .*a\.png' share a stem"):
        read_mask_folder(tmp_path / "cells", tmp_path / "cells")


def test_pages_of_stacks_count_as_images(tmp_path):
    for folder in ("cells", "masks"):
        (tmp_path / folder).mkdir()
    image, mask = (
        np.zeros((3, 6, 8), np.uint8),
        np.arange(3, dtype=np.uint8)[:, None, None] + np.zeros((6, 8), np.uint8),
    )
    tifffile.imwrite(tmp_path / "cells" / "a.tif", image, photometric="minisblack")
    tifffile.imwrite(tmp_path / "masks" / "a.tif", mask, photometric="minisblack")
    data = read_mask_folder(tmp_path / "cells", tmp_path / "masks")
    assert [int(page.max()) for page in data.masks] == [0, 1, 2]
    assert data.paths == [tmp_path / "cells" / "a.tif"] * 3
    tifffile.imwrite(tmp_path / "masks" / "a.tif", mask[:2], photometric="minisblack")
    with pytest.raises(ImageError, match=r"masks/a\.tif' has 2 pages, but its image '.*cells/a\.tif' has 3"):
        read_masked_stack(tmp_path / "cells" / "a.tif", tmp_path / "masks" / "a.tif")


def test_large_images_of_a_folder_are_made_smaller(tmp_path):
    for name, shape in (("cat", (30, 60)), ("dog", (5, 6))):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "1.png", shape=shape)
    assert [image.shape for image in read_class_folder(tmp_path, max_side=20).images] == [(10, 20), (5, 6)]
