"""ONNX networks of images: what is wrong with a file is found before onnxruntime sees it.

A network is data, but onnxruntime is a large program that trusts it: it opens files that a network names, and reserves
whatever a network declares. So a network is one file of bounded size that computes one tensor from one image by the
standard operators, without loops and branches, and whatever it computes is bounded by a limit on memory.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from invariance._core.extras import command_for

MAX_BYTES = 2**30  # of a file; a large vision transformer has 1.2 GB in single precision, 0.6 in half
MAX_MEMORY = 2**32  # bytes that weights and whatever all networks of a process compute may take together
MAX_NODES = 50_000
MAX_SIDE = 2048  # pixels of the input
DOMAINS = ("", "ai.onnx")  # of the standard operators
LAYOUTS = {"NCHW": (2, 3, 1), "NHWC": (1, 2, 3)}  # axes of height, width and channels
EXTRA = command_for("encoders")


class NetworkError(ValueError):
    """A network that cannot be used; the message says why."""


class Network(NamedTuple):
    """A network of images, ready to be loaded by onnxruntime.

    Attributes
    ----------
    content : bytes
        The ONNX model, with the wanted tensor as its only output.
    input_name : str
    layout : {"NCHW", "NHWC"}
    shape : tuple of int or None
        Fixed lengths of the four axes of the input; None where any length will do.
    n_channels : int
        1 or 3.
    dtype : dtype
        Of the input.
    """

    content: bytes
    input_name: str
    layout: str
    shape: tuple[int | None, ...]
    n_channels: int
    dtype: np.dtype

    @property
    def size(self) -> tuple[int | None, int | None]:
        """Fixed height and width of the input; None where any will do."""
        rows, columns, _ = LAYOUTS[self.layout]
        return self.shape[rows], self.shape[columns]


def read_network(content: bytes, layer: str | None = None) -> Network:
    """Check an ONNX model of images.

    Parameters
    ----------
    content : bytes
    layer : str or None, default=None
        Name of the tensor that is wanted; None is the first output.

    Returns
    -------
    Network

    Raises
    ------
    NetworkError
    """
    onnx = import_extra("onnx")
    if len(content) > MAX_BYTES:
        raise NetworkError(f"it has {len(content)} bytes, but {MAX_BYTES} are the limit. Take a smaller network.")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf has its own errors, which change with its version
        raise NetworkError(f"it is not an ONNX model ({str(error).splitlines()[0][:80]}).") from error
    graph = model.graph
    if not graph.node:
        raise NetworkError("it is not an ONNX model, or an empty one.")
    _check_operators(model)
    for tensor in _tensors(graph):
        _check_tensor(tensor)
    _keep_only(graph, layer or _first_output(graph))
    found = _read_input(graph)
    return found._replace(content=model.SerializeToString())


def import_extra(name: str) -> Any:
    """Import a package of the extra.

    Raises
    ------
    ImportError
        With the command that installs it.
    """
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"encoders need the package '{name}'. Install the extra: {EXTRA}") from error


def open_session(network: Network) -> Any:
    """Load a network into onnxruntime, for one thread; sessions can be used by several threads at once.

    All sessions take their memory from one arena of `MAX_MEMORY` bytes.

    Raises
    ------
    NetworkError
        If onnxruntime cannot compute it.
    """
    ort = import_extra("onnxruntime")
    _limit_memory()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is raised
    options.add_session_config_entry("session.use_env_allocators", "1")
    try:
        # Constants are not computed in advance: that would be outside of the limit on memory.
        return ort.InferenceSession(
            network.content, options, providers=["CPUExecutionProvider"], disabled_optimizers=["ConstantFolding"]
        )
    except Exception as error:  # onnxruntime has its own errors for every kind of mistake
        raise NetworkError(f"onnxruntime cannot load it ({first_line(error)}).") from error


def run_session(session: Any, network: Network, values: np.ndarray) -> np.ndarray:
    """Compute the output for an input.

    Raises
    ------
    NetworkError
        If the network fails for it, as for want of memory.
    """
    try:
        return session.run(None, {network.input_name: values})[0]
    except Exception as error:  # as above
        raise NetworkError(f"onnxruntime cannot compute it ({first_line(error)}).") from error


def first_line(error: Exception) -> str:
    """The first line of a message, shortened."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


@cache
def _limit_memory() -> None:
    """Set the limit on the memory of all sessions; once per process, as onnxruntime has it."""
    ort = import_extra("onnxruntime")
    place = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    # -1 is onnxruntime's default; 1 extends the arena by what is needed instead of by powers of two.
    sizes = {"initial_chunk_size_bytes": -1, "max_dead_bytes_per_chunk": -1, "arena_extend_strategy": 1}
    ort.create_and_register_allocator(place, ort.OrtArenaCfg({"max_mem": MAX_MEMORY, **sizes}))


def _check_operators(model: Any) -> None:
    """Refuse what is not a plain graph of standard operators."""
    foreign = {opset.domain for opset in model.opset_import} | {node.domain for node in model.graph.node}
    if model.functions or foreign - set(DOMAINS):
        listed = ", ".join(sorted(foreign - set(DOMAINS))) or "functions of its own"
        raise NetworkError(f"it needs operators outside of the standard ({listed}). Export it with standard ones.")
    if len(model.graph.node) > MAX_NODES:
        raise NetworkError(f"it has {len(model.graph.node)} nodes, but {MAX_NODES} are the limit.")
    if model.graph.sparse_initializer or model.training_info:
        raise NetworkError("it holds sparse weights or steps of training. Export it for inference.")
    for node in model.graph.node:
        if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            raise NetworkError(f"it has a loop or a branch ({node.op_type}). Export it without.")


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.sparse_tensors or attribute.HasField("sparse_tensor"):
                raise NetworkError("it holds sparse weights. Export it with dense ones.")
            yield from attribute.tensors
            if attribute.HasField("t"):
                yield attribute.t


def _check_tensor(tensor: Any) -> None:
    """Refuse weights in other files, and such as declare more than the file holds."""
    onnx = import_extra("onnx")
    if tensor.external_data or tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise NetworkError("its weights are in another file. Save it as one: onnx.save(onnx.load(file), 'one.onnx').")
    if any(side < 0 for side in tensor.dims) or prod(tensor.dims) > MAX_BYTES:
        raise NetworkError(f"its tensor '{tensor.name}' declares a shape of {list(tensor.dims)}, which it cannot have.")


def _first_output(graph: Any) -> str:
    if not graph.output:
        raise NetworkError("it has no output.")
    return graph.output[0].name


def _keep_only(graph: Any, wanted: str) -> None:
    """Leave the nodes that compute a tensor, which becomes the only output."""
    onnx = import_extra("onnx")
    makers = {name: place for place, node in enumerate(graph.node) for name in node.output if name}
    if wanted not in makers:
        listed = ", ".join(repr(node.output[0]) for node in list(graph.node)[-5:])
        raise NetworkError(f"it has no layer '{wanted}'. Its outputs: "
                           f"{', '.join(repr(o.name) for o in graph.output)}; its last layers: {listed}.")  # fmt: skip
    needed: set[int] = set()
    waiting = [makers[wanted]]
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            waiting += [makers[name] for name in graph.node[place].input if name in makers]
    nodes = [graph.node[place] for place in sorted(needed)]
    used = {name for node in nodes for name in node.input}
    weights = [tensor for tensor in graph.initializer if tensor.name in used]
    names = {tensor.name for tensor in weights}
    inputs = [value for value in graph.input if value.name in used - names]
    output = next((value for value in graph.output if value.name == wanted), None)
    output = output or onnx.helper.make_empty_tensor_value_info(wanted)
    kept = onnx.helper.make_graph(nodes, graph.name or "network", inputs, [output], weights)
    graph.CopyFrom(kept)


def _read_input(graph: Any) -> Network:
    """The input of a graph, without the content."""
    onnx = import_extra("onnx")
    if len(graph.input) != 1:
        names = ", ".join(repr(value.name) for value in graph.input) or "none"
        raise NetworkError(f"it must have one input, the image; it has {names}. Export the image part alone.")
    value = graph.input[0]
    tensor = value.type.tensor_type
    kinds = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.FLOAT16: np.float16}
    if tensor.elem_type not in kinds:
        raise NetworkError(f"its input '{value.name}' must hold floats. Export it for float images.")
    shape = tuple(dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else None
                  for dim in tensor.shape.dim)  # fmt: skip
    if not tensor.HasField("shape"):
        shape = (None,) * 4
    if len(shape) != 4:
        raise NetworkError(f"its input '{value.name}' must have four axes, as images have; it has {len(shape)}.")
    layout, n_channels = _find_layout(graph, value.name, shape)
    rows, columns, _ = LAYOUTS[layout]
    if max(shape[0] or 1, shape[rows] or 1, shape[columns] or 1) > MAX_SIDE:
        raise NetworkError(f"its input is {shape}, but {MAX_SIDE} pixels per side are the limit.")
    return Network(b"", value.name, layout, shape, n_channels, np.dtype(kinds[tensor.elem_type]))


def _find_layout(graph: Any, name: str, shape: tuple[int | None, ...]) -> tuple[str, int]:
    """The layout of the input and its number of channels: as declared, or as the first convolution needs it."""
    for layout, (_, _, channels) in LAYOUTS.items():
        declared = shape[channels]
        if declared in (1, 3):
            return layout, int(declared)
    kernels = {tensor.name: tensor.dims for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Conv" and node.input[0] == name and len(kernels.get(node.input[1], ())) == 4:
            n_channels = kernels[node.input[1]][1]
            if n_channels in (1, 3) and shape[1] is None:
                return "NCHW", int(n_channels)
    if shape[1] is None:
        return "NCHW", 3
    raise NetworkError(f"its input '{name}' has shape {shape}, in which no axis is that of 1 or 3 channels.")
