"""Figures of predictions: reliability diagrams, and what changes the predictions."""

import numpy as np

from invariance.methods.evaluation import measure_reliability
from invariance.report.evaluation_figures import reliability_figure, response_figure
from invariance.report.explanation.changes import list_changes, respond
from invariance.report.members import describe_member
from tests.report.drawing import assert_nothing_is_cut_off


class Brightness:
    """Predicts "light" with the mean of an image as its probability."""

    classes_ = np.array(["dark", "light"])

    def predict_proba(self, images):
        means = np.array([np.mean(image) for image in images])
        return np.stack([1 - means, means], axis=1)


def test_the_reliability_diagram_shows_accuracy_and_counts():
    reliability = measure_reliability(np.array([0.55, 0.56, 0.95, 0.95]), np.array([True, False, True, True]))
    figure = reliability_figure(reliability)
    assert_nothing_is_cut_off(figure)
    above, below = figure.axes
    assert above.patches[5].get_height() == 0.5
    assert above.patches[9].get_height() == 1
    assert [bar.get_height() for bar in below.patches] == reliability.counts.tolist()


def test_the_thick_line_is_the_mean_in_the_order_of_degrees():
    probabilities = np.array([[0.9, 0.1, 0.5], [0.7, 0.3, 0.5]])
    *_, mean = response_figure(np.array([0, -10, 10]), probabilities, "degrees", (-10, 0, 10)).axes[0].lines
    np.testing.assert_array_equal(mean.get_xdata(), [-10, 0, 10])
    np.testing.assert_allclose(mean.get_ydata(), [0.2, 0.8, 0.5])


def test_degrees_are_those_of_the_members():
    rotated, shifted, scaled, darkened = list_changes(40)
    for change in (rotated, shifted, scaled, darkened):
        members = change.phi.members((40, 40))
        assert len(members) == len(change.degrees)
        assert members[0] == ()
        assert min(change.degrees) >= min(change.ticks) - 0.01
        assert max(change.degrees) <= max(change.ticks) + 0.01
    words = [describe_member(member).replace("−", "-") for member in rotated.phi.members((40, 40))]
    assert words[1:] == [f"rotated {degrees:.3g}°".replace("-180", "180") for degrees in rotated.degrees[1:]]
    words = [describe_member(member) for member in shifted.phi.members((40, 40))]
    sides = [f"shifted {abs(d) * 0.4:.3g} {'right' if d > 0 else 'left'}" for d in shifted.degrees[1:]]
    assert words[1:] == sides
    words = [describe_member(member) for member in scaled.phi.members((40, 40))]
    assert words[1:] == [f"scaled {factor:.3g}" for factor in scaled.degrees[1:]]
    exponents = [member[0].parameters[0] for member in darkened.phi.members((40, 40))[1:]]
    np.testing.assert_allclose(exponents, darkened.degrees[1:])


def test_a_classifier_of_brightness_depends_on_brightness_only():
    images = np.stack([np.full((6, 6), value, np.float32) for value in (0.3, 0.6)])
    rotated, shifted, _, darkened = respond(Brightness(), images, np.array([0, 1]), list_changes(6))
    for response in (rotated, shifted):
        np.testing.assert_allclose(
            response.probabilities, np.array([[0.7], [0.6]]).repeat(response.probabilities.shape[1], 1), atol=1e-5
        )
        assert response.profile.ratio < 1e-4
    assert darkened.profile.ratio > 0.3
    assert darkened.is_right[:, 0].all()
    assert not darkened.is_right.all()
