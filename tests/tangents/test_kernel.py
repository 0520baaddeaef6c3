"""The kernels of [Pozdnoukhov04] are its equations, and kernels."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from invariance.tangents import TangentVectorKernel, overlap, points
from invariance.transformations import Brightness, Custom, Identity, Rotations, Shifts
from tests import reference
from tests.tangents.toys import draw_smooth, rows_and_tangents

IMAGES, OTHERS = draw_smooth(6), draw_smooth(4, seed=1)
COLOURS = draw_smooth(4, (7, 8, 3))
WIDTHS = {"sigma": 6.0, "gamma_w": 9.0, "gamma_r": 7.0}
FORMS = {
    "product": {"form": "product"},
    "product, eta": {"form": "product", "eta": 0.4},
    "sum": {"form": "sum"},
    "distribution": {"form": "distribution"},
    "distribution, rho": {"form": "distribution", "rho": 1.7},
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
SETS = {"affine": None, "steps": Rotations(3, limit=15), "mixed": Shifts(1) | Brightness(3, limit=0.3)}


def literal(
    X, Y, form, sides, phi=None, method="auto", blur=0.8, eta=0.0, rho=0.5, sigma=6.0, gamma_w=9.0, gamma_r=7.0
):
    """The Gram matrix by the slow twins."""
    (rows, of_rows), (cols, of_cols) = (rows_and_tangents(images, phi, method, blur) for images in (X, Y))
    K = np.empty((len(rows), len(cols)))
    for i, j in np.ndindex(K.shape):
        x, y, of_x, of_y = rows[i], cols[j], of_rows[i], of_cols[j]
        if form == "distribution":
            twin, last = (reference.tangent_overlap_of_sums, eta) if eta else (reference.tangent_overlap_kernel, rho)
            K[i, j] = twin(x, y, of_x, of_y, sigma, gamma_w, last)
            continue
        kernel, widths = {
            "product": (reference.tangent_product_kernel, (sigma, gamma_w, eta)),
            "sum": (reference.tangent_sum_kernel, (sigma, gamma_w, gamma_r)),
        }[form]
        K[i, j] = (
            kernel(x, y, of_y, *widths) if sides == "one" else reference.two_sided(kernel, x, y, of_x, of_y, *widths)
        )
    return K


@every_form
@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize("phi", SETS.values(), ids=SETS.keys())
def test_it_is_the_equation_for_every_pair(form, sides, phi):
    method = "difference" if phi is SETS["steps"] else "auto"
    kernel = TangentVectorKernel(phi, sides=sides, method=method, **form, **WIDTHS)
    expected = literal(IMAGES, OTHERS, sides=sides, phi=phi, method=method, **form)
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), expected, rtol=1e-9)
    assert np.ptp(np.log(expected)) > 0.1


@every_form
def test_colours_are_one_long_row(form):
    np.testing.assert_allclose(
        TangentVectorKernel(**form, **WIDTHS)(COLOURS), literal(COLOURS, COLOURS, sides="two", **form), rtol=1e-9
    )


@every_form
@pytest.mark.parametrize("sides", ["one", "two"])
def test_without_tangents_it_is_the_gaussian_kernel(form, sides):
    kernel = TangentVectorKernel(Identity(), sides=sides, blur=0, sigma=5.0, **form).fit(IMAGES)
    # Two Gaussians of width sigma to the power rho overlap like one of width sigma √(2 / rho).
    width = 5.0 * np.sqrt(2 / form.get("rho", 0.5)) if form["form"] == "distribution" else 5.0
    expected = RBF(width)(IMAGES.reshape(6, -1), OTHERS.reshape(4, -1))
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), expected, rtol=1e-10)


def add(*vector):
    """A transformation of 1 x 2 images whose tangent by finite differences is known."""
    return lambda image: image + np.array(vector)


PLANE = {
    "one": (add(1.0, 0.4),),
    "orthogonal": (add(1.0, 0.0), add(0.0, 2.0)),
    "not orthogonal": (add(1.0, 0.3), add(0.8, 0.9)),
    "more than dimensions": (add(1.0, 0.3), add(0.8, 0.9), add(-0.2, 1.0)),
    "different at every point": (lambda image: image * [[1.4, 0.7]], lambda image: image[:, ::-1]),
}


@pytest.mark.parametrize(("rho", "eta"), [(0.5, 0.0), (1.0, 0.0), (2.3, 0.0), (1.0, 1e-3), (1.0, 0.4), (1.0, 1.0)])
@pytest.mark.parametrize("functions", PLANE.values(), ids=PLANE.keys())
def test_the_closed_form_is_the_integral(functions, rho, eta):
    """Eq. (12), and its counterpart with eta, against a sum over the plane of eq. (10), for images of two pixels."""
    images = np.array([[[0.3, -0.2]], [[1.1, 0.5]], [[-0.4, 0.9]]])
    phi, widths = Custom(functions), {"sigma": 1.1, "gamma_w": 0.8, "gamma_r": 1.0}
    kernel = TangentVectorKernel(phi, form="distribution", rho=rho, eta=eta, blur=0, **widths)
    rows, tangents = rows_and_tangents(images, phi, "difference", blur=0)
    overlaps = np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        pair = (rows[i], rows[j], tangents[i], tangents[j], 1.1, 0.8)
        overlaps[i, j] = reference.integrate_overlap(*pair, rho, eta)
        in_matrices = reference.log_overlap_of_sums(*pair, eta) if eta else reference.log_overlap(*pair, rho)
        assert np.log(overlaps[i, j]) == pytest.approx(in_matrices, abs=1e-6)
    own = np.sqrt(np.diag(overlaps))
    np.testing.assert_allclose(kernel(images), overlaps / np.outer(own, own), rtol=1e-6)
    without = TangentVectorKernel(phi, form="distribution", rho=rho, eta=1.0 - eta if eta else 0.0, blur=0, **widths)
    if eta not in (0.0, 1.0):
        assert np.abs(kernel(images) - without(images)).max() > 1e-3


class TestDistributionWithEta:
    form: ClassVar = {"form": "distribution", "rho": 1.0, "eta": 1e-3}

    @pytest.mark.parametrize("phi", [SETS["steps"], SETS["mixed"]], ids=["steps", "mixed"])
    def test_it_is_the_sum_of_all_terms_for_every_pair(self, phi):
        """Of 4^J terms: the slow twin has them all, by N x N matrices."""
        images, others = draw_smooth(3, (5, 5)), draw_smooth(2, (5, 5), seed=1)
        kernel = TangentVectorKernel(phi, **self.form, **WIDTHS)
        expected = literal(images, others, sides="two", phi=phi, **self.form)
        np.testing.assert_allclose(kernel(images, others), expected, rtol=1e-9)
        np.testing.assert_allclose(kernel(others, images), expected.T, rtol=1e-9)
        assert np.ptp(np.log(expected)) > 0.1
        K = kernel(images)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), kernel.diag(images))
        np.testing.assert_allclose(K, kernel(images, images), rtol=1e-12)

    def test_a_vanishing_eta_is_none(self):
        """In few pixels, where terms with tangents have weight."""
        images = draw_smooth(5, (3, 3))
        given = {"form": "distribution", "rho": 1, "sigma": 3.0, "gamma_w": 4.0, "blur": 0}
        none = TangentVectorKernel(Shifts(1), **given)(images)
        np.testing.assert_allclose(TangentVectorKernel(Shifts(1), eta=1e-12, **given)(images), none, rtol=1e-9)
        assert np.abs(TangentVectorKernel(Shifts(1), eta=0.5, **given)(images) - none).max() > 1e-2

    def test_in_many_pixels_the_terms_without_tangents_are_all_there_is(self):
        """Eq. (8) as a density lies where it has no tangents, unless gamma_w is larger by √N."""
        images = draw_smooth(4, (40, 40))
        given = {"form": "distribution", "rho": 1, "eta": 0.3, "sigma": 20.0, "blur": 0}
        gaussian = RBF(20.0 * np.sqrt(2))(images.reshape(4, -1))
        np.testing.assert_allclose(TangentVectorKernel(gamma_w=20.0, **given)(images), gaussian, rtol=1e-10)
        wide = TangentVectorKernel(gamma_w=20.0 * 40, **given)(images)
        assert np.abs(wide - gaussian).max() > 1e-4

    def test_terms_that_are_left_out_do_not_matter(self, monkeypatch):
        images = draw_smooth(4, (6, 7), seed=4)
        kernel = TangentVectorKernel(form="distribution", rho=1, eta=0.3, sigma=5.0, gamma_w=1.5)
        counts = []
        for negligible in (overlap.NEGLIGIBLE, -np.inf):
            monkeypatch.setattr(overlap, "NEGLIGIBLE", negligible)
            pairs = overlap.Pairs(kernel._points(images), kernel._points(images), 1.5)
            counts.append((len(list(overlap._terms(pairs, 5.0, 1.5, 0.3, 0.0))), kernel(images)))
        (few, K), (everything, whole) = counts
        assert few < everything == 4**6
        np.testing.assert_allclose(K, whole, rtol=1e-12)

    def test_it_is_positive_definite(self):
        images = draw_smooth(20, (4, 4), seed=2)
        kernel = TangentVectorKernel(Shifts(1), form="distribution", rho=1, eta=0.1).fit(images)
        K = kernel(np.concatenate([images, images + 0.01 * draw_smooth(20, (4, 4), seed=3)]))
        assert np.linalg.eigvalsh(K).min() > -1e-10
        assert K.min() < 0.9


@every_form
def test_its_gram_matrix_is_symmetric_and_diag_its_diagonal(form):
    kernel = TangentVectorKernel(**form).fit(IMAGES)
    K = kernel(IMAGES)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(IMAGES), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(kernel(IMAGES, IMAGES), K, rtol=1e-12)
    np.testing.assert_allclose(kernel(OTHERS, IMAGES), kernel(IMAGES, OTHERS).T, rtol=1e-12)
    both = np.concatenate([IMAGES, OTHERS])
    np.testing.assert_allclose(kernel(both)[:6, 6:], kernel(IMAGES, OTHERS), rtol=1e-12)
    assert K.dtype == np.float64


def test_one_sided_it_is_not_symmetric_but_has_the_same_diagonal():
    for form in ("product", "sum"):
        kernel = TangentVectorKernel(form=form, sides="one").fit(IMAGES)
        K = kernel(IMAGES)
        assert np.abs(K - K.T).max() > 1e-3
        np.testing.assert_allclose(kernel(IMAGES, IMAGES), K, rtol=1e-12)
        np.testing.assert_allclose(np.diag(K), kernel.diag(IMAGES), rtol=1e-12)
    K = TangentVectorKernel(form="distribution", sides="one").fit(IMAGES)(IMAGES)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("rho", [0.1, 0.5, 3.0])
def test_the_distribution_form_is_positive_definite(rho):
    images = draw_smooth(40, seed=2)
    kernel = TangentVectorKernel(form="distribution", rho=rho).fit(images)
    K = kernel(np.concatenate([images, images + 0.01 * draw_smooth(40, seed=3)]))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert K.min() < 0.9


@every_form
def test_neither_blocks_nor_jobs_change_it(form, monkeypatch):
    kernel = TangentVectorKernel(**form, **WIDTHS)
    whole, own = kernel(IMAGES, OTHERS), kernel(IMAGES)
    monkeypatch.setattr(points, "BLOCK_BYTES", 1500)
    blocks = kernel(IMAGES, OTHERS)
    np.testing.assert_allclose(blocks, whole, rtol=1e-10)
    np.testing.assert_allclose(kernel(IMAGES), own, rtol=1e-10)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(kernel.set_params(n_jobs=n_jobs)(IMAGES, OTHERS), blocks)


@every_form
def test_poor_images_have_finite_values(form):
    y, x = np.mgrid[:9, :9] - 4.0
    images = np.stack([np.zeros((9, 9)), np.full((9, 9), 0.6), np.exp(-((np.hypot(x, y) - 2) ** 2)), x, x])
    kernel = TangentVectorKernel(**form).fit(images)
    K = kernel(images)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(np.diag(K), kernel.diag(images), rtol=1e-12)
    np.testing.assert_allclose(K[:, 3], K[:, 4], rtol=1e-12)
    assert K[3, 4] == pytest.approx(K[3, 3])
    np.testing.assert_allclose(
        K,
        literal(
            images, images, sides="two", sigma=kernel.sigma_, gamma_w=kernel.gamma_w_, gamma_r=kernel.gamma_r_, **form
        ),
        rtol=1e-9,
    )


def test_large_images_do_not_overflow():
    """(2π)^N of 40,000 pixels is beyond float64, and so is any power of a width."""
    images = draw_smooth(2, (200, 200))
    for sigma in (1.0, 1e4):
        K = TangentVectorKernel(Shifts(1), form="distribution", sigma=sigma, rho=3.0).fit(images)(images)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(np.diag(K), 1, rtol=1e-7)


def test_a_wide_tangent_region_gives_virtual_samples():
    """Sec. 3.1: with γ_w → ∞ and γ_r = σ, eq. (13) is the sum of Gaussians around the image and its versions."""
    phi = Rotations(3, limit=10)
    kernel = TangentVectorKernel(
        phi, form="sum", sides="one", method="difference", sigma=4.0, gamma_w=1e8, gamma_r=4.0, blur=0
    )
    versions = phi.operators(OTHERS.shape[1:]).apply(OTHERS).reshape(-1, OTHERS[0].size)
    expected = RBF(4.0)(IMAGES.reshape(6, -1), versions).reshape(6, 4, -1).sum(axis=2)
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), expected, rtol=1e-6)


def test_automatic_widths_come_from_the_images():
    kernel = TangentVectorKernel().fit(IMAGES)
    rows, tangents = rows_and_tangents(IMAGES)
    assert kernel.sigma_ == pytest.approx(np.median(pdist(rows)))
    assert kernel.gamma_w_ == pytest.approx(kernel.sigma_ * np.sqrt(6))
    assert kernel.gamma_r_ == pytest.approx(np.sqrt((tangents**2).sum(axis=2).mean()))
    tied = TangentVectorKernel(gamma_w="sigma").fit(IMAGES)  # sec. 3.1
    assert tied.gamma_w_ == tied.sigma_ == kernel.sigma_
    assert TangentVectorKernel(sigma=2.0, gamma_w="sigma").fit(IMAGES).gamma_w_ == 2.0
    half = TangentVectorKernel(sigma=2.0).fit(IMAGES)
    assert (half.sigma_, half.gamma_w_) == (2.0, pytest.approx(2 * np.sqrt(6)))
    given = TangentVectorKernel(**WIDTHS).fit(IMAGES)
    assert (given.sigma_, given.gamma_w_, given.gamma_r_) == (6.0, 9.0, 7.0)
    blank = TangentVectorKernel().fit(np.zeros((3, 5, 5)))
    assert min(blank.sigma_, blank.gamma_w_, blank.gamma_r_) > 0


@pytest.mark.parametrize(
    ("message", "mistake"),
    [
        ("form must be one of .*got 'both'", {"form": "both"}),
        ("sides must be one of .*got 'mean'", {"sides": "mean"}),
        ("sigma must be a number .*got 0", {"sigma": 0}),
        ("gamma_w must be a number .*got 'wide'", {"gamma_w": "wide"}),
        ("gamma_r must be a number .*got -2", {"form": "sum", "gamma_r": -2}),
        ("eta must be a number from 0 to 1; got 1.5", {"eta": 1.5}),
        ("rho must be a number .*got 0", {"form": "distribution", "rho": 0}),
        ("closed form for rho=1 only; got rho=0.5. Set rho=1, or eta=0", {"form": "distribution", "eta": 0.2}),
        ("form='sum'.* has no eta; got eta=0.2", {"form": "sum", "eta": 0.2}),
        ("eta must be a number from 0 to 1; got -1", {"form": "distribution", "rho": 1, "eta": -1}),
        ("blur must be a number .*got -1", {"blur": -1}),
        ("method must be one of .*got 'exact'", {"method": "exact"}),
    ],
)
def test_mistakes_are_named(message, mistake):
    with pytest.raises(ValueError, match=message):
        TangentVectorKernel(**{**WIDTHS, **mistake})(IMAGES)


def test_missing_widths_are_named():
    for missing in WIDTHS:
        kernel = TangentVectorKernel(form="sum", **{**WIDTHS, missing: "auto"})
        with pytest.raises(NotFittedError, match=r"found by fit\(X\)"):
            kernel(IMAGES)
