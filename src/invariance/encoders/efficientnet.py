"""EfficientNet-lite0 as an ONNX network: the graph is written here, the weights come from a package.

Depthwise separable blocks without the parts of EfficientNet-B0 that small devices lack (squeeze and excitation, swish):
Tan and Le 2019, and Liu 2020 for the lite variants. Batch normalizations are folded into the convolutions before them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

EPSILON = 1e-3  # of the batch normalizations, as the network was trained
OPSET, IR_VERSION = 17, 8  # of 2022: any onnxruntime since 1.12 reads them
SPATIAL, POOLED = "features", "pooled"  # outputs: (n, 1280, h, w), and their mean (n, 1280)


class Stage(NamedTuple):
    """Blocks of one resolution: the first has the stride, all have the same output channels."""

    n_blocks: int
    kernel: int
    stride: int
    expansion: int
    n_channels: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
N_STEM = 32


def build_efficientnet(weights: Mapping[str, np.ndarray]) -> bytes:
    """Build the network.

    Parameters
    ----------
    weights : mapping of str to ndarray
        As `efficientnet_lite_pytorch` names them.

    Returns
    -------
    bytes
        An ONNX model of images (n, 3, h, w) of any size, with the outputs "features" and "pooled".
    """
    from onnx import TensorProto, helper

    graph = _Graph(weights)
    top = graph.convolve("image", "_conv_stem", "_bn0", stride=2)
    n_channels = N_STEM
    for place, (stage, stride) in enumerate(_blocks()):
        below, name = top, f"_blocks.{place}"
        if stage.expansion > 1:
            top = graph.convolve(top, f"{name}._expand_conv", f"{name}._bn0")
        groups = n_channels * stage.expansion
        top = graph.convolve(top, f"{name}._depthwise_conv", f"{name}._bn1", stride, groups)
        top = graph.convolve(top, f"{name}._project_conv", f"{name}._bn2", is_clipped=False)
        if stride == 1 and n_channels == stage.n_channels:
            top = graph.add("Add", [top, below], f"{name}.sum")
        n_channels = stage.n_channels
    top = graph.convolve(top, "_conv_head", "_bn1", output=SPATIAL)
    graph.add("Flatten", [graph.add("GlobalAveragePool", [top], "mean")], POOLED)
    n_features = len(weights["_conv_head.weight"])
    made = helper.make_graph(
        graph.nodes,
        "efficientnet-lite0",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "height", "width"])],
        [
            helper.make_tensor_value_info(POOLED, TensorProto.FLOAT, ["n", n_features]),
            helper.make_tensor_value_info(SPATIAL, TensorProto.FLOAT, ["n", n_features, "rows", "columns"]),
        ],
        graph.initializers,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return model.SerializeToString(deterministic=True)


def _blocks() -> Iterator[tuple[Stage, int]]:
    """The stage and the stride of every block."""
    for stage in STAGES:
        yield from ((stage, stage.stride if place == 0 else 1) for place in range(stage.n_blocks))


class _Graph:
    """Nodes and initializers, as they are added."""

    def __init__(self, weights: Mapping[str, np.ndarray]):
        from onnx import numpy_helper

        self.weights = weights
        self.nodes: list[Any] = []
        self._keep = numpy_helper.from_array
        self.initializers = [self._keep(np.array(bound, np.float32), f"{bound}") for bound in (0, 6)]

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def convolve(
        self, below: str, name: str, normalization: str, stride: int = 1, groups: int = 1, is_clipped: bool = True,
        output: str | None = None,
    ) -> str:  # fmt: skip
        """Add a convolution with its batch normalization, cut to [0, 6] if `is_clipped`."""
        kernel, bias = self._fold(name, normalization)
        self.initializers += [self._keep(kernel, f"{name}.weight"), self._keep(bias, f"{name}.bias")]
        # TensorFlow pads the right and the bottom by one pixel more where an even number of them is not possible.
        settings = {"auto_pad": "SAME_UPPER", "strides": [stride, stride], "group": groups}
        end = output or name
        out = self.add("Conv", [below, f"{name}.weight", f"{name}.bias"], f"{end}.sums" if is_clipped else end,
                       kernel_shape=kernel.shape[2:], **settings)  # fmt: skip
        return self.add("Clip", [out, "0", "6"], end) if is_clipped else out

    def _fold(self, name: str, normalization: str) -> tuple[np.ndarray, np.ndarray]:
        """The kernel (c, c', k, k) and the bias (c,) that do both steps in one."""
        kernel = self.weights[f"{name}.weight"].astype(np.float64)
        mean, variance, factor, bias = (
            self.weights[f"{normalization}.{part}"].astype(np.float64)
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        factor = factor / np.sqrt(variance + EPSILON)
        return (kernel * factor[:, None, None, None]).astype(np.float32), (bias - mean * factor).astype(np.float32)
