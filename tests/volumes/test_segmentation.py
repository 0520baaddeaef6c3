"""A volume labelled in blocks equals its sections labelled in memory, however it is divided and interrupted."""

import copy
import json
import sqlite3

import numpy as np
import pytest
import zarr

from invariance._core.records import RecordsError
from invariance.volumes import planning, segment_volume
from invariance.volumes import segmentation as stages
from invariance.volumes.blocks import choose_block
from invariance.volumes.volume import Section, VolumeError
from invariance.volumes.work import LabelBlock, most_probable


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of at most 64 pixels, so that sections have several."""
    monkeypatch.setattr(planning, "MAX_BLOCK_SIDE", 64)


def test_labels_are_those_of_whole_sections(model, source, expected, tmp_path):
    outcome = segment_volume(model, source, tmp_path / "out.zarr", probabilities=True)
    assert outcome.failures == []
    assert outcome.n_blocks == 3
    found = zarr.open_group(tmp_path / "out.zarr", mode="r")
    np.testing.assert_array_equal(found["0"][:], expected[0])
    np.testing.assert_array_equal(
        found["probabilities/0"][:], np.rint(255 * expected[1]).astype(np.uint8).transpose(3, 0, 1, 2)
    )
    shares = [np.mean(expected[0] == value) for value in model.classes_]
    np.testing.assert_allclose(outcome.shares, shares)


def test_a_block_reads_its_part_of_a_section_once(model, source, tmp_path, monkeypatch):
    """Tiles and their halos overlap: each would decode chunks that others have decoded."""
    reads, read = [], Section.__getitem__
    monkeypatch.setattr(Section, "__getitem__", lambda self, place: reads.append(place) or read(self, place))
    segment_volume(model, source, tmp_path / "out.zarr")
    assert len(reads) == 3


@pytest.mark.parametrize("seed", range(20))
def test_any_chunks_give_the_same(model, source, expected, tmp_path, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(planning, "MAX_BLOCK_SIDE", int(rng.integers(150, 400)))
    chunks = (int(rng.integers(1, 4)), *(int(side) for side in rng.integers(60, 350, size=2)))
    starts = rng.integers([0, 0, 0], [2, 200, 230])
    stops = [int(rng.integers(start + 1, length + 1)) for start, length in zip(starts, (3, 300, 330), strict=True)]
    roi = [slice(int(start), stop) for start, stop in zip(starts, stops, strict=True)]
    version = ("0.4", "0.5")[seed % 2]
    segment_volume(model, source, tmp_path / "out.zarr", chunks=chunks, roi=roi, version=version)
    found = zarr.open_array(tmp_path / "out.zarr", path="0", mode="r")
    np.testing.assert_array_equal(found[:], expected[0][tuple(roi)])


def test_an_interrupted_job_goes_on_where_it_was(model, source, expected, tmp_path, monkeypatch, small_blocks):
    n_calls, label = [], LabelBlock.__call__

    def interrupt(self):
        if len(n_calls) == 4:
            raise KeyboardInterrupt
        n_calls.append(self.place)
        return label(self)

    roi = [slice(0, 2), slice(0, 128), slice(100, 228)]
    settings = {"chunks": (1, 64, 64), "roi": roi}
    monkeypatch.setattr(LabelBlock, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        segment_volume(model, source, tmp_path / "out.zarr", **settings)
    first = list(n_calls)
    monkeypatch.setattr(LabelBlock, "__call__", lambda self: n_calls.append(self.place) or label(self))
    outcome = segment_volume(model, source, tmp_path / "out.zarr", **settings)
    assert outcome.n_blocks == 8
    assert outcome.n_found == 4
    assert len(n_calls) == 8
    assert len({str(place) for place in n_calls}) == 8, "no block twice"
    assert len(first) == 4
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "out.zarr", path="0")[:], expected[0][tuple(roi)])
    segment_volume(model, source, tmp_path / "out.zarr", **settings)
    assert len(n_calls) == 8, "nothing is left to do"


def test_blocks_that_fail_are_tried_again_then_listed_and_the_rest_is_finished(
    model, source, tmp_path, monkeypatch, small_blocks
):
    tries, label = {}, LabelBlock.__call__

    def fail(self):
        column = self.place[2].start
        tries[column] = tries.get(column, 0) + 1
        if column == 0 or (column == 64 and tries[64] == 1):
            raise OSError("no such luck")
        return label(self)

    monkeypatch.setattr(LabelBlock, "__call__", fail)
    roi = [slice(0, 1), slice(0, 64), slice(0, 192)]
    outcome = segment_volume(model, source, tmp_path / "out.zarr", chunks=(1, 64, 64), roi=roi)
    assert [(failure.stage, failure.number) for failure in outcome.failures] == [("label", 0)]
    assert "no such luck" in outcome.failures[0].error
    assert tries == {0: 3, 64: 2, 128: 1}
    monkeypatch.setattr(LabelBlock, "__call__", label)
    assert segment_volume(model, source, tmp_path / "out.zarr", chunks=(1, 64, 64), roi=roi).failures == []


def test_another_model_or_setting_is_refused_until_restart(model, source, tmp_path):
    roi = [slice(0, 1), slice(0, 20), slice(0, 30)]
    segment_volume(model, source, tmp_path / "out.zarr", roi=roi)
    with pytest.raises(RecordsError, match="the settings of the result"):
        segment_volume(model, source, tmp_path / "out.zarr")
    other = copy.copy(model)
    other.classes_ = model.classes_ + 1
    with pytest.raises(RecordsError, match="the model of the result"):
        segment_volume(other, source, tmp_path / "out.zarr", roi=roi)
    other.classes_ = model.classes_
    assert segment_volume(other.set_params(n_jobs=2), source, tmp_path / "out.zarr", roi=roi).failures == []
    outcome = segment_volume(
        model, source, tmp_path / "out.zarr", roi=[slice(0, 1), slice(0, 9), slice(0, 9)], restart=True
    )
    assert zarr.open_array(outcome.target, path="0").shape == (1, 9, 9)


def test_what_others_wrote_is_never_replaced(model, source, tmp_path):
    (tmp_path / "out.zarr").mkdir()
    with pytest.raises(FileExistsError, match="by which this command knows its own results"):
        segment_volume(model, source, tmp_path / "out.zarr", restart=True)


def test_two_processes_do_not_share_a_job(model, source, tmp_path, monkeypatch):
    roi = [slice(0, 1), slice(0, 20), slice(0, 30)]
    segment_volume(model, source, tmp_path / "out.zarr", roi=roi)
    with sqlite3.connect(tmp_path / "out.zarr.job" / "records.sqlite") as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr("invariance._core.records.WAIT_SECONDS", 0.1)
        with pytest.raises(RecordsError, match="Another process"):
            segment_volume(model, source, tmp_path / "out.zarr", roi=roi)


def test_levels_and_metadata(model, source, tmp_path, expected):
    segment_volume(model, source, tmp_path / "out.zarr", chunks=(1, 64, 64), probabilities=True)
    attributes = json.loads((tmp_path / "out.zarr" / ".zattrs").read_text())
    multiscale = attributes["multiscales"][0]
    assert multiscale["version"] == "0.4"
    assert [axis["name"] for axis in multiscale["axes"]] == ["z", "y", "x"]
    assert [dataset["path"] for dataset in multiscale["datasets"]] == ["0", "1", "2", "3"]
    assert multiscale["datasets"][2]["coordinateTransformations"] == [
        {"type": "scale", "scale": [1.0, 4.0, 4.0]}, {"type": "translation", "translation": [0.0, 1.5, 1.5]}
    ]  # fmt: skip
    assert [one["label-value"] for one in attributes["image-label"]["properties"]] == [3, 7]
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert [group[name].shape for name in "0123"] == [(3, 300, 330), (3, 150, 165), (3, 75, 83), (3, 38, 42)]
    squares = expected[0].reshape(3, 150, 2, 165, 2)
    n_high = (squares == 7).sum(axis=(2, 4))
    np.testing.assert_array_equal(group["1"][:], np.where(n_high > 2, 7, 3))
    maps = group["probabilities/0"][:].astype(float).reshape(2, 3, 150, 2, 165, 2).mean(axis=(3, 5))
    assert np.abs(group["probabilities/1"][:] - maps).max() <= 0.5


def test_blocks_are_whole_chunks(monkeypatch):
    assert choose_block((9, 10_000, 300), (1, 512, 300)) == (1, 4096, 300)
    assert choose_block((9, 700, 300), (1, 512, 300)) == (1, 1024, 300)
    assert choose_block((9, 10_000, 9000), (2, 5000, 700)) == (2, 5000, 3500)
    assert choose_block((9, 10_000, 9000), (1, 512, 512), is_whole=True) == (1, 10_240, 9216)


def test_a_volume_of_other_channels_is_refused(model, tmp_path):
    array = zarr.create_array(tmp_path / "colour.zarr", shape=(2, 40, 50, 3), dtype="uint8", chunks=(1, 40, 50, 3))
    array[:] = 9
    with pytest.raises(VolumeError, match="has 3 channels"):
        segment_volume(model, tmp_path / "colour.zarr", tmp_path / "out.zarr")
    assert not (tmp_path / "out.zarr.job").exists()
    outcome = segment_volume(model, tmp_path / "colour.zarr", tmp_path / "out.zarr", channel=1)
    assert zarr.open_array(outcome.target, path="0").shape == (2, 40, 50)


def test_the_fingerprint_follows_what_is_predicted_with(model):
    other = copy.copy(model)
    assert stages.fingerprint(other.set_params(n_jobs=2)) == stages.fingerprint(model)
    assert stages.fingerprint(other.set_params(standardize=False)) != stages.fingerprint(model)


def test_the_most_probable_class_is_that_of_argmax():
    rng = np.random.default_rng(0)
    for n_classes in (1, 2, 3, 7):
        maps = rng.integers(0, 4, (20, 30, n_classes)).astype(np.float32)  # with many ties
        np.testing.assert_array_equal(most_probable(maps), maps.argmax(axis=2))
