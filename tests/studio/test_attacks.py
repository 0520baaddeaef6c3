"""What other users, other pages and other names of this machine may try is refused, and the studio lives on."""

import os

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from invariance.studio.guard import HEADERS
from invariance.studio.studio import Studio
from tests.studio.attacking import HERE, PORT, SOCKET, TOKEN, ask, enter_socket, is_refused
from tests.studio.driving import write_images


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
