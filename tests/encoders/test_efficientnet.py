"""EfficientNet-lite0 without PyTorch: equal to stored outputs of PyTorch everywhere, and to PyTorch where it is."""

import io
import json
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from invariance.encoders.efficientnet import EPSILON, STAGES
from invariance.encoders.finding import DEFAULT, PACKAGE, WEIGHTS, find_content
from invariance.encoders.networks import open_session, read_network
from invariance.encoders.torch_weights import MAGIC, VERSION, read_weights

STORED = json.loads((Path(__file__).parent / "efficientnet_outputs.json").read_text())
TOLERANCE = 1e-4


def waves(size):
    """A generated image (1, 3, size, size) as the network takes it."""
    row, column = np.mgrid[:size, :size] / (size - 1)
    planes = [np.sin(9 * row + 4 * column), np.cos(7 * row * column + 1), np.sin(11 * (row - 0.4) ** 2 + 5 * column)]
    return np.stack(planes).astype(np.float32)[None]


def outputs(layer, size):
    network = read_network(find_content(DEFAULT).content, layer)
    return open_session(network).run(None, {"image": waves(size)})[0]


def weights():
    package = pytest.importorskip(PACKAGE)
    with open(Path(package.__file__).parent / WEIGHTS, "rb") as file:
        return read_weights(file)


@pytest.mark.parametrize("size", [224, 161])
def test_outputs_are_those_stored_of_pytorch(size):
    stored = STORED[str(size)]
    pooled, features = outputs("pooled", size)[0], outputs("features", size)[0]
    np.testing.assert_allclose(pooled[:: stored["step"]], stored["pooled"], atol=TOLERANCE)
    assert list(features.shape) == stored["shape"]
    np.testing.assert_allclose(features.ravel()[:: stored["stride"]], stored["features"], atol=TOLERANCE)


def test_outputs_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    network = plain_network(torch, weights())
    with torch.no_grad():
        expected = network(torch.from_numpy(waves(224))).numpy()
    np.testing.assert_allclose(outputs("features", 224), expected, atol=TOLERANCE)


def plain_network(torch, tensors):
    """The network in PyTorch, with batch normalizations of their own: a function of images (n, 3, h, w)."""
    functional = torch.nn.functional
    tensors = {name: torch.from_numpy(values) for name, values in tensors.items()}

    def convolve(x, name, normalization, stride=1, groups=1):
        kernel = tensors[f"{name}.weight"]
        pads = [max((-(-side // stride) - 1) * stride + kernel.shape[2] - side, 0) for side in x.shape[2:]]
        x = functional.pad(x, (pads[1] // 2, pads[1] - pads[1] // 2, pads[0] // 2, pads[0] - pads[0] // 2))
        parts = [tensors[f"{normalization}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return functional.batch_norm(functional.conv2d(x, kernel, None, stride, 0, 1, groups), *parts, eps=EPSILON)

    def run(x):
        x = functional.relu6(convolve(x, "_conv_stem", "_bn0", 2))
        place = 0
        for stage in STAGES:
            for number in range(stage.n_blocks):
                name, below, stride = f"_blocks.{place}", x, stage.stride if number == 0 else 1
                if stage.expansion > 1:
                    x = functional.relu6(convolve(x, f"{name}._expand_conv", f"{name}._bn0"))
                x = functional.relu6(convolve(x, f"{name}._depthwise_conv", f"{name}._bn1", stride, x.shape[1]))
                x = convolve(x, f"{name}._project_conv", f"{name}._bn2")
                x = x + below if x.shape == below.shape else x
                place += 1
        return functional.relu6(convolve(x, "_conv_head", "_bn1"))

    return run


# ---------------------------------------------------------------- the reader of weights


class Tensor:
    """A tensor as PyTorch pickles it: a call with a storage."""

    def __init__(self, key, n_values, offset, shape, strides):
        self.storage, self.arguments = Storage(key, n_values), (offset, shape, strides, False, OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, (self.storage, *self.arguments)


class Storage:
    def __init__(self, key, n_values):
        self.pid = ("storage", FloatStorage, key, "cpu", n_values, None)


class FloatStorage:
    """Stands for the class of PyTorch, by its name alone."""


def _rebuild_tensor_v2():
    """Stands for the function of PyTorch, by its name alone."""


def write_weights(tensors, storages, version=VERSION):
    """A file in the legacy format, written by hand."""
    out = io.BytesIO()
    for part in (MAGIC, version, {"little_endian": True}, tensors, list(storages)):
        pickled = io.BytesIO()
        pickler = pickle.Pickler(pickled, 2)
        pickler.persistent_id = lambda part: part.pid if isinstance(part, Storage) else None
        pickler.dump(part)
        names = {b"_rebuild_tensor_v2": b"torch._utils", b"FloatStorage": b"torch"}
        content = pickled.getvalue()
        for name, torch_module in names.items():
            content = content.replace(b"c" + __name__.encode() + b"\n" + name, b"c" + torch_module + b"\n" + name)
        out.write(content)
    for values in storages.values():
        out.write(len(values).to_bytes(8, "little") + np.asarray(values, "<f4").tobytes())
    return io.BytesIO(out.getvalue())


def test_a_file_written_by_hand_is_read():
    tensors = OrderedDict(a=Tensor("1", 6, 0, (2, 3), (1, 2)), b=Tensor("2", 4, 1, (2,), (2,)))
    read = read_weights(write_weights(tensors, {"1": range(6), "2": range(4)}))
    np.testing.assert_array_equal(read["a"], [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(read["b"], [1, 3])


class Harm:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize(
    ("tensors", "storages", "reason"),
    [
        ({"a": Harm()}, {}, "mkdir"),
        ({"a": 3}, {}, "something else than tensors"),
        ([], {}, "legacy format"),
        ({"a": Tensor("1", 6, 4, (3,), (1,))}, {"1": range(6)}, "outside its storage"),
        ({"a": Tensor("1", 6, -1, (3,), (1,))}, {"1": range(6)}, "outside its storage"),
        ({"a": Tensor("1", 6, 5, (3,), (-1,))}, {"1": range(6)}, "outside its storage"),
        ({"a": Tensor("1", 6, 0, (10**9,), (0,))}, {"1": range(6)}, "outside its storage"),
        ({"a": Tensor("1", 6, 0, (6,), (1,))}, {"1": range(5)}, "cut off"),
        ({"a": Tensor("1", 6, 0, (6,), (1,))}, {"1": range(7)}, "another length"),
        ({"a": Tensor("1", 6, 0, (6,), (1,))}, {"2": range(6)}, "of no tensor"),
    ],
)
def test_other_files_are_refused_and_nothing_is_run(tensors, storages, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=reason):
        read_weights(write_weights(tensors, storages))
    assert list(tmp_path.iterdir()) == []


def test_another_version_and_no_file_at_all_are_refused():
    with pytest.raises(ValueError, match="legacy format"):
        read_weights(write_weights({}, {}, version=1002))
    with pytest.raises(ValueError, match="cannot be read"):
        read_weights(io.BytesIO(b"PK\x03\x04"))
