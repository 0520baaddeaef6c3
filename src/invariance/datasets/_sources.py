"""Which data sets exist, where the real ones come from, their terms of use, and where they are on this machine."""

import os
from pathlib import Path
from typing import NamedTuple

from invariance.datasets._download import Remote, fetch


class DatasetMissing(FileNotFoundError):
    """Raised for a data set that is not on this machine; the message says where to get it and where to put it."""


class Source(NamedTuple):
    """A real data set: what it is, the files that must be present, and where to get it."""

    name: str
    what: str
    needs: tuple[str, ...]  # files or folders, relative to the folder of the data set
    home: str
    terms: str
    remotes: tuple[Remote, ...] = ()

    @property
    def description(self) -> str:
        """Contents, source and terms of use."""
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
            "yale",
            "165 faces of 15 people under 11 conditions, cropped to 32 x 32 or 64 x 64",
            ("Yale_32x32.mat",),
            "Deng Cai's crops of the Yale face database, Yale_32x32.mat",
            "research only, not to be redistributed; cite Belhumeur, Hespanha, Kriegman, PAMI 1997.",
        ),
        Source(
            "uiuc_textures",
            "25 grey textures, 40 photographs each, one folder per class",
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
            "101 object categories and a background, one folder per class",
            ("BACKGROUND_Google", "yin_yang"),
            "https://data.caltech.edu/records/mzrjq-6wc02",
            "commonly stated as CC BY 4.0; cite Fei-Fei, Fergus, Perona, CVPR workshop 2004.",
            (
                Remote(
                    "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
                    "md5:3138e1922a9193bfa496528edbbc45d0",
                    unpack="101_ObjectCategories",
                    is_root=True,
                ),
            ),
        ),
        Source(
            "graz02",
            "Photographs of bikes, cars and persons, one folder per class",
            ("bikes", "cars", "persons"),
            "the GRAZ-02 database of A. Opelt and A. Pinz, Graz University of Technology",
            "research use; cite Opelt et al., PAMI 2006.",
        ),
        Source(
            "voc2005",
            "Photographs of motorbikes, bicycles, people and cars with bounding boxes",
            ("VOC2005_1", "imgsets"),
            "http://host.robots.ox.ac.uk/pascal/VOC/voc2005 (voc2005_1.tar.gz, voc2005_2.tar.gz for the second test "
            "set, and the folder imgsets of the development kit)",
            "research use; cite Everingham et al., The 2005 PASCAL visual object classes challenge, 2006.",
        ),
        Source(
            "inria_horses",
            "170 photographs with horses, with bounding boxes, and 170 without",
            ("pos", "neg"),
            "the INRIA horses of V. Ferrari and F. Jurie, inria_horses_v103.tgz",
            "research use; cite Ferrari, Jurie, Schmid, CVPR 2007.",
        ),
    )
}


class DatasetStatus(NamedTuple):
    """One line of the list of data sets.

    Attributes
    ----------
    name : str
        Name of the data set.
    what : str
        What it contains.
    present : bool
        Whether it can be loaded on this machine.
    where : str
        The folder it is in, or the package that contains it.
    how : str
        The call that loads it, or how to get it.
    """

    name: str
    what: str
    present: bool
    where: str
    how: str


ALWAYS_PRESENT = (
    DatasetStatus("digits", "1,797 handwritten digits of 8 x 8", True, "scikit-learn", "load_digits()"),
    DatasetStatus("textures", "windows of brick, grass and gravel", True, "scikit-image", "load_textures()"),
    DatasetStatus("faces", "100 faces and 100 other images of 25 x 25", True, "scikit-image", "load_faces()"),
    DatasetStatus("membranes", "electron micrographs of cells with masks", True, "generated", "make_membranes()"),
    DatasetStatus("glyphs", "line drawings of six classes", True, "generated", "make_glyphs()"),
    DatasetStatus("noise_textures", "noise of four spectra", True, "generated", "make_textures()"),
)


def list_datasets() -> list[DatasetStatus]:
    """List all data sets.

    Returns
    -------
    list of DatasetStatus
        First the data sets that are always present, then the real ones with where they are or how to get them.
    """
    statuses = list(ALWAYS_PRESENT)
    for source in SOURCES.values():
        folder = find(source)
        how = f"load_{source.name}()" if folder else how_to_get(source)
        statuses.append(DatasetStatus(source.name, source.what, folder is not None, str(folder or ""), how))
    return statuses


def cache_folder() -> Path:
    """The cache folder of the library, for downloads."""
    import pooch

    return Path(pooch.os_cache("invariance"))


def search_folders() -> list[Path]:
    """The folders in which data sets are looked for: `$INVARIANCE_DATA` if set, then the cache."""
    own = os.environ.get("INVARIANCE_DATA")
    return [Path(own).expanduser(), cache_folder()] if own else [cache_folder()]


def find(source: Source) -> Path | None:
    """The folder that has all files of the data set, or None."""
    for folder in search_folders():
        if all((folder / source.name / file).exists() for file in source.needs):
            return folder / source.name
    return None


def how_to_get(source: Source) -> str:
    """How to get a data set: from where, and into which folder."""
    place = os.environ.get("INVARIANCE_DATA") or cache_folder()
    by_hand = f"get it from {source.home} and put {', '.join(source.needs)} into '{Path(place) / source.name}'"
    if source.remotes:
        return f"call load_{source.name}(download=True), or {by_hand}"
    return f"{by_hand} (for another folder set INVARIANCE_DATA)"


def locate(name: str, download: bool = False) -> Path:
    """The folder of a real data set, which is downloaded to the cache if it is missing and `download` is set."""
    source = SOURCES[name]
    folder = find(source)
    if folder is None and download and source.remotes:
        folder = fetch(source.remotes, cache_folder() / name)
    if folder is None:
        raise DatasetMissing(f"the data set {name} ({source.what}) is not on this machine: {how_to_get(source)}.")
    return folder
