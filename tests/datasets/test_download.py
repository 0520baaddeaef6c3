"""Downloads from a server on this machine: broken off, resumed, tampered with, unpacked."""

import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from invariance.datasets import _download
from invariance.datasets._download import Remote, download, fetch

CONTENT = np.random.default_rng(0).bytes(300_000)


class Server:
    """Serves files; cuts the connection after `cut` bytes for the first `n_cuts` requests."""

    def __init__(self, files, n_cuts=0, cut=100_000, ranges=True):
        self.files, self.cuts_left, self.cut, self.ranges = files, n_cuts, cut, ranges
        self.requests = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def answer(self, request):
        asked = request.headers.get("Range")
        self.requests.append(asked)
        content = self.files.get(request.path[1:])
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        if content is None or start >= len(content):
            return request.send_error(404 if content is None else 416)
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(content) - start))
        request.end_headers()
        end = len(content)
        if self.cuts_left:
            self.cuts_left -= 1
            end = start + self.cut
            request.close_connection = True
        request.wfile.write(content[start:end])


@pytest.fixture
def serve():
    running = []

    def start(files, **options):
        server = Server(files, **options)
        thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def sha(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def test_a_broken_connection_is_resumed_where_it_broke(serve, tmp_path):
    server = serve({"a.bin": CONTENT}, n_cuts=1)
    assert download(server.url + "a.bin", sha(CONTENT), tmp_path).read_bytes() == CONTENT
    pieces_before_the_cut = 100_000 // _download.PIECE
    assert pieces_before_the_cut >= 5
    assert server.requests == [None, f"bytes={pieces_before_the_cut * _download.PIECE}-"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_the_bar_counts_megabytes(serve, tmp_path, monkeypatch):
    counts = []
    monkeypatch.setattr(_download, "MEGABYTE", 2**16)
    monkeypatch.setattr(_download, "track", lambda items, _, total: counts.append((total, len(list(items)))) or [])
    server = serve({"a.bin": CONTENT})
    assert download(server.url + "a.bin", sha(CONTENT), tmp_path).read_bytes() == CONTENT
    assert counts == [(5, 5)]


def test_a_later_call_resumes_too(serve, tmp_path):
    server = serve({"a.bin": CONTENT}, n_cuts=_download.MAX_ATTEMPTS, cut=_download.PIECE)
    with pytest.raises(OSError, match=r"cannot download .*a.bin.*it resumes"):
        download(server.url + "a.bin", sha(CONTENT), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin.part"]
    assert download(server.url + "a.bin", sha(CONTENT), tmp_path).read_bytes() == CONTENT
    assert server.requests[-1] == f"bytes={_download.PIECE * _download.MAX_ATTEMPTS}-"


def test_a_server_that_cannot_resume_is_asked_for_all_again(serve, tmp_path):
    server = serve({"a.bin": CONTENT}, n_cuts=1, ranges=False)
    assert download(server.url + "a.bin", sha(CONTENT), tmp_path).read_bytes() == CONTENT


def test_a_part_that_was_whole_is_kept(serve, tmp_path):
    server = serve({"a.bin": CONTENT})
    (tmp_path / "a.bin.part").write_bytes(CONTENT)
    assert download(server.url + "a.bin", sha(CONTENT), tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(serve, tmp_path):
    server = serve({"a.bin": CONTENT[::-1]})
    with pytest.raises(OSError, match="does not have the known checksum") as caught:
        download(server.url + "a.bin", sha(CONTENT), tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_an_error_of_one_line(serve, tmp_path):
    server = serve({})
    with pytest.raises(OSError, match="404") as caught:
        download(server.url + "gone.bin", sha(b""), tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def make_tar(names):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return buffer.getvalue()


def test_archives_are_unpacked_to_the_documented_layout(serve, tmp_path):
    tar = make_tar(["jpg/image_0001.jpg", "jpg/files.txt"])
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("__MACOSX/._objects.tar.gz", b"junk")
        archive.writestr("set/objects.tar.gz", make_tar(["objects/ant/1.jpg", "objects/bee/2.jpg"]))
    files = {"f.tgz": tar, "splits.mat": b"splits", "c.zip": outer.getvalue()}
    server = serve(files)

    def remote(name, **options):
        return Remote(server.url + name, sha(files[name]), **options)

    flowers = fetch((remote("f.tgz", unpack="jpg"), remote("splits.mat")), tmp_path / "flowers17")
    assert (flowers / "jpg" / "image_0001.jpg").exists()
    assert (flowers / "splits.mat").exists()
    caltech = fetch((remote("c.zip", unpack="objects", is_root=True),), tmp_path / "caltech101")
    assert sorted(path.name for path in caltech.iterdir()) == ["ant", "bee"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["caltech101", "flowers17"]


def test_an_archive_cannot_write_outside_its_folder(serve, tmp_path):
    tar = make_tar(["jpg/1.jpg", "../../evil.txt"])
    server = serve({"f.tgz": tar})
    with pytest.raises(tarfile.FilterError):
        fetch((Remote(server.url + "f.tgz", sha(tar), unpack="jpg"),), tmp_path / "cache" / "flowers17")
    assert not (tmp_path / "evil.txt").exists()
    assert not (tmp_path / "cache" / "flowers17" / "jpg").exists()


def test_only_download_true_reaches_for_the_network(serve, tmp_path, monkeypatch):
    from invariance.datasets import _sources

    server = serve({"a.bin": CONTENT})
    source = _sources.Source("toy", "a toy", ("a.bin",), "here", "none", (Remote(server.url + "a.bin", sha(CONTENT)),))
    monkeypatch.setitem(_sources.SOURCES, "toy", source)
    monkeypatch.setattr(_sources, "cache_folder", lambda: tmp_path)
    monkeypatch.delenv("INVARIANCE_DATA", raising=False)
    with pytest.raises(_sources.DatasetMissing, match=r"load_toy\(download=True\)"):
        _sources.locate("toy")
    assert server.requests == []
    assert _sources.locate("toy", download=True) == tmp_path / "toy"
    assert _sources.locate("toy") == tmp_path / "toy"
