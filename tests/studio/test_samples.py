"""Sample images: made once, never again over somebody's work, and ready to learn from."""

import numpy as np
import pytest

pytest.importorskip("starlette")

from invariance import datasets
from invariance.segmentation import LiveSegmenter, View
from invariance.studio import samples
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.sources import Sources


@pytest.fixture(scope="module")
def truth():
    """The masks of the stack."""
    return datasets.make_membranes(samples.N_PAGES, (samples.SIDE,) * 2, random_state=samples.SEED).masks


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The project of the samples, its images, and what is painted on them."""
    folder = samples.make_samples(tmp_path_factory.mktemp("cache") / "samples")
    project = Project(folder)
    sources = Sources(project)
    yield project, sources, Painting(project, sources)
    project.close()


def test_all_samples_are_readable_and_of_one_kind(opened):
    _, sources, _ = opened
    images = sources.images()
    assert len(images) > 40
    assert {image.n_channels for image in images} == {1}
    assert all(image.error is None for image in images)
    assert images[0].name == samples.STACK  # shown first, as it has strokes
    assert images[0].n_pages == samples.N_PAGES


def test_strokes_are_right_and_of_two_named_classes(opened, truth):
    project, sources, painting = opened
    assert [one.name for one in project.classes("pixels")] == ["cell", "membrane"]
    for page in samples.STROKES_PER_PAGE:
        labels = painting.labels_of(sources.images()[0].id, page, "labels")
        painted = labels > 0
        is_right = (labels == samples.MEMBRANE) == truth[page]
        assert painted.sum() > 500
        assert is_right[painted].mean() > 0.9
        assert {1, 2} <= set(np.unique(labels))


def test_a_quick_model_of_the_strokes_finds_membranes(opened, truth):
    _, sources, painting = opened
    stack = sources.images()[0].id
    with LiveSegmenter(refine=False, random_state=0) as live:
        numbers = {page: live.add_image(sources.read_page(stack, page)) for page in (0, 1, 3)}
        for step in painting.steps():
            for stroke in step.strokes:
                live.add_stroke(numbers[stroke.page], stroke.rows, stroke.cols, stroke.label)
        live.update()
        (tile, *_) = live.predict(View(numbers[1], 0, 0, 10, 10))  # a page without strokes
    found = tile.probabilities[..., 1] > 0.5
    part = truth[1, : found.shape[0], : found.shape[1]]
    assert 2 * (found & part).sum() / (found.sum() + part.sum()) > 0.6


def test_some_textures_are_labelled_and_the_rest_is_not(opened):
    project, sources, _ = opened
    labels = list(project.image_labels().values())
    numbers = [one.number for one in project.classes("images")]
    assert [labels.count(number) for number in numbers] == [samples.N_LABELLED] * 3
    assert len(labels) < sum(image.name.startswith("textures/") for image in sources.images())


def test_an_existing_folder_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("keep")
    assert samples.make_samples(tmp_path / "mine") == tmp_path / "mine"
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "note.txt"]


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "_write_images", lambda folder: (folder / "a.png").write_bytes(b""))
    monkeypatch.setattr(samples, "_write_project", lambda *args: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        samples.make_samples(tmp_path / "samples")
    assert list(tmp_path.iterdir()) == []
