"""A studio in a process of its own, driven by its WebSocket as the page drives it."""

import socket
import sqlite3

import numpy as np
import pytest

pytest.importorskip("starlette")

import tifffile
from PIL import Image
from websockets.exceptions import ConnectionClosed

from invariance.cli import main
from invariance.images import read_mask
from invariance.segmentation import brush_pixels
from tests.studio.driving import Client, Server, write_images

LEFT, RIGHT = [[50, 40], [250, 60]], [[50, 220], [250, 260]]
SHAPE = (300, 300)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    write_images(folder)
    tifffile.imwrite(folder / "stack.tif", np.zeros((3, 40, 50), np.uint8), photometric="minisblack")
    Image.new("RGB", (30, 20)).save(folder / "colour.png")
    return folder


@pytest.fixture(scope="module")
def server(place):
    with Server(place) as server:
        yield server


@pytest.fixture
def client(server):
    client = Client(server)
    client.state = client.must("open")
    yield client
    client.close()


def find(client, name):
    return next(image["id"] for image in client.state["images"] if image["name"] == name)


def predictions(client, n_tiles, is_wanted=lambda header: True):
    """Return the newest header and array of so many places, from what came before and what comes in."""
    found = {}

    def look(header, payload):
        if header["kind"] == "prediction" and is_wanted(header):
            shape = len(header["numbers"]), header["rows"], header["cols"]
            found[header["top"], header["left"]] = header, np.frombuffer(payload, np.uint8).reshape(shape)

    for header, payload, _ in client.frames:
        look(header, payload)
    while len(found) < n_tiles:
        kind, message = client.receive()
        if kind == "frame":
            look(*message[:2])
    return found


class TestPainting:
    def test_strokes_of_two_classes_segment_the_page(self, client):
        image = find(client, "image0.png")
        client.must("view", image=image, page=0, top=0, left=0, bottom=300, right=300, step=1)
        assert client.stroke(image, LEFT, 1)["ok"]
        reply = client.stroke(image, RIGHT, 2)
        assert reply["ok"]
        found = predictions(client, 4, lambda header: not header["is_stale"])
        whole = np.zeros((2, *SHAPE), np.uint8)
        for header, maps in found.values():
            assert header["numbers"] == [1, 2]
            whole[:, header["top"] : header["bottom"], header["left"] : header["right"]] = maps
        classes = whole.argmax(axis=0)
        assert (classes[:, :140] == 0).mean() > 0.95
        assert (classes[:, 160:] == 1).mean() > 0.95
        painted = [event for event in client.events if event["event"] == "painted"]
        assert [event["action"] for event in painted][-1] == reply["action"]
        assert {event["origin"] for event in painted} == {client.state["connection"]}

    def test_labels_are_those_of_the_brush(self, client):
        image = find(client, "image0.png")
        expected = np.zeros(SHAPE, np.uint8)
        for points, number in ((LEFT, 1), (RIGHT, 2)):
            expected[brush_pixels(points, 3.0, SHAPE)] = number
        np.testing.assert_array_equal(client.labels(image), expected)

    def test_another_tab_sees_what_is_painted(self, server, client):
        other = Client(server)
        other.must("open")
        image = find(client, "image1.png")
        assert client.stroke(image, [[9, 9]], 1)["ok"]
        event = other.wait(lambda kind, message: kind == "event" and message["event"] == "painted")
        assert (event["image"], event["layer"], event["top"]) == (image, "labels", 6)
        other.wait(lambda kind, message: kind == "frame" and message[0]["kind"] == "labels" and any(message[1]))
        other.close()
        reply = client.must("undo")
        assert (reply["image"], reply["page"], reply["layer"]) == (image, 0, "labels")
        assert not client.labels(image).any()
        client.must("redo")
        assert client.labels(image).any()
        client.must("undo")

    def test_a_stroke_that_is_sent_again_is_acknowledged_but_not_added(self, client):
        image = find(client, "image1.png")
        first = client.stroke(image, [[9, 9]], 1, stroke_id="again")
        again = client.stroke(image, [[9, 9]], 1, stroke_id="again")
        assert (first["is_repeated"], again["is_repeated"]) == (False, True)
        assert again["action"] == first["action"]
        client.must("undo")
        assert not client.labels(image).any()
        assert client.stroke(image, [[9, 9]], 1, stroke_id="again")["is_repeated"]  # nor does it come back
        assert not client.labels(image).any()

    def test_live_is_the_same_in_all_tabs(self, server, client):
        other = Client(server)
        assert other.must("open")["is_live"]
        for is_live in (False, True):
            client.must("live", on=is_live)
            event = other.wait(lambda kind, message: kind == "event" and message["event"] == "live")
            assert event["is_live"] == is_live
            assert client.must("open")["is_live"] == is_live
        other.close()

    def test_a_tab_that_is_opened_later_is_told_the_status(self, server, client):
        other = Client(server)
        other.must("open")
        assert any(event["event"] == "status" for event in other.events)
        other.close()

    def test_scores_suggestions_and_a_refined_model_follow(self, client):
        image = find(client, "image0.png")
        client.must("view", image=image, page=0, top=0, left=0, bottom=300, right=300, step=1)
        for points, number in ((LEFT, 1), (RIGHT, 2)):
            assert client.stroke(image, np.add(points, (0, 30)), number)["ok"]
        scores = client.wait(
            lambda kind, message: kind == "event" and message["event"] == "scores" and message["overall"]
        )
        assert scores["overall"] > 0.9
        assert [part["number"] for part in scores["classes"]] == [1, 2]
        assert predictions(client, 4, lambda header: header["stage"] == "refined")
        places = client.must("suggest", image=image, page=0)["places"]
        assert places
        assert {place["image"] for place in places} == {image}
        assert client.must("suggest")["places"]

    def test_a_view_of_lower_resolution(self, client):
        image = find(client, "image0.png")
        client.must("view", image=image, page=0, top=0, left=0, bottom=300, right=300, step=2)
        ((header, maps),) = predictions(client, 1).values()
        assert (header["step"], maps.shape) == (2, (2, 150, 150))

    def test_accepting_makes_a_final_mask_that_can_be_undone(self, client):
        image = find(client, "image0.png")
        client.must("accept", image=image, page=0)
        final = client.labels(image, layer="final")
        assert (final[:, :140] == 1).mean() > 0.95
        state = client.must("open")
        assert [part["is_final"] for part in state["images"] if part["id"] == image] == [[0]]
        client.must("undo")
        assert not client.labels(image, layer="final").any()

    def test_without_live_nothing_is_learned_until_it_is_asked_for(self, client):
        image = find(client, "image0.png")
        client.must("view", image=image, page=0, top=0, left=0, bottom=300, right=300, step=1)
        before = max(header["version"] for header, _ in predictions(client, 4).values())
        client.must("live", on=False)
        assert client.stroke(image, [[150, 100]], 1)["ok"]
        client.frames.clear()
        with pytest.raises(TimeoutError):
            client.wait(lambda kind, message: kind == "frame" and message[0].get("version", 0) > before, 1.0)
        client.must("update")
        predictions(client, 4, lambda header: header["version"] > before)
        client.must("live", on=True)
        client.must("undo")

    def test_other_switches_make_another_model(self, client):
        image = find(client, "image0.png")
        client.must("view", image=image, page=0, top=0, left=0, bottom=300, right=300, step=1)
        before = max(header["version"] for header, _ in predictions(client, 4).values())
        client.must("settings", invariant_to=["reflections", "light"])
        found = predictions(client, 4, lambda header: header["version"] > before)
        assert all(header["version"] > before for header, _ in found.values())
        assert client.must("open")["settings"]["invariant_to"] == ["reflections", "light"]
        client.must("settings", invariant_to=["rotations"])

    def test_pages_of_a_stack_and_images_of_other_channels(self, client):
        stack, colour = find(client, "stack.tif"), find(client, "colour.png")
        assert client.stroke(stack, [[5, 5]], 1, page=2)["ok"]
        assert client.labels(stack, page=2, shape=(40, 50)).any()
        refused = client.stroke(colour, [[5, 5]], 1)
        assert "3 channels" in refused["error"]
        client.must("undo")

    def test_a_class_is_added_renamed_locked_and_removed(self, client):
        added = client.must("class.add", mode="pixels", name="third")["class"]
        client.must(
            "class.change", mode="pixels", number=added["number"], name="Third", is_locked=True, colour="#010203"
        )
        state = client.must("open")
        assert state["classes"]["pixels"][-1] == {
            "number": added["number"], "name": "Third", "is_locked": True, "is_hidden": False, "colour": "#010203"
        }  # fmt: skip
        client.must("class.remove", mode="pixels", number=added["number"])
        assert len(client.must("open")["classes"]["pixels"]) == 2


class TestHttp:
    def test_tiles_and_thumbnails_are_png(self, server, client):
        image = find(client, "image0.png")
        for path in (
            f"/tiles/{image}/0/0/0/0",
            f"/tiles/{image}/0/1/0/0?low=0.2&high=0.5",
            f"/thumbnails/{image}?side=64",
        ):
            status, headers, body = server.get(path, Cookie=server.cookie)
            assert (status, headers["content-type"], body[:4]) == (200, "image/png", b"\x89PNG")

    @pytest.mark.parametrize(
        "path",
        [
            "/page/../server.py",
            "/page/..%2f..%2fserver.py",
            "/page/%2e%2e/%2e%2e",
            "/../../etc/passwd",
            "/page/\\..",
            "/page//etc/passwd",
        ],
    )
    def test_paths_as_they_are_sent(self, server, path):
        status, _, body = server.get(path, Cookie=server.cookie)
        assert status == 404
        assert b"import" not in body

    def test_lines_that_are_no_http(self, server):
        for data in (
            b"\x00" * 100,
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET " + b"a" * 100_000,
            b"\r\n" * 999,
        ):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
                assert b"200 OK" not in line.recv(1000)
        assert server.get("/health")[0] == 200

    def test_an_oversized_message_closes_its_connection_only(self, server, client):
        other = Client(server)
        other.line.send("x" * (2**20 + 1))
        with pytest.raises((ConnectionClosed, ConnectionError)):
            other.wait(lambda *_: False, 10)
        assert client.must("open")

    def test_frames_that_are_none(self, server, client):
        rng = np.random.default_rng(0)
        for _ in range(20):
            other = Client(server)
            other.line.socket.sendall(rng.bytes(200))
            other.line.socket.close()
        assert client.must("open")


class TestEnding:
    def test_ctrl_c_saves_and_everything_is_there_again(self, folder):
        with Server(folder) as server:
            client = Client(server)
            client.must("open")
            assert client.stroke(1, LEFT, 1)["ok"]
            assert client.stroke(1, RIGHT, 2)["ok"]
            client.must("undo")
            code, out, err = server.interrupt()
        assert (code, err) == (0, "")
        assert "saved" in out
        mask = read_mask(folder / "invariance-studio" / "labels" / "image0.png")
        assert np.unique(mask).tolist() == [0, 1]
        with Server(folder) as server:
            client = Client(server)
            state = client.must("open")
            assert (state["can_undo"], state["can_redo"]) == (True, True)
            np.testing.assert_array_equal(client.labels(1), mask)
            client.must("redo")
            assert np.unique(client.labels(1)).tolist() == [0, 1, 2]

    def test_a_second_studio_of_a_project_and_a_taken_port_are_refused_in_a_line(self, server, place, folder, capsys):
        assert main(["studio", str(place), "--no-browser"]) == 2
        assert "open in another studio" in capsys.readouterr().err
        assert main(["studio", str(folder), "--no-browser", "--port", str(server.port)]) == 2
        error = capsys.readouterr().err
        assert "--port" in error
        assert error.count("\n") == 1

    def test_mistakes_of_the_command_line(self, folder, capsys, monkeypatch):
        assert main(["studio", str(folder / "missing")]) == 2
        assert main(["studio", str(folder / "image0.png")]) == 2
        assert main(["studio", str(folder), "--samples"]) == 2
        (folder / "invariance-studio").mkdir(exist_ok=True)
        (folder / "invariance-studio" / "project.sqlite").write_bytes(b"something else" * 100)
        assert main(["studio", str(folder), "--no-browser"]) == 2
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert main(["studio", str(folder)]) == 2
        error = capsys.readouterr().err
        assert "pip install '.[studio]'" in error
        assert error.count("\n") == 5

    def test_the_database_is_written_through(self, place, server, client):
        """A stroke that was acknowledged is in the files, whatever happens to the process afterwards."""
        reply = client.stroke(find(client, "image1.png"), [[20, 20]], 1)
        copy = place.parent / "copied"
        copy.mkdir()
        for path in (place / "invariance-studio").glob("project.sqlite*"):
            (copy / path.name).write_bytes(path.read_bytes())
        with sqlite3.connect(copy / "project.sqlite") as db:
            assert db.execute("SELECT max(seq) FROM actions").fetchone() == (reply["action"],)
        db.close()
        client.must("undo")
