"""Logistic regression on features: it learns, is saved with the fingerprint alone, and says what is missing."""

import numpy as np
import pytest

from invariance.encoders import EncoderClassifier, OnnxEncoder
from invariance.encoders.classifier import STRENGTHS, choose_strength, make_head
from invariance.encoders.finding import missing_packages
from invariance.methods import Facts, ImageClassifier, compare, get_method
from invariance.methods.comparison import PEERS
from invariance.methods.decisions import Cause
from invariance.methods.selection import find_candidates
from invariance.models import ModelError, load, save
from tests.encoders import making

COMMON = {"random_state": 0, "n_jobs": None}


@pytest.fixture
def colours():
    """Noisy images of three colours."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["blue", "green", "red"], 8)
    images = rng.random((24, 8, 8, 3)).astype(np.float32)
    images[np.arange(24), :, :, 2 - np.arange(24) // 8] += 0.5
    return list(images / 1.5), labels


@pytest.fixture
def encoder(tmp_path):
    return OnnxEncoder(making.save(making.mean_colour(), tmp_path / "mean.onnx"), size=8, mean=0.0, std=1.0)


def test_it_learns_what_the_features_show(encoder, colours):
    model = EncoderClassifier(encoder).fit(*colours)
    assert (model.predict(colours[0]) == colours[1]).all()
    assert model.C_ in STRENGTHS
    np.testing.assert_allclose(model.predict_proba(colours[0]).sum(axis=1), 1)


def test_the_head_in_the_span_of_the_features_is_that_of_all_values():
    rng = np.random.default_rng(0)
    features, codes = rng.normal(size=(12, 40)), np.arange(12) % 3
    features -= features.mean(axis=0)
    basis = np.linalg.svd(features, full_matrices=False)[2].T
    inside = make_head(3.0).set_params(tol=1e-10).fit(features @ basis, codes)
    whole = make_head(3.0).set_params(tol=1e-10).fit(features, codes)
    np.testing.assert_allclose(inside.coef_ @ basis.T, whole.coef_, atol=1e-5)


def test_noise_is_regularized_more_than_signal():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    noise = rng.normal(size=(60, 30)) / np.sqrt(30)
    signal = np.eye(3)[codes] + 0.01 * rng.normal(size=(60, 3))
    assert choose_strength(noise, codes) == STRENGTHS[0]
    assert choose_strength(signal, codes) == STRENGTHS[-1]


def test_a_model_is_saved_without_the_network(encoder, colours, tmp_path):
    model = ImageClassifier("encoder", encoder=encoder).fit(*colours)
    path = save(model, tmp_path / "model.inv")
    np.testing.assert_array_equal(load(path).predict_proba(colours[0]), model.predict_proba(colours[0]))
    (tmp_path / "mean.onnx").unlink()
    with pytest.raises(ValueError, match=r"mean.onnx', which this model needs .*no such file"):
        load(path).predict(colours[0])
    model.model_.mean_ = model.model_.mean_[:2]
    with pytest.raises(ModelError, match="coef_"):
        save(model, path)


def test_comparison_has_the_encoder_and_the_baselines_always(encoder, colours):
    found = compare(*colours, invariances=(), methods=[], encoder=encoder, budget=1e4)
    assert {c.method for c in found.contestants} == {"encoder", *PEERS}
    assert "HOG + SVM" in PEERS
    assert not next(c for c in found.contestants if c.method == "encoder").is_peer


def test_without_the_extra_everything_else_works_and_it_is_said_once(colours, monkeypatch):
    missing_packages.cache_clear()
    find = __import__("importlib").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *p: None if "onnx" in name else find(name, *p))
    try:
        assert "pip install '.[encoders]'" in get_method("encoder").missing()
        with pytest.raises(ValueError, match=r"method 'encoder' cannot be used: .*encoders"):
            ImageClassifier("encoder").fit(*colours)
        candidates, left_out = find_candidates(Facts(40, 2, 20, 3, 64, 64), None)
        assert {"jungle", "objects", "tradeoff"} <= {method.name for method in candidates}
        assert [out.method for out in left_out if out.cause == Cause.NOT_INSTALLED] == ["encoder", "photos"]
        assert sum(".[encoders]" in out.sentence for out in left_out) == 1
        made = get_method("tradeoff").make(get_method("tradeoff").plan(), Facts(12, 3, 4, 3, 64, 64), COMMON)
        assert "pretrained network" not in [kernel.name for kernel in made.kernels]
        assert "encoder" in compare(*colours, invariances=(), methods=[], budget=1e4).untried
    finally:
        missing_packages.cache_clear()


def test_kernels_of_the_encoder_are_weighed(encoder):
    method = get_method("tradeoff")
    for side, is_there in ((64, True), (32, False)):
        made = method.make(method.plan(), Facts(12, 3, 4, 3, side, side), COMMON, encoder)
        assert any("network" in (kernel.name or "") for kernel in made.kernels) == is_there
