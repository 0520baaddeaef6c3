"""Encoders describe images: of any layout and size, whatever is beside, and only with their own network."""

import json

import numpy as np
import pytest
from onnx import helper
from PIL import Image

from invariance.encoders import NetworkError, OnnxEncoder
from invariance.encoders import encoder as module
from invariance.encoders.finding import find_content, list_encoders, open_encoder
from invariance.images import read_image
from invariance.models import ModelError, load, save
from invariance.transformations import Brightness, Rotations, invariance_profile
from tests.encoders import making

PLAIN = {"mean": 0.0, "std": 1.0, "crop": 1.0}


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return [rng.random((9, 9, 3)).astype(np.float32), rng.random((12, 20, 3)).astype(np.float32)]


@pytest.fixture
def path(tmp_path):
    return making.save(making.mean_colour(), tmp_path / "mean.onnx")


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_layout_is_found(layout, tmp_path, images):
    path = making.save(making.mean_colour(layout), tmp_path / "network.onnx")
    found = OnnxEncoder(path, size=9, **PLAIN).fit_transform(images[:1])
    np.testing.assert_allclose(found[0], 2 * images[0].mean(axis=(0, 1)), rtol=1e-5)


def test_mean_and_std_are_those_of_values_from_0_to_1(path, images):
    grey = (255 * images[0]).astype(np.uint8)
    found = OnnxEncoder(path, size=9, mean=(0.1, 0.2, 0.3), std=0.5, crop=1.0).transform([grey])
    expected = 2 * (grey.mean(axis=(0, 1)) / 255 - [0.1, 0.2, 0.3]) / 0.5
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)


@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (4, 3, 8, 8)])
def test_a_fixed_size_is_kept_and_a_fixed_batch_filled(shape, tmp_path, images):
    path = making.save(making.mean_colour(shape=shape), tmp_path / "network.onnx")
    free = making.save(making.mean_colour(), tmp_path / "free.onnx")
    fixed = OnnxEncoder(path, **PLAIN).transform(images)
    np.testing.assert_allclose(fixed, OnnxEncoder(free, size=8, **PLAIN).transform(images), rtol=1e-5)
    with pytest.raises(ValueError, match=r"size must be \(8, 8\)"):
        OnnxEncoder(path, size=9).transform(images)


def test_grey_images_and_files_are_described_as_well(path, images, tmp_path):
    encoder = OnnxEncoder(path, **PLAIN)
    grey = images[0][..., 0]
    np.testing.assert_array_equal(encoder.transform([grey]), encoder.transform([np.dstack([grey] * 3)]))
    Image.fromarray((255 * images[1]).astype(np.uint8)).save(tmp_path / "image.png")
    file = tmp_path / "image.png"
    np.testing.assert_array_equal(encoder.transform([file]), encoder.transform([read_image(file)]))


def test_places_of_a_grid_are_those_of_the_image(path):
    """A bright pixel is found where it is."""
    image = np.zeros((16, 24, 3), np.float32)
    image[3, 9] = 1
    vectors, places = OnnxEncoder(path, layer="grid", size=16, **PLAIN).extract(image)
    assert vectors.shape == (256, 3)
    np.testing.assert_allclose(places[vectors.sum(axis=1).argmax()], [3, 9])


def test_tokens_before_those_of_the_grid_are_left_out(tmp_path):
    nodes = [
        helper.make_node("Reshape", ["image", "shape"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["patches"], perm=[0, 2, 1]),
        helper.make_node("Concat", ["class", "patches"], ["out"], axis=1),
    ]
    weights = [
        making.constant("shape", np.array([1, 3, 16])),
        making.constant("class", np.full((1, 1, 3), 9, np.float32)),
    ]
    model = making.make_model(nodes, [making.image((1, 3, 4, 4))], [making.tensor()], weights)
    encoder = OnnxEncoder(making.save(model, tmp_path / "tokens.onnx"), **PLAIN)
    image = np.random.default_rng(0).random((4, 4, 3)).astype(np.float32)
    vectors, _ = encoder.extract(image)
    np.testing.assert_allclose(vectors, image.reshape(16, 3), atol=1e-6)
    assert encoder.transform([image]).shape == (1, 3)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_features_are_pooled_over_the_set(pooling, path, images):
    phi = Brightness(3, limit=0.2)
    dim = [0.4 + 0.2 * image for image in images]  # nothing is clipped
    plain = OnnxEncoder(path, size=9, **PLAIN)
    pooled = OnnxEncoder(path, size=9, transformations=phi, pooling=pooling, **PLAIN)
    expected = [getattr(np, pooling)(plain.transform(list(phi.operators(x.shape).apply(x[None])[0])), 0) for x in dim]
    np.testing.assert_allclose(pooled.transform(dim), expected, rtol=1e-5)


def test_pooling_over_a_group_makes_features_invariant(tmp_path, images):
    """The profile of the library measures it, on a network that sees one corner of the image."""
    nodes = [helper.make_node("Slice", ["image", "zero", "three", "axes"], ["out"])]
    weights = [making.constant(name, np.array(values)) for name, values in
               (("zero", [0, 0]), ("three", [3, 3]), ("axes", [2, 3]))]  # fmt: skip
    model = making.make_model(nodes, [making.image()], [making.tensor()], weights)
    path = making.save(model, tmp_path / "corner.onnx")
    squares = np.stack([images[0], images[0][::-1, ::-1] ** 2])
    assert invariance_profile(OnnxEncoder(path, size=9, **PLAIN), squares, Rotations(4)).ratio > 0.1
    pooled = OnnxEncoder(path, size=9, transformations=Rotations(4), **PLAIN)
    assert invariance_profile(pooled, squares, Rotations(4)).ratio < 1e-5


def test_features_do_not_depend_on_threads_or_neighbours(path, images):
    many = OnnxEncoder(path, n_jobs=3, **PLAIN).transform(images * 3)
    for row, image in enumerate(images * 3):
        alone = OnnxEncoder(path, **PLAIN)._settings(find_content(path)).vector(image)  # nothing is kept
        np.testing.assert_array_equal(many[row], alone)


def test_an_image_is_computed_once(path, images, monkeypatch):
    encoder = OnnxEncoder(path, size=10, **PLAIN)
    first = encoder.transform(images)
    monkeypatch.setattr(module, "run_session", lambda *arguments: pytest.fail("it was computed again"))
    np.testing.assert_array_equal(encoder.transform([image.copy() for image in images]), first)
    with pytest.raises(pytest.fail.Exception):
        encoder.set_params(crop=0.9).transform(images)


# ---------------------------------------------------------------- files


def test_a_model_file_has_the_fingerprint_and_not_the_network(path, images, tmp_path):
    model = save(OnnxEncoder(path, **PLAIN).fit(), tmp_path / "model.inv")
    expected = load(model).transform(images)
    making.save(making.mean_colour(shape=("n", 3, 9, 9)), tmp_path / "mean.onnx")
    with pytest.raises(NetworkError, match="another one") as caught:
        load(model).transform(images)
    assert "\n" not in str(caught.value)
    (tmp_path / "mean.onnx").unlink()
    with pytest.raises(NetworkError, match=r"which this model needs .*there is no such file"):
        load(model).transform(images)
    assert expected.shape == (2, 3)


def test_an_embedded_network_needs_no_file(path, images, tmp_path):
    encoder = OnnxEncoder(path, embed=True, **PLAIN).fit()
    model = save(encoder, tmp_path / "model.inv")
    (tmp_path / "mean.onnx").unlink()
    np.testing.assert_array_equal(load(model).transform(images), encoder.transform(images))


def test_a_forged_network_in_a_model_file_is_refused_as_any_other(path, images, tmp_path):
    encoder = OnnxEncoder(path, embed=True, **PLAIN).fit()
    encoder.content_ = np.frombuffer(making.with_branch().SerializeToString(), np.uint8).copy()
    with pytest.raises(NetworkError, match="a loop or a branch"):
        load(save(encoder, tmp_path / "model.inv")).transform(images)


@pytest.mark.parametrize(
    ("name", "value"),
    [("path", 3), ("size", 10**6), ("std", 0.0), ("mean", "x"), ("pooling", "sum"), ("crop", 7.0), ("n_jobs", 0)],
)
def test_forged_settings_are_refused(name, value, path, tmp_path):
    encoder = OnnxEncoder(path).fit()
    setattr(encoder, name, value)
    with pytest.raises(ModelError, match=name):
        save(encoder, tmp_path / "model.inv")


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(NetworkError, match="no such file"):
        find_content(tmp_path)


def test_encoders_are_found_in_their_folder_with_their_settings(path, images, tmp_path, monkeypatch):
    monkeypatch.setenv("INVARIANCE_ENCODERS", str(tmp_path))
    (tmp_path / "mean.json").write_text(json.dumps({"size": 12, "mean": [0.5, 0.5, 0.5]}))
    assert [encoder.name for encoder in list_encoders()] == ["efficientnet-lite0", "mean.onnx"]
    encoder = open_encoder("mean.onnx")
    assert (encoder.size, encoder.mean) == (12, [0.5, 0.5, 0.5])
    assert encoder.transform(images).shape == (2, 3)
    (tmp_path / "mean.json").write_text('{"embed": true}')
    with pytest.raises(NetworkError, match=r"must be an object of layer, size"):
        open_encoder("mean.onnx")
