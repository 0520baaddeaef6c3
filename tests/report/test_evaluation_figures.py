"""Evaluations, reliability, what changes predictions, and the parts of a page that show it."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from invariance.methods.evaluation import Evaluation, evaluate, measure_reliability
from invariance.report import Report
from invariance.report.evaluation_figures import reliability_figure, response_figure
from invariance.report.explanation.changes import list_changes, respond
from invariance.report.members import describe_member

NASTY = '<b>&"'


class Brightness:
    """Says "light" with the mean of an image as its probability."""

    classes_ = np.array(["dark", "light"])

    def predict_proba(self, photos):
        means = np.array([np.mean(photo) for photo in photos])
        return np.stack([1 - means, means], axis=1)


def flat(*values):
    return [np.full((6, 6), value, np.float32) for value in values]


def made_evaluation(codes, given, n_classes):
    probabilities = np.full((len(codes), n_classes), 0.1 / (n_classes - 1))
    probabilities[np.arange(len(codes)), given] = 0.9
    return Evaluation(flat(*np.zeros(len(codes))), np.array(codes), probabilities, np.arange(n_classes), 2.0)


def test_evaluation_are_counted():
    evaluation = evaluate(Brightness(), flat(0.1, 0.2, 0.7, 0.9), ["dark", "light", "light", "light"])
    np.testing.assert_array_equal(evaluation.predicted, [0, 0, 1, 1])
    np.testing.assert_array_equal(evaluation.is_right, [True, False, True, True])
    assert evaluation.accuracy == 0.75
    np.testing.assert_array_equal(evaluation.confusion, [[1, 0], [1, 2]])
    assert evaluation.seconds > 0
    assert evaluation.image_seconds == evaluation.seconds / 4


def test_the_interval_is_wilsons():
    evaluation = made_evaluation([0] * 10, [0] * 8 + [1] * 2, 2)
    np.testing.assert_allclose(evaluation.interval, (0.4901625, 0.9433178), atol=1e-6)


def test_a_class_that_was_not_learned_is_named():
    with pytest.raises(ValueError, match=r"not learned 'grey' and 1 other classes; it knows 'dark', 'light'"):
        evaluate(Brightness(), flat(0, 0, 1), ["light", "pink", "grey"])


def test_labels_must_be_as_many_as_images():
    with pytest.raises(ValueError, match="one for each of 2 images"):
        evaluate(Brightness(), flat(0, 1), ["dark"])
    with pytest.raises(ValueError, match="0 images"):
        evaluate(Brightness(), [], [])


def test_reliability_of_honest_and_of_boastful_evaluation():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 1, 20_000)
    honest = measure_reliability(confidence, rng.random(20_000) < confidence)
    assert honest.error < 0.02
    assert honest.counts.sum() == 20_000
    assert np.isnan(honest.accuracy[:3]).all()
    boastful = measure_reliability(np.ones(10), np.arange(10) < 5)
    assert boastful.error == 0.5
    assert boastful.counts[-1] == 10


def test_the_reliability_diagram_shows_shares_and_counts():
    reliability = measure_reliability(np.array([0.55, 0.56, 0.95, 0.95]), np.array([True, False, True, True]))
    above, below = reliability_figure(reliability).axes
    assert above.patches[5].get_height() == 0.5
    assert above.patches[9].get_height() == 1
    assert [bar.get_height() for bar in below.patches] == reliability.counts.tolist()


def test_the_thick_line_is_the_mean_in_the_order_of_degrees():
    probabilities = np.array([[0.9, 0.1, 0.5], [0.7, 0.3, 0.5]])
    *_, mean = response_figure(np.array([0, -10, 10]), probabilities, "degrees", (-10, 0, 10)).axes[0].lines
    np.testing.assert_array_equal(mean.get_xdata(), [-10, 0, 10])
    np.testing.assert_allclose(mean.get_ydata(), [0.2, 0.8, 0.5])


def test_degrees_are_those_of_the_members():
    turned, shifted, scaled, lit = list_changes(40)
    for change in (turned, shifted, scaled, lit):
        members = change.phi.members((40, 40))
        assert len(members) == len(change.degrees)
        assert members[0] == ()
        assert min(change.degrees) >= min(change.ticks) - 0.01
        assert max(change.degrees) <= max(change.ticks) + 0.01
    words = [describe_member(member).replace("−", "-") for member in turned.phi.members((40, 40))]
    assert words[1:] == [f"turned {degrees:.3g}°".replace("-180", "180") for degrees in turned.degrees[1:]]
    words = [describe_member(member) for member in shifted.phi.members((40, 40))]
    sides = [f"shifted {abs(d) * 0.4:.3g} {'right' if d > 0 else 'left'}" for d in shifted.degrees[1:]]
    assert words[1:] == sides
    words = [describe_member(member) for member in scaled.phi.members((40, 40))]
    assert words[1:] == [f"scaled {factor:.3g}" for factor in scaled.degrees[1:]]
    exponents = [member[0].parameters[0] for member in lit.phi.members((40, 40))[1:]]
    np.testing.assert_allclose(exponents, lit.degrees[1:])


def test_a_classifier_of_brightness_minds_the_light_alone():
    images = np.stack(flat(0.3, 0.6))
    turned, shifted, _, lit = respond(Brightness(), images, np.array([0, 1]), list_changes(6))
    for response in (turned, shifted):
        np.testing.assert_allclose(
            response.probabilities, np.array([[0.7], [0.6]]).repeat(response.probabilities.shape[1], 1), atol=1e-5
        )
        assert response.profile.ratio < 1e-4
    assert lit.profile.ratio > 0.3
    assert lit.is_right[:, 0].all()
    assert not lit.is_right.all()


def images_of(report):
    """The images of a page as (kind, array)."""
    parts = report.to_html().split('src="data:image/')[1:]
    found = []
    for part in parts:
        kind, _, rest = part.partition(";base64,")
        found.append((kind, np.asarray(Image.open(io.BytesIO(base64.b64decode(rest.partition('"')[0]))))))
    return found


def test_small_images_keep_every_pixel_and_large_ones_are_shrunk():
    rng = np.random.default_rng(0)
    small, large = rng.integers(0, 256, (9, 12), dtype=np.uint8), rng.random((300, 600, 3)).astype(np.float32)
    (png, first), (jpeg, second) = images_of(Report("t").images([small, large], side=100))
    assert (png, jpeg) == ("png", "jpeg")
    np.testing.assert_array_equal(first, small)
    assert second.shape == (100, 200, 3)


@pytest.mark.parametrize(("channels", "shown"), [(1, ()), (2, ()), (3, (3,)), (4, (3,)), (5, ())])
def test_any_number_of_channels_can_be_shown(channels, shown):
    image = np.full((5, 5, channels), 0.5, np.float32)
    assert images_of(Report("t").images([image]))[0][1].shape == (5, 5, *shown)


def test_titles_are_escaped_and_frames_coloured():
    page = Report("t").images(flat(0, 1), [f"{NASTY}\nbelow", ""], NASTY, ["#c0392b", None]).to_html()
    assert "<b>" not in page
    assert page.count("border-color: #c0392b") == 1
    assert "<span>below</span>" in page
    with pytest.raises(ValueError, match="zip"):
        Report("t").images(flat(0, 1), ["one"])


def test_code_is_shown_as_it_is():
    assert '<pre class="scroll"><code>a = &lt;b&gt;\n  c</code></pre>' in Report("t").code("a = <b>\n  c").to_html()


def test_many_sections_are_listed_at_the_beginning():
    few, many = Report("t"), Report("t")
    for number in range(4):
        many.section(f"part {number}")
        if number < 3:
            few.section(f"part {number}")
    assert "<nav>" not in few.to_html()
    page = many.to_html()
    assert '<a href="#section-4">part 3</a>' in page
    assert '<a id="section-4"></a>\n<h2>part 3</h2>' in page


def test_shares_are_aligned_as_numbers_are():
    page = Report("t").table(("a", "b"), [("x%", "12.5%"), ("7", "3%")]).to_html()
    assert '<td class="number">12.5%</td>' in page
    assert "<td>x%</td>" in page
    assert "<td>7</td>" in page
