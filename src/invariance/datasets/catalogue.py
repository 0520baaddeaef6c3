"""Which data sets there are, which are on this machine, and how to get those that are not."""

from typing import NamedTuple

from invariance.datasets._sources import SOURCES, find, how_to_get


class DatasetStatus(NamedTuple):
    """One line of the catalogue; `how` is the call that loads a set, or what to do to get it."""

    name: str
    what: str
    present: bool
    where: str
    how: str


ALWAYS_THERE = (
    DatasetStatus("digits", "1,797 handwritten digits of 8 x 8", True, "scikit-learn", "load_digits()"),
    DatasetStatus("textures", "windows of brick, grass and gravel", True, "scikit-image", "load_textures()"),
    DatasetStatus("faces", "100 faces and 100 others of 25 x 25", True, "scikit-image", "load_faces()"),
    DatasetStatus("membranes", "electron micrographs of cells with masks", True, "generated", "make_membranes()"),
    DatasetStatus("glyphs", "line drawings of six classes", True, "generated", "make_glyphs()"),
    DatasetStatus("noise_textures", "noise of four spectra", True, "generated", "make_textures()"),
)


def list_datasets() -> list[DatasetStatus]:
    """Every data set: first those that are always there, then the real ones with where they lie or how to get them."""
    statuses = list(ALWAYS_THERE)
    for source in SOURCES.values():
        folder = find(source)
        how = f"load_{source.name}()" if folder else how_to_get(source)
        statuses.append(DatasetStatus(source.name, source.what, folder is not None, str(folder or ""), how))
    return statuses
