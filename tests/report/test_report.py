"""The page stands alone, shows every text as it is, and is well formed."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import invariance
from invariance.report import Report, bar_figure, software_versions

VOID = {"meta", "img", "br", "hr", "input", "link"}
NASTY = '<script>alert("x")</script> & \'quotes\' "double"'


class Structure(HTMLParser):
    """Checks that tags nest, and collects tags, attributes and texts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


@pytest.fixture
def report():
    page = Report(NASTY, NASTY, {"seed": 7, NASTY: NASTY})
    page.section(NASTY).text(NASTY, "second").facts({NASTY: NASTY, "share": 0.123456})
    page.table(("name", NASTY), [("a", 1), (NASTY, 2.34567)], NASTY)
    return page.figure(bar_figure({"a": 1.0}, "x"), NASTY)


def test_the_page_is_well_formed_and_every_text_is_escaped(report):
    structure = Structure(report.to_html())
    assert "script" not in structure.tags
    # title, h1, summary, heading, paragraph, fact (2), column, cell, 2 captions, setting (2)
    assert structure.texts.count(NASTY) == 13
    assert ("img", "alt", NASTY) in structure.attributes


def test_the_page_needs_nothing_from_elsewhere(report):
    page = report.to_html()
    addresses = [value for _, name, value in Structure(page).attributes if name in ("src", "href", "srcset")]
    assert addresses
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    assert not re.search(r"@import|url\(", page)


def test_the_page_is_for_phones_light_and_dark(report):
    page = report.to_html()
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert Structure(page).attributes[0] == ("html", "lang", "en")


def test_numbers_are_rounded_and_aligned(report):
    page = report.to_html()
    assert '<td class="number">2.346</td>' in page
    assert "<dd>0.1235</dd>" in page
    assert "<td>a</td>" in page


def test_settings_and_versions_stand_at_the_end(report):
    footer = report.to_html().partition("<footer>")[2]
    assert "<td>seed</td><td>7</td>" in footer
    for name, version in software_versions().items():
        assert f"<td>{name}</td><td>{version}</td>" in footer
    assert software_versions()["invariance"] == invariance.__version__
    assert software_versions()["numpy"] == np.__version__


def test_the_same_content_is_the_same_file(tmp_path):
    for name in ("one.html", "two.html"):
        Report("Title").figure(bar_figure({"a": 1.0, "b": 2.0}, "x"), "caption").save(tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_saving_into_a_missing_folder_is_an_error_that_names_it(report, tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        report.save(tmp_path / "missing" / "report.html")


def test_a_failed_save_leaves_the_old_report(report, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(Report, "to_html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(report):
    structure = Structure(report._repr_html_())
    assert structure.tags == ["iframe"]
    assert ("iframe", "srcdoc", report.to_html()) in structure.attributes


def test_only_wide_figures_keep_their_width_on_a_phone():
    page = Report("t").figure(Figure(figsize=(3, 2)), "small").figure(Figure(figsize=(9, 2)), "large").to_html()
    assert re.search(r'alt="small" width="288" height="192">', page)
    assert re.search(r'alt="large" width="864" height="192" class="wide">', page)


def images_of(report):
    """The images of a page as (kind, array)."""
    parts = report.to_html().split('src="data:image/')[1:]
    found = []
    for part in parts:
        kind, _, rest = part.partition(";base64,")
        found.append((kind, np.asarray(Image.open(io.BytesIO(base64.b64decode(rest.partition('"')[0]))))))
    return found


def test_small_images_keep_every_pixel_and_large_ones_are_shrunk():
    rng = np.random.default_rng(0)
    small, large = rng.integers(0, 256, (9, 12), dtype=np.uint8), rng.random((300, 600, 3)).astype(np.float32)
    (png, first), (jpeg, second) = images_of(Report("t").images([small, large], side=100))
    assert (png, jpeg) == ("png", "jpeg")
    np.testing.assert_array_equal(first, small)
    assert second.shape == (100, 200, 3)


@pytest.mark.parametrize(("channels", "shown"), [(1, ()), (2, ()), (3, (3,)), (4, (3,)), (5, ())])
def test_any_number_of_channels_can_be_shown(channels, shown):
    image = np.full((5, 5, channels), 0.5, np.float32)
    assert images_of(Report("t").images([image]))[0][1].shape == (5, 5, *shown)


def test_titles_are_escaped_and_frames_coloured():
    pair = [np.zeros((6, 6)), np.ones((6, 6))]
    page = Report("t").images(pair, [f"{NASTY}\nbelow", ""], NASTY, ["#c0392b", None]).to_html()
    assert "<script>" not in page
    assert page.count("border-color: #c0392b") == 1
    assert "<span>below</span>" in page
    with pytest.raises(ValueError, match="zip"):
        Report("t").images(pair, ["one"])


def test_code_is_shown_as_it_is():
    assert '<pre class="scroll"><code>a = &lt;b&gt;\n  c</code></pre>' in Report("t").code("a = <b>\n  c").to_html()


def test_many_sections_are_listed_at_the_beginning():
    few, many = Report("t"), Report("t")
    for number in range(4):
        many.section(f"part {number}")
        if number < 3:
            few.section(f"part {number}")
    assert "<nav>" not in few.to_html()
    page = many.to_html()
    assert '<a href="#section-4">part 3</a>' in page
    assert '<a id="section-4"></a>\n<h2>part 3</h2>' in page


def test_shares_are_aligned_as_numbers_are():
    page = Report("t").table(("a", "b"), [("x%", "12.5%"), ("7", "3%")]).to_html()
    assert '<td class="number">12.5%</td>' in page
    assert "<td>x%</td>" in page
    assert "<td>7</td>" in page


def test_sentences_in_tables_break_into_lines():
    report = Report("Title")
    report.table(("name", "meaning"), [("a", "A sentence that is wider than most screens would like it to be.")])
    assert '<td>a</td><td class="sentence">A sentence that' in report.to_html()
