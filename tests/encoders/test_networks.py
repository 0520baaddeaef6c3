"""What cannot be used is refused with a sentence, before onnxruntime sees it or by its limit on memory."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from invariance.encoders import NetworkError, OnnxEncoder
from invariance.encoders.networks import read_network
from tests.encoders import making

GREY = np.full((6, 6), 0.5, np.float32)

REFUSED = {
    "no model": (b"\xff" * 40, "not an ONNX model"),
    "nothing": (b"", "not an ONNX model"),
    "a branch": (making.with_branch(), "a loop or a branch"),
    "two inputs": (making.two_inputs(), "one input"),
    "no input": (
        making.make_model([helper.make_node("Constant", [], ["out"], value_float=1.0)], [], [making.tensor()]),
        "one input",
    ),
    "whole numbers": (making.identity(making.image(kind=TensorProto.INT64)), "must hold floats"),
    "rows": (making.identity(making.image(("n", 3))), "four axes"),
    "five channels": (making.identity(making.image(("n", 5, "h", "w"))), "1 or 3 channels"),
    "a huge input": (making.identity(making.image(("n", 3, 10**6, 10**6))), "pixels per side"),
    "custom operators": (
        making.identity(making.image(), domain="custom", opsets=(("", 17), ("custom", 1))),
        "outside of the standard",
    ),
    "functions": (making.of_functions(), "outside of the standard"),
    "huge weights": (making.huge_weights(), "declares a shape"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_no_network_of_images_is_refused(name):
    model, reason = REFUSED[name]
    with pytest.raises(NetworkError, match=reason):
        read_network(model if isinstance(model, bytes) else model.SerializeToString())


def test_weights_in_another_file_are_never_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"\0\0\0\x40")
    path = making.save(making.with_external_data(secret), tmp_path / "network.onnx")
    with pytest.raises(NetworkError, match=r"network.onnx' cannot be used: its weights are in another file"):
        OnnxEncoder(path).transform([GREY])


@pytest.mark.parametrize("make", [making.expanding, making.constants_of])
def test_memory_is_limited(make, tmp_path):
    small = making.save(make(10), tmp_path / "small.onnx")
    assert OnnxEncoder(small, mean=0, std=1).transform([GREY]).size > 0
    large = making.save(make(2**32), tmp_path / "large.onnx")
    with pytest.raises(NetworkError, match="onnxruntime cannot"):
        OnnxEncoder(large, mean=0, std=1).transform([GREY])


def test_what_onnxruntime_cannot_load_is_one_line(tmp_path):
    nodes = [helper.make_node("NoSuchOperator", ["image"], ["out"])]
    path = making.save(making.make_model(nodes, [making.image()], [making.tensor()]), tmp_path / "odd.onnx")
    with pytest.raises(NetworkError, match="onnxruntime cannot load it") as caught:
        OnnxEncoder(path).fit()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("output", "kind"), [("sizes", TensorProto.INT64), ("single", TensorProto.FLOAT), ("undefined", TensorProto.FLOAT)]
)
def test_a_layer_that_describes_nothing_is_refused(output, kind, tmp_path):
    nodes = [
        helper.make_node("Shape", ["image"], ["sizes"]),
        helper.make_node("ReduceMean", ["image"], ["single"], keepdims=0),
        helper.make_node("Log", ["image"], ["undefined"]),
    ]
    model = making.make_model(nodes, [making.image()], [making.tensor(output, None, kind)])
    with pytest.raises(NetworkError, match="its layer"):
        OnnxEncoder(making.save(model, tmp_path / "odd.onnx"), mean=2, std=1).transform([GREY])


def test_a_missing_layer_is_named_beside_those_there_are():
    with pytest.raises(NetworkError, match=r"no layer 'last'.*'out'.*'grid'"):
        read_network(making.mean_colour().SerializeToString(), "last")


def test_only_what_a_layer_needs_is_kept():
    network = read_network(making.mean_colour().SerializeToString(), "grid")
    graph = making.parse(network.content).graph
    assert [node.op_type for node in graph.node] == ["Mul"]
    assert [value.name for value in graph.output] == ["grid"]
