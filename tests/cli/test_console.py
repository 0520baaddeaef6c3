"""What commands print: safe on terminals, in every encoding, and quiet when nobody reads."""

import ast
import csv
import io
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from invariance import cli
from invariance._core.escaping import escape_controls, in_one_line
from invariance.cli import main
from invariance.cli.console import NAMES, make_console
from invariance.methods import ImageClassifier, evaluate
from invariance.report import Report
from invariance.report.explanation.accuracy import show_confusions, show_examples

ESCAPE = "\x1b[31mred\x07"
HOSTILE = ("<script>alert(1)</script>", "$\\frac{$ $", "label", "path", "🍃", f"a{ESCAPE}")


class Fixed(ImageClassifier):
    """Stands in for a fitted classifier: always the same probabilities."""

    def __init__(self, classes):
        super().__init__("codebook")
        self.classes_ = np.array(classes)

    def predict_proba(self, images):
        shares = np.arange(1, len(self.classes_) + 1)
        return np.tile(shares / shares.sum(), (len(images), 1))


def python_m(*arguments, **settings):
    command = [sys.executable, "-m", "invariance", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **settings)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def use_classes(here, monkeypatch):
    """Makes `predict` and `evaluate` use a stand-in with these classes, and makes images of them."""

    def use(*classes):
        for module in ("predict", "evaluate"):
            monkeypatch.setattr(f"invariance.cli.{module}.load_classifier", lambda path, scale: Fixed(classes))
        for name in classes:
            if "/" not in name:
                (here / "photos" / name).mkdir(parents=True)
                Image.new("L", (8, 8), 9).save(here / "photos" / name / f"{ESCAPE}.png")

    return use


def test_all_commands_print_by_the_console_only():
    for path in Path(cli.__file__).parent.glob("*.py"):
        if path.name == "console.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not [call for call in calls if isinstance(call, ast.Name) and call.id in ("print", "Console")], path


def test_control_characters_are_escaped_and_lines_kept():
    assert escape_controls("a\x1b[0m\r\n\tb\udcff é 🍃") == "a\\x1b[0m\\r\n\\tb\\udcff é 🍃"
    assert in_one_line("a\nb\x07") == "a b\\x07"


def test_rich_colours_its_own_texts_and_escapes_those_of_others():
    stream = io.StringIO()
    console = make_console(file=stream, force_terminal=True, color_system="standard")
    console.print("name\x1b[2J", style="red")
    assert stream.getvalue() == "\x1b[31mname\\x1b[2J\x1b[0m\n"


def test_names_are_escaped_in_what_people_read_and_whole_in_tables(use_classes, here, capfd):
    use_classes("plain", f"a{ESCAPE}")
    for arguments in (["evaluate", "m.inv", "photos"], ["predict", "m.inv", "photos", "-o", f"{ESCAPE}.csv"]):
        assert main(arguments) == 0
        out, err = capfd.readouterr()
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert "\\x1b[31mred\\x07" in out
    (table,) = here.glob("*.csv")
    rows = list(csv.reader(table.read_text().splitlines()))
    assert rows[0] == ["path", "label", "plain", f"a{ESCAPE}"]
    assert main(["predict", "m.inv", "photos"]) == 0
    assert capfd.readouterr().out == table.read_text()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals to pretend")
def test_a_table_on_a_terminal_is_escaped(use_classes, monkeypatch):
    use_classes("plain", f"a{ESCAPE}")
    receiver, sender = os.openpty()
    with open(sender, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert main(["predict", "m.inv", "photos"]) == 0
        shown = os.read(receiver, 10_000).decode()
    os.close(receiver)
    assert "\x1b" not in shown
    assert "plain,a\\x1b[31mred\\x07" in shown


@pytest.mark.parametrize(
    ("classes", "columns"),
    [
        (("apple", "pear"), ["apple", "pear"]),
        (("label", "path"), ["class:label", "class:path"]),
        (("class:label", "label"), ["class:label", "class:class:label"]),
    ],
)
def test_no_column_is_there_twice(classes, columns, use_classes, here):
    use_classes(*classes)
    for _ in range(2):  # the second time over the table of the first
        assert main(["predict", "m.inv", "photos", "-o", "x.csv"]) == 0
    header, row, *_ = csv.reader((here / "x.csv").read_text().splitlines())
    assert header == ["path", "label", *columns]
    assert row[1:] == [classes[1], "0.333333", "0.666667"]


def test_classes_called_like_columns_stay_themselves_in_json(use_classes, capsys):
    use_classes("label", "path")
    assert main(["predict", "m.inv", "photos", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["predictions"][0]
    assert list(first["probabilities"]) == ["label", "path"]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("to", [[], ["--json"], ["-o", "x.csv"], ["--strict"]])
def test_any_name_can_be_printed_in_any_encoding(to, encoding, use_classes, monkeypatch):
    use_classes("🍃", "b\udcff" if os.name == "posix" else "b")
    buffer = io.BytesIO()
    with io.TextIOWrapper(buffer, encoding=encoding) as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["predict", "m.inv", "photos", *to]) == 0
        stream.flush()
        printed = buffer.getvalue()
    has_leaf = encoding == "utf-8" and to in ([], ["--strict"])  # elsewhere the other class is named, or all is escaped
    assert ("🍃".encode() if has_leaf else b"\\") in printed
    if not to and os.name == "posix":
        assert b"photos/b\xff/" in printed  # bytes of a name are kept as they are


def test_an_error_handler_for_writing_does_not_hide_an_error_of_reading():
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", NAMES)


def test_a_console_of_few_characters_shows_the_help_and_the_methods():
    for arguments in (["methods"], ["--help"]):
        ended = python_m(*arguments, env={**os.environ, "PYTHONIOENCODING": "cp1252"})
        assert ended.returncode == 0
        assert ended.stderr == b""


@pytest.mark.skipif(os.name != "posix", reason="pipes are others there")
@pytest.mark.parametrize("arguments", [["transformations"], ["methods", "--json"], ["--help"]])
def test_a_reader_that_has_gone_ends_the_command_quietly(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "invariance", *arguments]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert ended.stderr == b""
    assert ended.returncode == 141


@pytest.mark.skipif(os.name != "posix", reason="streams are others there")
def test_closed_streams_are_no_error(here):
    command = f"{sys.executable} -m invariance transformations --size 8 -o x.png <&- >&- 2>&-"
    assert subprocess.run(command, shell=True, check=False).returncode == 0
    assert Image.open(here / "x.png").width > 0


class Tags(HTMLParser):
    """The names of the elements of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.names, self.texts = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_report_escapes_names_of_classes_and_files_and_draws_them():
    labels = np.repeat(HOSTILE, 2)
    images = list(np.random.default_rng(0).random((len(labels), 12, 12)).astype(np.float32))
    evaluation = evaluate(Fixed(sorted(HOSTILE)), images, labels)
    report = Report("<script>1</script>", "<script>2</script>", {"command": "<script>x</script>.inv & $a$"})
    show_confusions(report, evaluation)
    show_examples(report, evaluation, np.random.default_rng(0))
    tags = Tags(report.code("<script>3</script>").facts({"<script>4</script>": "<script>5</script>"}).to_html())
    assert "script" not in tags.names
    assert {f"<script>{number}</script>" for number in range(1, 6)} <= {text.strip() for text in tags.texts}
    assert any("<script>alert(1)</script>" in text for text in tags.texts)
    assert "<script>x</script>.inv & $a$" in tags.texts
