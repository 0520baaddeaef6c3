"""Entry points are those that `importlib.metadata` finds, read without it."""

from importlib import metadata

import pytest

from invariance._core.entry_points import EntryPoint, find_entry_points

METHODS = "invariance.methods"


@pytest.mark.parametrize("group", sorted({METHODS, "invariance.commands", *metadata.entry_points().groups}))
def test_they_are_those_of_the_standard_library(group):
    expected = {point.name: point.value for point in metadata.entry_points(group=group)}
    assert {point.name: point.value for point in find_entry_points(group).values()} == expected


@pytest.mark.parametrize("name", sorted(find_entry_points(METHODS)))
def test_they_load_the_same_object(name):
    [expected] = metadata.entry_points(group=METHODS, name=name)
    assert find_entry_points(METHODS)[name].load() is expected.load()


def test_values_may_have_attributes_extras_and_spaces():
    assert EntryPoint("a", "collections").load().__name__ == "collections"
    assert EntryPoint("a", "collections.abc : Mapping.get [extra]").load().__qualname__ == "Mapping.get"


def write(folder, package, text):
    metadata_folder = folder / f"{package}.dist-info"
    metadata_folder.mkdir(parents=True)
    (metadata_folder / "entry_points.txt").write_text(text)


def test_the_first_of_two_installed_versions_counts(tmp_path, monkeypatch):
    for folder, version in (("new", 2), ("old", 1)):
        write(tmp_path / folder, f"Sample-{version}.0", f"# of {folder}\n[some.group]\nsample = {folder}\n")
        write(tmp_path / folder, f"{folder}-1.0", f"[other]\nsample = wrong\n\n[some.group]\n{folder} = {folder}:a\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / name) for name in ("missing", "new", "old")])
    found = {name: point.value for name, point in find_entry_points("some.group").items()}
    assert found == {"sample": "new", "new": "new:a", "old": "old:a"}
