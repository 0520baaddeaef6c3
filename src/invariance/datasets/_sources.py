"""Where each real data set comes from, which terms it has, and where it lies on this machine."""

import os
from pathlib import Path
from typing import NamedTuple

from invariance.datasets._download import Remote, fetch


class DatasetMissing(FileNotFoundError):
    """A data set is not on this machine; the message says what to get, from where, and where to put it."""


class Source(NamedTuple):
    """A real data set: what it is, the files that show that it is there, and how to get it."""

    name: str
    what: str
    needs: tuple[str, ...]  # files or folders, relative to the set's folder
    home: str
    terms: str
    remotes: tuple[Remote, ...] = ()

    @property
    def description(self) -> str:
        """Source and terms in two sentences."""
        return f"{self.what}. Source: {self.home}. Terms: {self.terms}"


IDX_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"  # yann.lecun.com asks for a password since 2024
MNIST_SHA256 = (
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
)
FASHION_URL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
FASHION_SHA256 = (
    "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
)
FLOWERS_URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/17/"

SOURCES = {
    source.name: source
    for source in (
        Source(
            "isbi2012",
            "Neuronal membranes in electron microscopy, up to 30 sections of 512 x 512 with masks",
            ("train-volume.tif", "train-labels.tif"),
            "the ISBI 2012 EM segmentation challenge, https://imagej.net/events/isbi-2012-segmentation-challenge",
            "free for research; cite Cardona et al., PLoS Biology 2010, and Arganda-Carreras et al., 2015.",
        ),
        Source(
            "mnist",
            "70,000 handwritten digits of 28 x 28",
            IDX_FILES,
            "http://yann.lecun.com/exdb/mnist (mirror: " + MNIST_URL + ")",
            "commonly stated as CC BY-SA 3.0; cite LeCun et al., Proc. IEEE 1998.",
            tuple(Remote(MNIST_URL + file, f"sha256:{sha}") for file, sha in zip(IDX_FILES, MNIST_SHA256, strict=True)),
        ),
        Source(
            "fashion_mnist",
            "70,000 pieces of clothing of 28 x 28",
            IDX_FILES,
            "https://github.com/zalandoresearch/fashion-mnist",
            "MIT licence; cite Xiao et al., arXiv:1708.07747.",
            tuple(
                Remote(FASHION_URL + file, f"sha256:{sha}") for file, sha in zip(IDX_FILES, FASHION_SHA256, strict=True)
            ),
        ),
        Source(
            "yale",
            "165 faces of 15 people under 11 conditions, cropped to 32 x 32 or 64 x 64",
            ("Yale_32x32.mat",),
            "Deng Cai's crops of the Yale face database, Yale_32x32.mat",
            "research only, not to be redistributed; cite Belhumeur, Hespanha, Kriegman, PAMI 1997.",
        ),
        Source(
            "uiuc_textures",
            "25 grey textures, 40 photographs each, one folder a class",
            ("T01_bark1", "T25_plaid"),
            "the UIUC texture database of the Ponce group",
            "research use; cite Lazebnik, Schmid, Ponce, PAMI 2005.",
        ),
        Source(
            "flowers17",
            "17 kinds of flowers, 80 colour photographs each",
            ("jpg", "datasplits.mat"),
            FLOWERS_URL,
            "research use; cite Nilsback and Zisserman, CVPR 2006.",
            (
                Remote(FLOWERS_URL + "17flowers.tgz", "md5:b59a65d8d1a99cd66944d474e1289eab", unpack="jpg"),
                Remote(FLOWERS_URL + "datasplits.mat", "md5:4828cddfd0d803c5abbdebcb1e148a1e"),
            ),
        ),
        Source(
            "caltech101",
            "101 object categories and a background, one folder a class",
            ("BACKGROUND_Google", "yin_yang"),
            "https://data.caltech.edu/records/mzrjq-6wc02",
            "commonly stated as CC BY 4.0; cite Fei-Fei, Fergus, Perona, CVPR workshop 2004.",
            (
                Remote(
                    "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
                    "md5:3138e1922a9193bfa496528edbbc45d0",
                    unpack="101_ObjectCategories",
                    whole=True,
                ),
            ),
        ),
        Source(
            "graz02",
            "Photographs of bikes, cars and persons, one folder a class",
            ("bikes", "cars", "persons"),
            "the GRAZ-02 database of A. Opelt and A. Pinz, Graz University of Technology",
            "research use; cite Opelt et al., PAMI 2006.",
        ),
    )
}


def cache_folder() -> Path:
    """Where downloads go: the user's cache folder of this library."""
    import pooch

    return Path(pooch.os_cache("invariance"))


def search_folders() -> list[Path]:
    """The folders that may hold data sets: `$INVARIANCE_DATA` if set, then the cache."""
    own = os.environ.get("INVARIANCE_DATA")
    return [Path(own).expanduser(), cache_folder()] if own else [cache_folder()]


def find(source: Source) -> Path | None:
    """The folder that holds all files of the set, or None."""
    for folder in search_folders():
        if all((folder / source.name / file).exists() for file in source.needs):
            return folder / source.name
    return None


def how_to_get(source: Source) -> str:
    """One sentence: from where, and to which folder."""
    place = os.environ.get("INVARIANCE_DATA") or cache_folder()
    by_hand = f"get it from {source.home} and put {', '.join(source.needs)} into '{Path(place) / source.name}'"
    if source.remotes:
        return f"call load_{source.name}(download=True), or {by_hand}"
    return f"{by_hand} (another place: set INVARIANCE_DATA)"


def locate(name: str, download: bool = False) -> Path:
    """The folder of a real data set; downloaded to the cache if it is missing and `download` is set."""
    source = SOURCES[name]
    folder = find(source)
    if folder is None and download and source.remotes:
        folder = fetch(source.remotes, cache_folder() / name)
    if folder is None:
        raise DatasetMissing(f"the data set {name} ({source.what}) is not here: {how_to_get(source)}.")
    return folder
