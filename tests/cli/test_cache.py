"""`invariance cache` says what is kept and removes it; a second `fit` finds what the first one kept."""

import json

import numpy as np
import pytest
from PIL import Image

from invariance._core import keeping
from invariance._core.caching import ArrayCache
from invariance.cli import main
from invariance.descriptors import MaximumResponses
from invariance.models import load


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(keeping, "_memory", ArrayCache(10**7))
    return tmp_path / "kept"


def shown(capsys, *arguments):
    capsys.readouterr()
    assert main(["cache", *arguments]) == 0
    return capsys.readouterr().out


def test_it_says_what_is_kept_and_clears_it(place, capsys):
    keeping.keep("kind", np.zeros(3), lambda: np.ones(100, np.float32))
    facts = json.loads(shown(capsys, "--json"))
    assert (facts["folder"], facts["n_arrays"], facts["max_bytes"]) == (str(place), 1, 2 * 2**30)
    assert facts["n_bytes"] == sum(path.stat().st_size for path in place.rglob("*.npy"))
    text = shown(capsys)
    assert str(place) in text
    assert f"{facts['n_bytes']:,}" in text
    assert "1 arrays" in shown(capsys, "--clear")
    assert json.loads(shown(capsys, "--json"))["n_arrays"] == 0
    assert list(place.rglob("*.npy")) == []


def test_it_says_that_nothing_is_kept(monkeypatch, capsys):
    monkeypatch.setenv("INVARIANCE_CACHE", "0")
    assert "Nothing is kept" in shown(capsys)
    assert json.loads(shown(capsys, "--json")) is None


def test_a_second_fit_describes_nothing_and_gives_the_same_model(place, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for name in ("level", "upright"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(4):
            noise = rng.integers(0, 256, (32, 4) if name == "level" else (4, 32), dtype=np.uint8)
            image = np.repeat(noise, 8, axis=1 if name == "level" else 0)
            Image.fromarray(image).save(tmp_path / "images" / name / f"{number}.png")

    def fit(name):
        monkeypatch.setattr(keeping, "_memory", ArrayCache(10**7))  # as in the next process
        path = tmp_path / name
        assert main(["fit", str(tmp_path / "images"), "-o", str(path), "--method", "texture", "--jobs", "1"]) == 0
        return path

    first = fit("first.inv")
    assert keeping.shared_store().usage().n_arrays == 8 + 1  # images, and the words
    monkeypatch.setattr(MaximumResponses, "_describe", lambda *_: pytest.fail("it was described again"))
    second = fit("second.inv")
    images = [np.float32(rng.random((32, 32))) for _ in range(5)]
    monkeypatch.undo()
    np.testing.assert_array_equal(*(load(path).predict_proba(images) for path in (first, second)))
