import os

import pytest

from tests.studio.driving import write_images


@pytest.fixture
def folder(tmp_path):
    """A folder with two grey images of 300 x 300 pixels."""
    place = tmp_path / "images"
    place.mkdir()
    return write_images(place)


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio whose folder has a broken image, links out of it and a web page."""
    pytest.importorskip("starlette")
    from invariance.studio.studio import Studio

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
    """Its application."""
    from invariance.studio.server import make_app
    from tests.studio.attacking import PORT, TOKEN

    return make_app(studio, PORT, TOKEN)


@pytest.fixture
def stranger(app):
    """Somebody without a cookie."""
    from starlette.testclient import TestClient

    from tests.studio.attacking import HERE

    return TestClient(app, base_url=HERE, follow_redirects=False)


@pytest.fixture
def user(stranger):
    """The user, who opened the start address."""
    from tests.studio.attacking import TOKEN

    assert stranger.get(f"/?token={TOKEN}").status_code == 303
    return stranger
