"""Warnings that reach the user of the command: ours, each on one line, and no others."""

import subprocess
import sys
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from invariance._core.compilation import CompiledCodeWarning
from invariance.cli import main
from invariance.cli.one_line_warnings import PACKAGE, one_line_warnings
from tests.core.test_compilation import read_only as read_only

OUR_FILE = str(PACKAGE / "tradeoff" / "classifier.py")
THEIR_FILE = "/site-packages/sklearn/utils/validation.py"


@pytest.mark.parametrize(
    ("category", "file", "shown"),
    [
        (UserWarning, OUR_FILE, True),
        (ConvergenceWarning, OUR_FILE, True),
        (CompiledCodeWarning, THEIR_FILE, True),
        (RuntimeWarning, OUR_FILE, False),
        (UserWarning, THEIR_FILE, False),
        (ConvergenceWarning, THEIR_FILE, False),
        (DeprecationWarning, THEIR_FILE, False),
    ],
)
def test_only_our_own_warnings_are_shown(category, file, shown, capsys, monkeypatch):
    monkeypatch.setattr(sys, "warnoptions", [])
    before = warnings.showwarning
    with one_line_warnings():
        warnings.simplefilter("always")
        warnings.warn_explicit("odd\nnews", category, file, 12)
    assert warnings.showwarning is before
    assert capsys.readouterr().err == ("Warning: odd news\n" if shown else "")


def test_the_command_runs_within_it(capsys, monkeypatch):
    monkeypatch.setattr(sys, "warnoptions", [])

    def warn(*_, **__):
        warnings.simplefilter("always")
        warnings.warn_explicit("from a dependency", UserWarning, THEIR_FILE, 1)
        warnings.warn_explicit("from us", UserWarning, OUR_FILE, 1)

    monkeypatch.setattr("invariance.cli.app", warn)
    assert main([]) == 0
    assert capsys.readouterr().err == "Warning: from us\n"


def test_what_dependencies_log_is_not_shown():
    code = (
        "import logging, sys\n"
        "from invariance import cli\n"
        "cli.app = lambda *_, **__: logging.getLogger('matplotlib').warning('no home')\n"
        "cli.main([])\n"
        "logging.getLogger('matplotlib').warning('after')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr == "after\n"


def test_where_compiled_code_cannot_be_kept_the_command_works_and_says_so_in_one_line(read_only):
    code = "import sys; from invariance.cli import main; sys.exit(main(['methods']))"
    done = subprocess.run([sys.executable, "-c", code], env=read_only, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "tradeoff" in done.stdout
    assert done.stderr.startswith("Warning: compiled code cannot be kept on disk")
    assert done.stderr.count("\n") == 1
