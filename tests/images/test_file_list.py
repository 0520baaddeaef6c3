"""A list of files on the disk."""

import os
from pathlib import Path

import pytest

from invariance.images.file_list import FileList
from invariance.images.listing import iterate_images, list_images


def test_files_are_listed_once_in_the_order_in_which_they_came():
    files = FileList(n_together=4)
    files.add(map(Path, "cab"))
    files.add(map(Path, "dacebf"))
    assert len(files) == 6
    assert files.n_blocks == 2
    assert [files.block(number) for number in range(3)] == [[*map(Path, "cabd")], [*map(Path, "ef")], []]


def test_an_empty_list_has_no_blocks():
    assert FileList(8).n_blocks == len(FileList(8)) == 0


@pytest.mark.skipif(os.name != "posix", reason="file names are text elsewhere")
def test_names_that_are_no_text_come_back():
    files, name = FileList(2), Path(os.fsdecode(b"\xff\n.png"))
    files.add([name])
    assert files.block(0) == [name]


def fingerprint(*paths):
    files = FileList(2)
    files.add(paths)
    return files.fingerprint()


def test_the_fingerprint_changes_with_names_order_and_contents(tmp_path):
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_text("a")
    two.write_text("b")
    before = fingerprint(one, two)
    assert fingerprint(one, two) == before
    assert len({before, fingerprint(two, one), fingerprint(one)}) == 3
    two.write_text("bb")
    assert fingerprint(one, two) != before


def test_images_are_iterated_in_the_order_of_the_parts_of_their_paths(tmp_path):
    names = ["a/1.png", "a/b/0.png", "a.png", "a-b/2.png", "a/b.png", "B.png", "b/x.heic", "b/.hidden.png"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    left_out = []
    found = list(iterate_images(tmp_path, left_out, recursive=True))
    assert found == sorted(tmp_path / name for name in names[:6])
    assert [path.name for path, _ in left_out] == ["x.heic"]
    assert list_images(tmp_path, recursive=True) == (found, left_out)
