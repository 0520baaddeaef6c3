"""`invariance evaluate-pixels`: what it prints and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.cli import main
from invariance.datasets import make_membranes
from invariance.methods import ImageClassifier
from invariance.models import load, save
from invariance.segmentation import JungleSegmenter, segmentation_scores


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A model `m.inv` of classes 1 and 2 with 0 unlabelled; two images and masks, as files and as stacks."""
    root = tmp_path_factory.mktemp("world")
    sections = make_membranes(3, (64, 64), random_state=0)
    images = np.rint(255 * sections.images / sections.images.max()).astype(np.uint8)
    masks = np.where(sections.masks, 1, 2).astype(np.uint8)
    masks[:, :8] = 0
    segmenter = JungleSegmenter(patch_size=9, n_rounds=1, n_trees=20, unlabelled=0, random_state=0)
    save(segmenter.fit(images[:1], masks[:1]), root / "m.inv")
    for number in (1, 2):
        write(root / "images" / f"{number}.png", images[number])
        write(root / "masks" / f"{number}.png", masks[number])
        write(root / "other" / f"{number}.png", np.where(masks[number] == 1, 3, masks[number]))
        write(root / "sizes" / f"{number}.png", images[number][: 60 + number])
        write(root / "size masks" / f"{number}.png", masks[number][: 60 + number])
        write(root / "empty" / f"{number}.png", 0 * masks[number])
        write(root / "colours" / f"{number}.png", np.stack([images[number]] * 3, axis=2))
    tifffile.imwrite(root / "stack.tif", images[1:])
    tifffile.imwrite(root / "labels.tif", masks[1:])
    return root


def write(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture(autouse=True)
def _inside(world, monkeypatch):
    monkeypatch.chdir(world)


def run(capsys, *arguments):
    code = main(["evaluate-pixels", "m.inv", *arguments])
    return code, *capsys.readouterr()


def test_json_has_the_scores_of_the_predictions(capsys):
    code, out, _ = run(capsys, "stack.tif", "labels.tif", "--json", "--boundary", "1")
    found = json.loads(out)
    images, masks = tifffile.imread("stack.tif"), tifffile.imread("labels.tif")
    probabilities = load("m.inv").predict_proba(images)
    predicted, counted = probabilities.argmax(axis=3) + 1, masks != 0
    assert code == 0
    assert found["n_pixels"] == counted.sum()
    assert found["accuracy"] == pytest.approx((predicted == masks)[counted].mean())
    assert [image["accuracy"] for image in found["images"]] == pytest.approx(
        [(predicted[k] == masks[k])[counted[k]].mean() for k in range(2)]
    )
    assert [image["image"] for image in found["images"]] == ["stack.tif (1)", "stack.tif (2)"]
    regions = segmentation_scores(probabilities[..., 0], masks == 1, labelled=counted)
    assert found["regions"]["best_threshold"] == pytest.approx(regions._asdict())
    of_labels = segmentation_scores(predicted == 1, masks == 1, thresholds=[0.5], labelled=counted)
    assert found["regions"]["labels"] == pytest.approx(of_labels._asdict())


def test_files_are_the_same_as_the_stack_and_are_named(capsys):
    stack = json.loads(run(capsys, "stack.tif", "labels.tif", "--json")[1])
    files = json.loads(run(capsys, "images", "masks", "--json")[1])
    assert files["confusion"] == stack["confusion"]
    assert files["regions"] == {"labels": None, "best_threshold": None}
    assert {image["image"] for image in files["images"]} == {"images/1.png", "images/2.png"}


def test_it_prints_classes_confusions_and_the_worst_images_first(capsys):
    code, out, _ = run(capsys, "images", "masks", "--boundary", "1")
    assert code == 0
    found = json.loads(run(capsys, "images", "masks", "--json")[1])
    assert f"Accuracy:          {found['accuracy']:.1%} of {found['n_pixels']:,} labelled pixels of 2 images" in out
    worst = min(found["images"], key=lambda image: image["accuracy"])
    assert out.splitlines()[out.splitlines().index("Images") + 2].startswith(worst["image"])
    for figures in found["classes"]:
        row = f"{figures['recall']:.1%} {figures['precision']:.1%} {figures['f']:.1%} {figures['iou']:.1%}"
        assert any(" ".join(line.split()).endswith(row) for line in out.splitlines())
    assert "V_rand" in out


def test_another_value_may_be_unlabelled(capsys):
    masks = [np.asarray(Image.open(f"masks/{number}.png")) for number in (1, 2)]
    for number, mask in zip((1, 2), masks, strict=True):
        write(Path(f"marked/{number}.png"), np.where((mask == 0) & (np.arange(64) < 32), 9, mask))  # 9 and 0
    found = json.loads(run(capsys, "images", "marked", "--unlabelled", "9", "--json")[1])
    assert found["n_pixels"] == sum((mask != 0).sum() for mask in masks)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["images", "other"], "mask of 'images/1.png' has pixels of 3, which the model does not know; it knows 1, 2"),
        (["images", "images"], "Are images and masks swapped?"),
        (["images", "masks", "--boundary", "1", "--unlabelled", "1"], "--boundary 1 needs masks with pixels of it"),
        (["images", "masks", "--boundary", "3"], "--boundary must be a class of the model, one of 1, 2; got 3."),
        (["sizes", "size masks", "--boundary", "1"], "images of one size"),
        (["images", "empty"], "no pixel is labelled"),
        (["colours", "masks"], "image 'colours/1.png' has 3 channels, but the model was trained on 1"),
        (["images", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_named_in_one_line(arguments, message, capsys):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_model_of_whole_images_is_sent_to_evaluate(world, capsys):
    images = np.random.default_rng(0).random((8, 16, 16), np.float32)
    save(ImageClassifier("jungle", random_state=0).fit(list(images), [0, 1] * 4), world / "whole.inv")
    assert main(["evaluate-pixels", "whole.inv", "images", "masks"]) == 2
    assert "does not label pixels" in capsys.readouterr().err
