"""A full disk: the error names the file and how much it needs, the old file stays, and nothing unfinished remains."""

import errno
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from invariance._core.files import atomic_path
from invariance.images import Layout, page_writer

resource = pytest.importorskip("resource")
LIMIT = 20_000  # bytes


def run_with_little_space(program, folder):
    """Run a program that cannot write files larger than the limit."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))\n"
    command = [sys.executable, "-c", limit + textwrap.dedent(program)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_error_says_which_file_and_how_much(tmp_path):
    (tmp_path / "x.bin").write_text("old")
    for n_bytes, needed in ((None, "more than 0 bytes"), (2_000_000, "2,000,000 bytes")):
        with pytest.raises(OSError, match="are needed") as raised, atomic_path(tmp_path / "x.bin", n_bytes):
            raise OSError(errno.ENOSPC, "No space left on device")
        assert raised.value.errno == errno.ENOSPC
        assert raised.value.filename == str(tmp_path / "x.bin")
        assert f"No space left on device; {needed} are needed" in str(raised.value)
    assert os.listdir(tmp_path) == ["x.bin"]
    assert (tmp_path / "x.bin").read_text() == "old"


def test_a_disk_that_takes_no_more_names_is_full_too(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device", "a-hidden-neighbour")

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(OSError, match="No space left") as raised, atomic_path(tmp_path / "x.bin"):
        pass
    assert raised.value.filename == str(tmp_path / "x.bin")


def test_other_errors_stay_as_they_are(tmp_path):
    with pytest.raises(OSError, match="no such thing") as raised, atomic_path(tmp_path / "x.bin"):
        raise OSError(errno.EIO, "no such thing")
    assert raised.value.filename is None


def test_of_several_open_files_the_right_one_is_named(tmp_path, monkeypatch):
    first, second = tmp_path / "first.png", tmp_path / "second.tif"

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("invariance.images.writing._write_png", fail)
    with (
        pytest.raises(OSError, match=r"first\.png"),
        page_writer(first) as write,
        page_writer(second, Layout(axes="Z", lengths=(9,))),
    ):
        write(np.zeros((5, 5), np.uint8))
    assert os.listdir(tmp_path) == []


def test_a_stack_says_how_much_all_of_it_needs(tmp_path):
    program = """
    import numpy as np
    from invariance.images import Layout, page_writer
    with page_writer("x.tif", Layout(axes="Z", lengths=(9,))) as write:
        for _ in range(9):
            write(np.ones((100, 100), np.uint8))
    """
    ended = run_with_little_space(program, tmp_path)
    assert "90,000 bytes are needed" in ended.stderr.splitlines()[-1]
    assert "'x.tif'" in ended.stderr.splitlines()[-1]
    assert os.listdir(tmp_path) == []


def test_a_command_says_it_in_one_line(tmp_path):
    program = """
    import sys
    from invariance.cli import main
    sys.exit(main(["transformations", "-o", "x.png"]))
    """
    ended = run_with_little_space(program, tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: cannot write 'x.png': ")
    assert "more than 20,000 bytes are needed" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [["transformations"], ["--version"]])
def test_standard_output_can_be_full_as_well(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "invariance", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: cannot write standard output: ")
    assert ended.stderr.count("\n") == 1
