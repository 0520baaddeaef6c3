"""Real data sets that fit in memory: ISBI 2012 membranes, MNIST and the Yale faces."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from invariance._core.checks import check_choice, check_count
from invariance.datasets._dataset import Dataset
from invariance.datasets._sources import SOURCES, DatasetMissing, locate

IDX_UNSIGNED_BYTE = 0x08  # type code of the idx format
YALE_CONDITIONS = (
    "centerlight", "glasses", "happy", "leftlight", "noglasses", "normal", "rightlight", "sad", "sleepy", "surprised",
    "wink",
)  # fmt: skip


def load_isbi2012() -> Dataset:
    """Load sections of neuronal tissue with masks that are True on membranes.

    Returns
    -------
    Dataset
        Up to 30 images (n, 512, 512), uint8, with masks.
    """
    import tifffile

    folder = locate("isbi2012")
    images = tifffile.imread(folder / "train-volume.tif")
    labels = tifffile.imread(folder / "train-labels.tif")
    if images.shape != labels.shape or images.ndim != 3:
        raise ValueError(
            f"'{folder}': train-volume.tif has shape {images.shape} but train-labels.tif {labels.shape}; "
            "both must be the same stack (n, h, w). Get them again."
        )
    return Dataset(
        "isbi2012",
        images,
        masks=labels == 0,
        class_names=("cell", "membrane"),
        description=SOURCES["isbi2012"].description,
    )


def load_mnist(split: str = "train", n: int | None = None, download: bool = False) -> Dataset:
    """Load handwritten digits.

    Parameters
    ----------
    split : {"train", "test", "all"}, default="train"
        60,000 digits for training, 10,000 for testing, or both, with these splits.
    n : int, default=None
        Only the first n digits.
    download : bool, default=False
        Whether to download the data set if it is missing.

    Returns
    -------
    Dataset
        Images (n, 28, 28), uint8, with labels.
    """
    check_choice("split", split, ("train", "test", "all"))
    parts = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}[split]
    folder = locate("mnist", download)
    images = np.concatenate([read_idx(folder / f"{part}-images-idx3-ubyte.gz") for part in parts])
    labels = [read_idx(folder / f"{part}-labels-idx1-ubyte.gz").astype(np.int64) for part in parts]
    if n is not None and check_count("n", n) > len(images):
        raise ValueError(f"n must be at most {len(images)}, the size of the split {split!r}; got {n}.")
    if len(images) != sum(map(len, labels)):
        raise ValueError(f"'{folder}' has {len(images)} images but {sum(map(len, labels))} labels. Get it again.")
    rows = np.arange(len(images))[:n]
    in_train = rows < len(labels[0])
    return Dataset(
        "mnist",
        images[rows],
        np.concatenate(labels)[rows],
        class_names=tuple("0123456789"),
        splits={"train": rows[in_train], "test": rows[~in_train]} if split == "all" else {},
        description=SOURCES["mnist"].description,
    )


def read_idx(path: Path) -> np.ndarray:
    """The array of a gzipped idx file of unsigned bytes: two zeros, type, number of axes, sizes, then the bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
        zeros, kind, n_axes = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{n_axes}I", content, 4)
        if (zeros, kind) != (0, IDX_UNSIGNED_BYTE):
            raise ValueError("wrong magic number")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes).reshape(shape)
    except (EOFError, gzip.BadGzipFile, zlib.error, struct.error, ValueError) as error:
        raise ValueError(f"'{path}' is not a complete idx file ({error}). Delete it and get it again.") from error


def load_yale(size: int = 32) -> Dataset:
    """Load faces of 15 people, 11 photographs each.

    Parameters
    ----------
    size : {32, 64}, default=32
        Pixels per side; 32 is the crop of the published protocol.

    Returns
    -------
    Dataset
        Images (165, size, size), uint8, with labels. With size 32 the splits are the photographic conditions
        ("glasses", "leftlight", ...), one image per person each. The file of size 64 has another crop and another order
        of conditions, so it has no splits.
    """
    from scipy.io import loadmat

    if size not in (32, 64):
        raise ValueError(f"size must be 32 or 64; got {size!r}.")
    path = locate("yale") / f"Yale_{size}x{size}.mat"
    if not path.exists():
        raise DatasetMissing(f"'{path}' is missing: only size 32 is present. Put the file there, or use size=32.")
    content = loadmat(path)
    # (n, d) at 32 but (d, n) at 64; either way each image is stored column by column
    rows = content["fea"].reshape(-1, size * size) if size == 32 else content["fea"].T
    images = rows.reshape(-1, size, size).transpose(0, 2, 1)
    people = content["gnd"].ravel().astype(np.int64) - 1
    conditions = {name: np.arange(i, len(people), 11) for i, name in enumerate(YALE_CONDITIONS)}
    return Dataset(
        "yale",
        np.ascontiguousarray(images),
        people,
        class_names=tuple(f"person {i}" for i in range(1, people.max() + 2)),
        splits=conditions if size == 32 else {},
        description=SOURCES["yale"].description,
    )
