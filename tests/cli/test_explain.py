"""The report about a model: every method has one, with images and without, and it says what is true."""

import json
import re
from html import unescape

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from invariance import models
from invariance.cli import main
from invariance.datasets import make_membranes
from invariance.methods import ImageClassifier, evaluate, get_method, get_methods, method_names, read_images
from invariance.report.explanation import changes, explain, explain_evaluated
from invariance.report.explanation.source_code import write_out
from invariance.segmentation import JungleSegmenter
from invariance.tangents import TangentDistance
from invariance.tradeoff import ImageKernel, TradeoffClassifier
from invariance.transformations import Identity, Rotations, Shifts

NAMES = ("across", "down", "slanted")
SECTIONS = ("Accuracy", "Examples", "Calibration", "What changes its predictions")
METHODS = method_names()
SHOWN_WITH_IMAGES = {
    "jungle": "with the maximum response",
    "codebook": "large weight for class",
    "hierarchy": "template of the last layer with the largest weight",
    "tangent": "orange frame",
    "landmarks": "The images beside it are landmarks",
    "texture": "orange frame",
    "objects": "orange frame",
    "tradeoff": "kernels by their mean share",
    "encoder": "describes every image by 1280 values",
    "photos": "Shares of the network and of the kinds of words",
}


def stripes(n_each, seed, side=24):
    """Images of noisy stripes in three directions, and their names."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    ways = {"across": y, "down": x, "slanted": (x + y) * 0.7}
    labels = np.repeat(NAMES, n_each)
    photos = [
        0.5 + 0.35 * np.sin(ways[name] * 1.2 + rng.uniform(0, 6)) + rng.normal(0, 0.1, x.shape) for name in labels
    ]
    return [np.clip(photo, 0, 1).astype(np.float32) for photo in photos], labels


def few_kernels(plan, facts, common, encoder=None):
    """A trade-off that is fitted in no time."""
    kernels = [
        ImageKernel(TangentDistance(set_), 16, name) for set_, name in ((Identity(), "pixels"), (None, "tangents"))
    ]
    return TradeoffClassifier(kernels, "ova", sigma="cv", probability=True, **common)


@pytest.fixture(autouse=True)
def _change_few_images(monkeypatch):
    monkeypatch.setattr(changes, "N_IMAGES", 2)


@pytest.fixture(scope="module")
def fitted():
    """A model of every method."""
    task, large_task = stripes(12, 0), stripes(4, 0, side=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(get_method("tradeoff"), "make", few_kernels, raising=False)
        return {
            method.name: ImageClassifier(method.name, n_jobs=1, random_state=0).fit(
                *(large_task if method.min_side > 1 else task)
            )
            for method in get_methods()
        }


@pytest.fixture(scope="module")
def segmenter():
    data = make_membranes(1, (64, 64))
    small = {"max_pixels": 300, "patch_size": 9, "n_trees": 5, "n_rounds": 1, "max_depth": 2}
    return JungleSegmenter(**small, n_jobs=1, random_state=0).fit(list(data.images), list(data.masks.astype(np.uint8)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with labelled images."""
    monkeypatch.chdir(tmp_path)
    for number, (photo, label) in enumerate(zip(*stripes(4, 1), strict=True)):
        (tmp_path / "images" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(255 * photo).astype(np.uint8)).save(tmp_path / "images" / label / f"{number}.png")
    return tmp_path


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_explained_with_images(method, fitted):
    page = explain(fitted[method], *stripes(4, 1)).to_html()
    for heading in (*SECTIONS, "What does not matter to it", "What was learned", "Reproduce it"):
        assert f">{heading}</h2>" in page
    assert SHOWN_WITH_IMAGES[method] in page
    assert f"<td>method</td><td>&#x27;{method}&#x27;</td>" in page
    assert len(page) < 6_000_000


@pytest.mark.parametrize("method", METHODS)
def test_without_images_the_report_says_how_to_get_the_rest(method, fitted):
    page = explain(fitted[method]).to_html()
    assert "--data FOLDER" in page
    assert "What was learned" in page
    assert not any(f">{heading}</h2>" in page for heading in SECTIONS)


def test_the_same_evaluation_and_seed_give_the_same_page(fitted):
    evaluation = evaluate(fitted["tradeoff"], *stripes(4, 1))
    pages = [explain_evaluated(fitted["tradeoff"], evaluation, random_state=seed).to_html() for seed in (3, 3)]
    assert pages[0] == pages[1]


def test_wrong_evaluation_are_shown_the_surest_first(fitted):
    photos, labels = stripes(4, 1)
    moved = np.roll(labels, 4)  # every label is wrong
    evaluation = evaluate(fitted["tradeoff"], photos, moved)
    page = explain_evaluated(fitted["tradeoff"], evaluation).to_html()
    assert "No prediction is correct." in page
    shown = re.findall(r"<span>predicted (\w+), (\d+)%</span><span>is (\w+)</span>", page)
    assert len(shown) == 12
    assert all(predicted != true for predicted, _, true in shown)
    sure = [int(percent) for _, percent, _ in shown]
    assert sure == sorted(sure, reverse=True)


def test_a_jungle_without_filters_is_explained():
    same = [np.full((24, 24), 0.5, np.float32)] * 8
    classifier = ImageClassifier("jungle", n_jobs=1, random_state=0).fit(same, np.arange(8) % 2)
    assert not any((dag.feature >= 0).any() for dag in classifier.model_.dags_)
    assert "no filter was found" in explain(classifier).to_html()


def test_the_lines_to_repeat_it_make_the_same_model(folder):
    photos, labels = read_images("images")[:2]
    phi = Rotations(3, limit=10) * Shifts(1)
    classifier = ImageClassifier("texture", phi, n_jobs=1, random_state=7).fit(photos, labels)
    lines = unescape(re.search(r"<code>(.*)</code>", explain(classifier).to_html(), re.DOTALL)[1])
    made = {}
    exec(lines.replace("FOLDER/", "").replace("FOLDER", "images"), made)
    np.testing.assert_array_equal(made["classifier"].predict_proba(photos), classifier.predict_proba(photos))
    assert repr(made["classifier"].transformations) == repr(phi)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (LogisticRegression(n_jobs=3), "LogisticRegression()"),
        (ImageClassifier("jungle", Shifts(2) * Rotations(4), n_jobs=2), None),
        (TangentDistance(Rotations(3) | Shifts(1)), "TangentDistance(transformations=Rotations(n=3) | Shifts())"),
        (make_pipeline(LogisticRegression(C=2)), None),
    ],
    ids=["threads", "product", "union", "list of tuples"],
)
def test_estimators_are_written_as_the_python_that_makes_them(value, text):
    written = write_out(value)
    assert text in (None, written)
    assert "n_jobs" not in written
    names = (LogisticRegression, ImageClassifier, Pipeline, Rotations, Shifts, TangentDistance)
    assert write_out(eval(written, {kind.__name__: kind for kind in names})) == written


def test_images_and_labels_come_together(fitted):
    with pytest.raises(ValueError, match="together"):
        explain(fitted["tradeoff"], stripes(1, 0)[0])


def test_other_models_are_refused():
    with pytest.raises(ValueError, match=r"LogisticRegression cannot be explained.*invariance fit"):
        explain(LogisticRegression())


def test_a_segmenter_is_explained(segmenter):
    image = make_membranes(1, (40, 50), random_state=3).images[0]
    alone, page = explain(segmenter).to_html(), explain(segmenter, [image]).to_html()
    assert "--data FOLDER" in alone
    assert "each beside its labels" in page
    assert page.count("data:image/png") == 2 + 2  # the colours, the image and its labels
    share = segmenter.predict(image).mean()
    assert f"1 {share:.0%}" in page


def test_the_command_writes_the_report_and_prints_the_figures(fitted, folder, capsys):
    models.save(fitted["tradeoff"], "m.inv")
    (folder / "images" / "down" / "broken.png").write_text("no image")
    assert main(["explain", "m.inv", "--data", "images", "-o", "r.html", "--json", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    figures = json.loads(out)
    assert err.count("broken.png") == 1
    assert figures["n_images"] == 12
    assert figures["accuracy"] == np.trace(figures["confusion"]) / 12
    assert figures["interval"][0] < figures["accuracy"] <= figures["interval"][1]
    assert [entry["path"] for entry in figures["skipped"]] == ["images/down/broken.png"]
    page = (folder / "r.html").read_text()
    assert f"{figures['accuracy']:.1%}" in page
    assert "invariance explain m.inv -o r.html --seed 0 --data images" in page
    assert models.describe("m.inv")["sha256"] in page
    assert main(["explain", "m.inv", "-o", "alone.html"]) == 0
    assert capsys.readouterr().out == f"Report: {folder / 'alone.html'}\n"


def test_the_command_explains_a_segmenter(segmenter, folder, capsys):
    models.save(segmenter, "s.inv")
    (folder / "sections").mkdir()
    Image.fromarray(np.zeros((30, 30), np.uint8)).save("sections/a.png")
    assert main(["explain", "s.inv", "--data", "sections", "-o", "r.html"]) == 0
    assert "Images, each beside its labels" in (folder / "r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["m.inv", "-o", "r.docx"], "r.docx"),
        (["m.inv", "-o", "no/r.html"], "'no'"),
        (["missing.inv", "-o", "r.html"], "missing.inv"),
        (["m.inv", "--data", "missing", "-o", "r.html"], "missing"),
        (["m.inv", "--data", "other", "-o", "r.html"], "'sideways'"),
        (["svm.inv", "-o", "r.html"], "LogisticRegression"),
        (["broken.inv", "-o", "r.html"], "broken.inv"),
    ],
)
def test_mistakes_end_in_one_line_and_write_nothing(arguments, named, fitted, folder, capfd):
    models.save(fitted["tradeoff"], "m.inv")
    models.save(LogisticRegression().fit([[0], [1]], [0, 1]), "svm.inv")
    (folder / "broken.inv").write_bytes(b"PK not a zip")
    (folder / "other" / "sideways").mkdir(parents=True)
    Image.fromarray(np.zeros((30, 30), np.uint8)).save("other/sideways/a.png")
    assert main(["explain", *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"Error: .*\n", err)
    assert named in err
    assert not list(folder.glob("r.*"))
