"""Digests of data sets: what image files hold counts, and other values than those of stored results are refused."""

import json
import os

import cv2
import numpy as np
import pytest

from experiments import data_digests
from invariance.datasets import list_datasets


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "set" / "class").mkdir(parents=True)
    for name, value in (("a.png", 10), ("class/b.png", 20)):
        cv2.imwrite(str(tmp_path / "set" / name), np.full((4, 5), value, np.uint8))
    return tmp_path / "set"


def test_values_shapes_and_names_count(folder):
    digests = [data_digests.digest_of(folder)]
    for name, image in (("a.png", np.full((4, 5), 11, np.uint8)), ("a.png", np.full((5, 4), 11, np.uint8))):
        cv2.imwrite(str(folder / name), image)
        digests.append(data_digests.digest_of(folder))
    (folder / "a.png").rename(folder / "c.png")
    digests.append(data_digests.digest_of(folder))
    assert len(set(digests)) == len(digests)


def test_how_a_file_is_compressed_does_not_count(folder):
    before = data_digests.digest_of(folder)
    size = (folder / "a.png").stat().st_size
    cv2.imwrite(str(folder / "a.png"), np.full((4, 5), 10, np.uint8), [cv2.IMWRITE_PNG_BILEVEL, 0])
    (folder / "a.png").write_bytes((folder / "a.png").read_bytes() + b"trailing")
    assert (folder / "a.png").stat().st_size != size
    assert data_digests.digest_of(folder) == before


def test_other_images_than_those_of_stored_results_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(data_digests, "FILE", tmp_path / "data.json")
    monkeypatch.setattr(data_digests, "SOURCES", {"some": None})
    monkeypatch.setattr(data_digests, "locate", lambda name: folder)
    data_digests.check_data(["some", "generated"])
    assert json.loads((tmp_path / "data.json").read_text()) == {"some": data_digests.digest_of(folder)}
    data_digests.check_data(["some"])
    cv2.imwrite(str(folder / "a.png"), np.full((4, 5), 12, np.uint8))
    with pytest.raises(ValueError, match="the images of 'some' are read as"):
        data_digests.check_data(["some"])


@pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
def test_data_on_this_machine_is_that_of_stored_results():
    stored = json.loads(data_digests.FILE.read_text())
    present = {status.name for status in list_datasets() if status.present}
    small = sorted(present & {"isbi2012", "uiuc_textures"})
    before = data_digests.FILE.read_text()
    data_digests.check_data(small)
    assert data_digests.FILE.read_text() == before
    assert stored
