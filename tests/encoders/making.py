"""Small ONNX networks, right and wrong ones."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def make_model(nodes, inputs, outputs, weights=(), opsets=(("", 17),)):
    graph = helper.make_graph(nodes, "network", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], ir_version=8)


def image(shape=("n", 3, "h", "w"), kind=FLOAT, name="image"):
    return helper.make_tensor_value_info(name, kind, shape)


def tensor(name="out", shape=None, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def mean_colour(layout="NCHW", shape=None):
    """A network that gives the mean of every channel; as a grid before that."""
    axes = [2, 3] if layout == "NCHW" else [1, 2]
    shape = shape or (("n", 3, "h", "w") if layout == "NCHW" else ("n", "h", "w", 3))
    nodes = [
        helper.make_node("Mul", ["image", "two"], ["grid"]),
        helper.make_node("ReduceMean", ["grid"], ["out"], axes=axes, keepdims=0),
    ]
    return make_model(nodes, [image(shape)], [tensor(shape=["n", 3])], [constant("two", np.float32(2))])


def save(model, path):
    path.write_bytes(model.SerializeToString())
    return str(path)


def with_external_data(path):
    model = mean_colour()
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    entry = weight.external_data.add()
    entry.key, entry.value = "location", str(path)
    return model


def with_branch():
    inner = helper.make_graph([helper.make_node("Identity", ["image"], ["x"])], "inner", [], [tensor("x")])
    node = helper.make_node("If", ["yes"], ["out"], then_branch=inner, else_branch=inner)
    return make_model([node], [image()], [tensor()], [constant("yes", np.array(True))])


def expanding(n):
    """A network of few bytes that needs many."""
    nodes = [
        helper.make_node("Expand", ["image", "shape"], ["large"]),
        helper.make_node("ReduceMax", ["large"], ["out"], axes=[0], keepdims=1),
    ]
    return make_model(nodes, [image((1, 3, 4, 4))], [tensor()], [constant("shape", np.array([n, 3, 4, 4]))])


def constants_of(n):
    """A network that is constant, and could be computed in advance."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["large"], value=constant("", np.ones(1, np.float32))),
        helper.make_node("ReduceMax", ["large"], ["largest"], keepdims=0),
        helper.make_node("ReduceMean", ["image"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Add", ["mean", "largest"], ["out"]),
    ]
    return make_model(nodes, [image()], [tensor()], [constant("shape", np.array([n]))])


def identity(value, output=None, opsets=(("", 17),), **attributes):
    """A network that returns its input."""
    node = helper.make_node("Identity", [value.name], ["out"], **attributes)
    return make_model([node], [value], [output or tensor()], opsets=opsets)


def huge_weights():
    model = mean_colour()
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend([2**40])
    return model


def two_inputs():
    nodes = [helper.make_node("Add", ["image", "text"], ["out"])]
    return make_model(nodes, [image(), image(name="text")], [tensor()])


def of_functions():
    body = [helper.make_node("Identity", ["x"], ["y"])]
    function = helper.make_function("own", "Same", ["x"], ["y"], body, [helper.make_opsetid("", 17)])
    model = identity(image(), opsets=(("", 17), ("own", 1)))
    model.functions.append(function)
    return model


def parse(content):
    return onnx.load_model_from_string(content)
