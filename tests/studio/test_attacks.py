"""What other users, other pages and other names of this machine may try is refused, and the studio lives on."""

import json
import os

import numpy as np
import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from invariance.studio.guard import HEADERS
from invariance.studio.messages import MAX_BYTES, REQUESTS, MessageError, parse_request
from invariance.studio.server import make_app
from invariance.studio.studio import Studio
from tests.studio.driving import write_images

PORT, TOKEN = 8799, "the-token"
HERE, SOCKET = f"http://127.0.0.1:{PORT}", f"ws://127.0.0.1:{PORT}/socket"
N_FUZZED = 400


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    place = tmp_path_factory.mktemp("attacked")
    (place / "secret.png").write_bytes(b"not for you")
    folder = place / "images"
    folder.mkdir()
    write_images(folder)
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (folder / "page.html").write_text("<script>alert(1)</script>")
    os.symlink(place / "secret.png", folder / "link.png")
    os.symlink(place, folder / "linked")
    studio = Studio(folder)
    yield studio
    studio.close()


@pytest.fixture(scope="module")
def app(studio):
    return make_app(studio, PORT, TOKEN)


@pytest.fixture
def stranger(app):
    """Somebody without a cookie."""
    return TestClient(app, base_url=HERE, follow_redirects=False)


@pytest.fixture
def user(stranger):
    """The user, who opened the start address."""
    assert stranger.get(f"/?token={TOKEN}").status_code == 303
    return stranger


def enter_socket(client, **headers):
    return client.websocket_connect(SOCKET, headers={"origin": HERE, "host": f"127.0.0.1:{PORT}"} | headers)


def is_refused(client, **headers):
    try:
        with enter_socket(client, **headers) as line:
            line.receive_text()
    except WebSocketDisconnect as refusal:
        return refusal.code == 1008
    return False


def ask(line, do, number=1, **fields):
    line.send_text(json.dumps({"id": number, "do": do, **fields}))
    return answer(line, number)


def answer(line, number):
    while True:
        received = line.receive()
        if received.get("text") and (message := json.loads(received["text"])).get("reply", "") == number:
            return message


def read_all(line):
    while True:
        line.receive_text()


class TestEntering:
    def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(self, stranger):
        response = stranger.get(f"/?token={TOKEN}")
        assert (response.status_code, response.headers["location"]) == (303, "/")
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert stranger.get("/").status_code == 200

    @pytest.mark.parametrize(
        "query", ["", "?token=", "?token=wrong", f"?token={TOKEN}x", f"?token=%00{TOKEN}", "?token=é"]
    )
    def test_no_token_or_a_wrong_one(self, stranger, query):
        response = stranger.get(f"/{query}")
        assert response.status_code == 403
        assert "invariance studio" in response.text
        assert "set-cookie" not in response.headers

    @pytest.mark.parametrize(
        "path",
        ["/", "/page/main.js", "/tiles/1/0/0/0/0", "/thumbnails/1", "/files/1", "/no/such/place", "//", "/socket"],
    )
    def test_nothing_without_a_cookie(self, stranger, path):
        assert stranger.get(path).status_code == 403
        stranger.cookies.set(f"invariance-studio-{PORT}", TOKEN)
        assert stranger.get(path).status_code == 403

    def test_the_token_opens_the_start_address_only(self, stranger):
        assert stranger.get(f"/tiles/1/0/0/0/0?token={TOKEN}").status_code == 403

    def test_the_health_says_nothing(self, stranger, studio):
        response = stranger.get("/health")
        assert response.status_code == 200
        assert str(studio.project.folder) not in response.text

    @pytest.mark.parametrize(
        "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", "", f"localhost.:{PORT}"]
    )
    def test_a_foreign_host(self, user, host):
        assert user.get("/", headers={"host": host}).status_code == 403
        assert user.get("/health", headers={"host": host}).status_code == 403
        assert is_refused(user, host=host)

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", f"https://127.0.0.1:{PORT}", ""]
    )
    def test_a_foreign_origin(self, user, origin):
        assert user.get("/", headers={"origin": origin}).status_code == 403
        assert is_refused(user, origin=origin)

    def test_a_request_by_another_site(self, user):
        assert user.get("/thumbnails/2", headers={"sec-fetch-site": "cross-site"}).status_code == 403
        assert user.get("/thumbnails/2", headers={"sec-fetch-site": "same-site"}).status_code == 403
        assert user.get("/thumbnails/2", headers={"sec-fetch-site": "same-origin"}).status_code == 200

    def test_a_socket_needs_cookie_and_origin(self, app, stranger, user):
        assert is_refused(TestClient(app, base_url=HERE))
        with pytest.raises(WebSocketDisconnect), user.websocket_connect(SOCKET, headers={"host": f"127.0.0.1:{PORT}"}):
            pass
        with enter_socket(user) as line:
            assert ask(line, "open")["ok"]

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND"])
    @pytest.mark.parametrize("path", ["/", "/tiles/1/0/0/0/0", "/nothing", "/health"])
    def test_other_methods(self, user, method, path):
        assert user.request(method, path).status_code == 405

    def test_all_responses_have_the_headers(self, user, stranger):
        paths = [
            "/",
            "/page/index.html",
            "/page/none.js",
            "/tiles/1/0/0/0/0",
            "/tiles/9/0/0/0/0",
            "/files/1",
            "/health",
            "/x",
        ]
        responses = [user.get(path) for path in paths]
        responses += [user.post("/"), user.get("/", headers={"host": "evil"}), user.get(f"/?token={TOKEN}")]
        for response in responses:
            for name, value in HEADERS.items():
                assert response.headers[name.decode()] == value.decode()
            assert "cache-control" in response.headers
        assert "unsafe" not in responses[0].headers["content-security-policy"]

    def test_a_long_address(self, user):
        assert user.get("/tiles/1/0/0/0/0?" + "x" * 5000).status_code == 414


class TestFiles:
    @pytest.mark.parametrize(
        "name",
        [
            "../server.py",
            "..%2fserver.py",
            "%2e%2e/server.py",
            "..\\server.py",
            "%2fetc%2fpasswd",
            "/etc/passwd",
            "index.html%00",
            "%00",
            "index.html/",
            "./index.html",
            "INDEX.HTML",
            "__init__.py",
            "",
            "~root",
            "C:%5c",
        ],
    )
    def test_only_the_files_of_the_page_are_served(self, user, name):
        response = user.get(f"/page/{name}")
        assert response.status_code in (404, 307) or (name == "./index.html" and response.status_code == 200)
        assert "import " not in response.text or name == "./index.html"

    def test_the_page_has_the_right_types(self, user):
        assert user.get("/page/main.js").headers["content-type"].startswith("text/javascript")
        assert user.get("/").headers["content-type"].startswith("text/html")

    def test_links_out_of_the_folder_and_other_files_are_not_listed(self, studio):
        names = [source.name for source in studio.sources.images()]
        assert names == ["broken.png", "image0.png", "image1.png"]

    def test_a_file_that_became_a_link_is_not_read(self, tmp_path):
        folder = tmp_path / "images"
        folder.mkdir()
        write_images(folder)
        secret = tmp_path / "secret.png"
        (folder / "image1.png").rename(secret)
        write_images(folder)
        studio = Studio(folder)
        (folder / "image1.png").unlink()
        os.symlink(secret, folder / "image1.png")
        with pytest.raises(ValueError, match="link"):
            studio.sources.read_page(2, 0)
        studio.close()

    @pytest.mark.parametrize(
        "path",
        [
            "/tiles/99/0/0/0/0",
            "/tiles/1/0/0/0/0",
            "/tiles/2/7/0/0/0",
            "/tiles/2/0/99/0/0",
            "/tiles/2/0/0/99/0",
            "/tiles/2/0/0/0/99",
            "/tiles/-1/0/0/0/0",
            "/tiles/2/0/0/0",
            "/tiles/a/0/0/0/0",
            "/tiles/2/0/0/0/0?channel=7",
            "/tiles/2/0/0/0/0?channel=x",
            "/tiles/2/0/0/0/0?low=nan",
            "/tiles/2/0/0/0/0?high=inf",
            "/tiles/2/0/0/0/0?low=-1",
            "/tiles/2/0/0/0/0?low=x",
            "/thumbnails/99",
            "/thumbnails/2?side=x",
            "/thumbnails/2?side=-5",
            "/files/99",
            "/files/x",
            "/files/../x",
            f"/tiles/2/0/0/0/{10**30}",
            "/tiles/2/0/0/0/0?channel=" + "9" * 50,
        ],
    )
    def test_unknown_and_impossible_tiles(self, user, path):
        assert user.get(path).status_code in (400, 404)

    def test_an_unreadable_image_is_listed_with_its_error(self, studio):
        assert "broken.png" in studio.sources.images()[0].error


def random_value(rng):
    pool = [
        None,
        True,
        False,
        0,
        1,
        -1,
        2**63,
        10**400,
        1e308,
        0.5,
        "",
        "x",
        "labels",
        "\x00",
        "é" * 50,
        [],
        [1],
        [[[]]],
        {},
        {"a": 1},
        "NaN",
        [float(rng.normal()) for _ in range(4)],
        ["1", 2],
        [None, 1],
        [1e300, 1],
        list(range(3)),
        "pixels",
        "brush",
        "a" * 2000,
    ]
    return pool[rng.integers(len(pool))]


def fuzzed(rng):
    """A message that is nearly right, or not at all; a text."""
    do = str(rng.choice(sorted(REQUESTS)))
    good = {
        "image": 2,
        "page": 0,
        "layer": "labels",
        "tool": "brush",
        "class": 1,
        "radius": 3,
        "points": [5, 5, 9, 9],
        "top": 0,
        "left": 0,
        "bottom": 99,
        "right": 99,
        "step": 1,
        "mode": "pixels",
        "number": 1,
        "on": True,
        "kind": "none",
        "job": 1,
        "images": [2],
        "id": 1,
    }
    message = {"id": 5, "do": do} | {name: good.get(name, "x") for name in REQUESTS[do]}
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice([*message, "extra"]))
        if rng.random() < 0.2:
            message.pop(name, None)
        else:
            message[name] = random_value(rng)
    text = json.dumps(message)
    match rng.integers(6):
        case 0:
            return text[: rng.integers(len(text) + 1)]
        case 1:
            place = rng.integers(len(text))
            return text[:place] + str(rng.choice(["NaN", "Infinity", "{", "\x00", "[" * 5000, "é"])) + text[place:]
        case 2:
            return json.dumps(random_value(rng))
    return text


class TestMessages:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "null",
            "[]",
            "5",
            '"x"',
            "{}",
            '{"id": 1}',
            '{"id": true, "do": "open"}',
            '{"id": 1.5, "do": "open"}',
            '{"id": -1, "do": "open"}',
            '{"id": 1, "do": ["open"]}',
            '{"id": 1, "do": "__class__"}',
            '{"id": 1, "do": "open", "x": 1}',
            "{" * 100_000,
            "[" * 100_000,
            '{"id": 1, "do": "open"',
            "x" * (MAX_BYTES + 1),
            '{"id": ' + "9" * 5000 + "}",
        ],
    )
    def test_what_is_no_request(self, text):
        with pytest.raises(MessageError):
            parse_request(text)

    @pytest.mark.parametrize(
        "changes",
        [
            {"points": ["NaN", 1]},
            {"points": [1]},
            {"points": []},
            {"points": [1, 2, 3]},
            {"points": [1e308, 1]},
            {"points": [True, 1]},
            {"points": [0, 0] * 20_000},
            {"points": "1,2"},
            {"radius": 1e9},
            {"radius": -1},
            {"radius": "3"},
            {"class": -1},
            {"class": 5000},
            {"class": 1.5},
            {"layer": "other"},
            {"tool": "knife"},
            {"image": 0},
            {"image": "1"},
            {"page": -1},
            {"page": None},
            {"image": True},
        ],
    )
    def test_strokes_that_are_none(self, changes):
        good = {
            "id": 1,
            "do": "stroke",
            "image": 1,
            "page": 0,
            "layer": "labels",
            "tool": "brush",
            "class": 1,
            "radius": 3,
            "points": [1, 2],
        }
        assert parse_request(json.dumps(good)).fields["points"].shape == (1, 2)
        with pytest.raises(MessageError) as error:
            parse_request(json.dumps(good | changes))
        assert error.value.number == 1
        for constant in ("NaN", "Infinity", "-Infinity"):
            with pytest.raises(MessageError):
                parse_request(json.dumps(good).replace("[1, 2]", f"[{constant}, 2]"))

    def test_fuzzed_messages_are_answered_and_the_studio_lives(self, user):
        rng = np.random.default_rng(0)
        n_refused = n_sent = 0
        while n_sent < N_FUZZED:
            with enter_socket(user) as line:
                for _ in range(15):  # fewer than what closes a connection
                    line.send_text(fuzzed(rng))
                    n_sent += 1
                    line.send_text('{"id": 777, "do": "nothing at all"}')
                    while True:
                        message = json.loads(line.receive_text())
                        n_refused += message.get("ok") is False
                        assert "defect" not in message.get("error", "")
                        if message.get("reply") == 777:
                            break
                    assert ask(line, "labels", 778, image=2, page=0, layer="labels", top=0, left=0, bottom=1, right=1)[
                        "ok"
                    ]
        assert n_refused > N_FUZZED
        with enter_socket(user) as line:
            assert ask(line, "open")["ok"]

    def test_binary_and_many_malformed_messages_close_the_connection_only(self, user):
        with enter_socket(user) as line:
            for n in range(20):
                line.send_bytes(bytes([n])) if n % 2 else line.send_text("no json")
            with pytest.raises(WebSocketDisconnect) as end:
                read_all(line)
            assert end.value.code == 1008
        with enter_socket(user) as line:
            assert ask(line, "open")["ok"]

    @pytest.mark.parametrize(
        ("do", "fields"),
        [
            ("stroke", {"image": 99, "page": 0, "layer": "labels", "tool": "brush", "class": 1, "points": [1, 2]}),
            ("stroke", {"image": 2, "page": 5, "layer": "labels", "tool": "brush", "class": 1, "points": [1, 2]}),
            ("stroke", {"image": 1, "page": 0, "layer": "labels", "tool": "brush", "class": 1, "points": [1, 2]}),
            ("stroke", {"image": 2, "page": 0, "layer": "labels", "tool": "brush", "class": 31, "points": [1, 2]}),
            ("labels", {"image": 99, "page": 0, "layer": "labels", "top": 0, "left": 0, "bottom": 9, "right": 9}),
            ("view", {"image": 2, "page": 0, "top": 5000, "left": 0, "bottom": 9000, "right": 9, "step": 1}),
            ("view", {"image": 99, "page": 0, "top": 0, "left": 0, "bottom": 9, "right": 9, "step": 1}),
            ("class.change", {"mode": "pixels", "number": 30, "name": "x"}),
            ("class.remove", {"mode": "images", "number": 30}),
            ("job.cancel", {"job": 99}),
            ("job.start", {"kind": "no such"}),
            ("image.label", {"images": [99], "class": 1}),
            ("accept", {"image": 99, "page": 0}),
            ("suggest", {"image": 99, "page": 0}),
        ],
    )
    def test_unknown_ids(self, user, do, fields):
        with enter_socket(user) as line:
            reply = ask(line, do, **fields)
            assert not reply["ok"]
            assert "defect" not in reply["error"]
            assert reply["error"][-1] in ".?'"
