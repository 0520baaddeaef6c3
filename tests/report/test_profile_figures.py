"""Figures of invariance profiles show what was measured."""

import numpy as np
import pytest

from invariance.report import profile_figure, save_figure
from invariance.transformations import InvarianceProfile
from tests.report.drawing import assert_nothing_is_cut_off

PROFILES = {
    "pixels": InvarianceProfile(np.linspace(1, 3, 20), np.linspace(2, 4, 50)),
    "responses": InvarianceProfile(np.zeros(5), np.array([1.0, 2.0, 3.0])),
}


@pytest.fixture
def figure():
    return profile_figure(PROFILES, "how invariant")


def test_every_profile_has_a_plot_of_its_quantiles(figure, tmp_path):
    *plots, _ = figure.axes
    assert len(plots) == 2
    for axes, (name, profile) in zip(plots, PROFILES.items(), strict=True):
        diagonal, points = axes.lines
        np.testing.assert_allclose(points.get_xdata(), profile.quantiles()[0])
        np.testing.assert_allclose(points.get_ydata(), profile.quantiles()[1])
        np.testing.assert_allclose(diagonal.get_xdata(), diagonal.get_ydata())
        assert axes.get_title() == f"{name}\nratio {profile.ratio:.2f}"
        assert axes.get_xlabel() == "within orbits"
        assert axes.get_xlim() == axes.get_ylim()
    assert plots[0].get_ylabel() == "between images"
    assert figure.get_suptitle() == "how invariant"
    save_figure(figure, tmp_path / "profile.png")
    assert (tmp_path / "profile.png").stat().st_size > 1000


def test_means_are_in_units_of_the_distance_between_images(figure):
    bars = figure.axes[-1]
    assert [label.get_text() for label in bars.get_yticklabels()] == ["pixels", "responses"]
    assert [text.get_text() for text in bars.get_legend().get_texts()] == ["within orbits", "between images"]
    means = [container.lines[0].get_xdata()[0] for container in bars.containers]
    np.testing.assert_allclose(means, [2 / 3, 1, 0, 1])
    caps = [container.lines[1] for container in bars.containers]
    spread = np.std(PROFILES["pixels"].within) / 3
    np.testing.assert_allclose([cap.get_xdata()[0] for cap in caps[0]], [2 / 3 - spread, 2 / 3 + spread])


def test_one_profile_is_enough_and_nothing_to_see_is_drawn_too():
    figure = profile_figure({"nothing": InvarianceProfile(np.zeros(3), np.zeros(3))})
    figure.draw_without_rendering()
    assert len(figure.axes) == 2
    assert figure.axes[0].get_title() == "nothing\nratio nan"


def test_nothing_is_cut_off(figure):
    assert_nothing_is_cut_off(figure)
