"""Loaders of photographs with boxes, on small copies of the real layouts."""

import numpy as np
import pytest
from PIL import Image

from invariance import datasets
from invariance.codebooks import BagOfFeatures, ClusteringForest, RandomWindows
from invariance.datasets import DatasetMissing
from tests.datasets.make_objects import annotate, list_images, make_horses, make_voc


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATA", str(tmp_path))
    monkeypatch.setattr("invariance.datasets._sources.cache_folder", lambda: tmp_path / "cache")
    return tmp_path


def test_voc_images_have_the_label_of_their_set_and_the_boxes_of_their_objects(folder):
    make_voc(folder / "voc2005", n_each=2)
    voc = datasets.load_voc2005()
    assert voc.class_names == ("motorbikes", "bicycles", "people", "cars")
    assert len(voc) == 4 * 2 * 3  # train, val and test1, without the second archive
    assert set(voc.splits) == {"train", "val", "test1", *voc.class_names}
    assert [len(voc.splits[name]) for name in ("train", "val", "test1")] == [8, 8, 8]
    assert sorted(np.concatenate([voc.splits[name] for name in ("train", "val", "test1")])) == list(range(24))
    for label, name in enumerate(voc.class_names):
        rows = np.flatnonzero(voc.labels == label)
        assert set(rows) <= set(voc.splits[name])
        assert all(path.parent.name == voc.paths[rows[0]].parent.name for path in voc.take(rows).paths)
    # The bright object of an image is inside its box, to the pixel.
    for image, boxes in zip(voc.images, voc.boxes, strict=True):
        _, top, left, bottom, right = boxes[0]
        rows, columns = np.nonzero(image.mean(axis=2) > 0.5)
        assert (rows.min(), columns.min(), rows.max() + 1, columns.max() + 1) == (top, left, bottom, right)
    for mask, image in zip(voc.box_masks(), voc.images, strict=True):
        np.testing.assert_array_equal(mask, image.mean(axis=2) > 0.5)


def test_an_image_that_shows_two_classes_is_one_image_in_two_splits(folder):
    root = folder / "voc2005"
    make_voc(root, n_each=1)
    both = annotate(root, "TUGraz_bike", "both", [("PASbicycle", (2, 3, 9, 8)), ("PASpersonWalking", (10, 2, 15, 9)),
                                                  ("PAStree", (1, 1, 2, 2))])  # fmt: skip
    list_images(root, "bicycles", "train", [both])
    list_images(root, "people", "train", [both])
    voc = datasets.load_voc2005()
    [row] = np.flatnonzero([path.stem == "both" for path in voc.paths])
    assert voc.labels[row] == 1  # bicycles come before people
    assert row in voc.splits["bicycles"]
    assert row in voc.splits["people"]
    assert row not in voc.splits["cars"]
    assert voc.boxes[row].tolist() == [[1, 2, 1, 8, 9], [2, 1, 9, 9, 15]]  # without the tree
    assert voc.take([row]).boxes[0].tolist() == voc.boxes[row].tolist()
    assert np.argwhere(voc.take([row]).box_masks()[0]).tolist()[0] == [2, 1]  # of the bicycle alone


def test_the_second_test_set_is_there_with_its_archive(folder):
    make_voc(folder / "voc2005", n_each=1, with_second=True)
    voc = datasets.load_voc2005()
    assert len(voc.splits["test2"]) == 4
    assert all("VOC2005_2" in path.parts for path in voc.take("test2").paths)


def test_missing_parts_of_voc_are_named(folder):
    root = folder / "voc2005"
    make_voc(root, n_each=1)
    (root / "imgsets" / "imgset_VOCcars_val.txt").unlink()
    with pytest.raises(DatasetMissing, match="imgset_VOCcars_val.txt' is missing"):
        datasets.load_voc2005()
    list_images(root, "cars", "val", ["VOC2005_1/Annotations/Caltech_cars/nowhere.txt"])
    with pytest.raises(DatasetMissing, match="nowhere.txt' is missing, though an image set lists it"):
        datasets.load_voc2005()
    (root / "VOC2005_1" / "Annotations" / "Caltech_cars" / "nowhere.txt").write_text("nothing")
    with pytest.raises(ValueError, match="nowhere.txt' is not an annotation of the PASCAL format"):
        datasets.load_voc2005()


def test_horses_have_boxes_and_other_images_none(folder):
    make_horses(folder / "inria_horses", n_each=3)
    horses = datasets.load_inria_horses()
    assert horses.class_names == ("no horse", "horse")
    assert horses.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert [len(boxes) for boxes in horses.boxes] == [0, 0, 0, 1, 1, 1]
    masks = horses.box_masks()
    assert masks[0] is None
    for i in (3, 4, 5):
        np.testing.assert_array_equal(masks[i], horses.images[i].mean(axis=2) > 0.5)
    (folder / "inria_horses" / "pos" / "image-0_entires.groundtruth").unlink()
    with pytest.raises(DatasetMissing, match="image-0_entires.groundtruth' is missing"):
        datasets.load_inria_horses()


def test_words_are_learned_from_the_boxes(folder):
    make_horses(folder / "inria_horses", n_each=3)
    horses = datasets.load_inria_horses()
    bag = BagOfFeatures(ClusteringForest(1), sampler=RandomWindows(20, 20, max_scale=0.3), random_state=0)
    bag.fit(horses.images, horses.labels, horses.box_masks(), background=0)
    _, top, left, _, _ = horses.boxes[3][0]
    for image, place, share in ((3, (top + 2, left + 2), 1), (0, (5, 5), 0)):
        window = np.array([[*place, 6]])
        words = bag.codebook_.transform(bag.descriptor_.extract(horses.images[image], window)[0])
        assert bag.codebook_.posteriors_[words[0, 0], 1] == share


def test_data_without_boxes_have_no_masks_of_objects():
    with pytest.raises(ValueError, match="digits has no bounding boxes"):
        datasets.load_digits().box_masks()


def test_an_empty_folder_of_horses_is_named(folder):
    make_horses(folder / "inria_horses", n_each=1)
    Image.open(folder / "inria_horses" / "neg" / "other-0.jpg").close()
    (folder / "inria_horses" / "neg" / "other-0.jpg").unlink()
    with pytest.raises(ValueError, match="neg' contains no images"):
        datasets.load_inria_horses()
