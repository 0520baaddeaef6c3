"""What is written is read by other programs; ome-zarr and napari's reader only where they are installed."""

import dask.array
import numpy as np
import pytest

from invariance.volumes import segment_volume


@pytest.fixture(params=["0.4", "0.5"])
def target(request, model, source, tmp_path):
    roi = [slice(0, 2), slice(0, 80), slice(10, 110)]
    settings = {"chunks": (1, 40, 40), "probabilities": True, "version": request.param}
    return segment_volume(model, source, tmp_path / "out.zarr", roi=roi, **settings).target


def test_dask(target, expected):
    found = dask.array.from_zarr(target, component="0")
    np.testing.assert_array_equal(found.compute(), expected[0][:2, :80, 10:110])


def test_ome_zarr(target, expected):
    pytest.importorskip("ome_zarr")
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    (labels,) = Reader(parse_url(str(target)))()
    assert [part.shape for part in labels.data] == [(2, 80, 100), (2, 40, 50), (2, 20, 25)]
    assert {type(spec).__name__ for spec in labels.specs} == {"Label", "Multiscales"}
    np.testing.assert_array_equal(np.asarray(labels.data[0]), expected[0][:2, :80, 10:110])
    (maps,) = Reader(parse_url(str(target / "probabilities")))()
    assert maps.data[0].shape == (2, 2, 80, 100)


def test_napari(target):
    pytest.importorskip("napari_ome_zarr")
    from napari_ome_zarr import napari_get_reader

    ((data, _, kind),) = napari_get_reader(str(target))(str(target))
    assert kind == "labels"
    assert data[0].shape == (2, 80, 100)
