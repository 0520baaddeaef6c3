"""The server: routes to the page, to tiles and to the WebSocket, on this machine only."""

import math
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from invariance.images.listing import check_folder
from invariance.studio.connection import Connection
from invariance.studio.guard import Guard
from invariance.studio.messages import MAX_BYTES
from invariance.studio.studio import Studio

HOST = "127.0.0.1"
DEFAULT_PORT = 8750
N_THREADS = 8
SECONDS_TO_END = 3
KEPT = {"cache-control": "private, max-age=31536000, immutable"}
CHANGING = {"cache-control": "no-cache"}
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
MAX_THUMBNAIL = 1024


class Pages:
    """Answers of HTTP requests.

    Parameters
    ----------
    studio : Studio
    """

    def __init__(self, studio: Studio):
        self._studio = studio
        self._executor = ThreadPoolExecutor(N_THREADS, thread_name_prefix="studio-answers")
        self._files = list_page_files()

    def routes(self) -> list[Route | WebSocketRoute]:
        """Return all routes."""
        return [
            Route("/", self.index, methods=["GET"]),
            Route("/page/{name}", self.file, methods=["GET"]),
            Route("/tiles/{image:int}/{page:int}/{level:int}/{row:int}/{col:int}", self.tile, methods=["GET"]),
            Route("/thumbnails/{image:int}", self.thumbnail, methods=["GET"]),
            Route("/files/{job:int}", self.download, methods=["GET"]),
            Route("/health", self.health, methods=["GET"]),
            WebSocketRoute("/socket", self.socket),
        ]

    async def index(self, request: Request) -> Response:
        """Return the page."""
        return self._page_file("index.html")

    async def file(self, request: Request) -> Response:
        """Return a file of the page, from a fixed list."""
        return self._page_file(request.path_params["name"])

    def _page_file(self, name: str) -> Response:
        path = self._files.get(name)
        if path is None:
            return PlainTextResponse("There is no such file.\n", 404)
        return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers=CHANGING)

    async def tile(self, request: Request) -> Response:
        """Return a tile of an image."""
        query, place = request.query_params, request.path_params
        try:
            channel = None if query.get("channel", "all") == "all" else _parse_whole(query["channel"])
            low, high = (_parse_share(query.get(name, default)) for name, default in (("low", "0"), ("high", "1")))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        shown = {name: place[name] for name in ("image", "page", "level", "row", "col")}
        make = partial(self._studio.sources.tile, **shown, channel=channel, low=low, high=high)
        return await self._png(make, KEPT)

    async def thumbnail(self, request: Request) -> Response:
        """Return a small copy of an image."""
        try:
            side = _parse_whole(request.query_params.get("side", "160"))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        image = request.path_params["image"]
        return await self._png(lambda: self._studio.sources.thumbnail(image, min(max(side, 8), MAX_THUMBNAIL)), KEPT)

    async def _png(self, make: Callable[[], bytes | None], headers: dict[str, str]) -> Response:
        n_unread = self._count_unread()
        try:
            png = await run_in_threadpool(make)
        except (ValueError, OSError, MemoryError) as error:
            if self._count_unread() != n_unread:
                await run_in_threadpool(self._studio.send_state)
            return PlainTextResponse(f"{error}\n", 404)
        if png is None:
            return PlainTextResponse("There is no such tile.\n", 404)
        return Response(png, media_type="image/png", headers=headers)

    def _count_unread(self) -> int:
        return sum(source.error is not None for source in self._studio.sources.images())

    async def download(self, request: Request) -> Response:
        """Return what a job wrote, as a download."""
        try:
            path = self._studio.jobs.file(request.path_params["job"])
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 404)
        if path is None or not path.resolve().is_relative_to(self._studio.project.directory / "exports"):
            return PlainTextResponse("There is no such file.\n", 404)
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    async def health(self, request: Request) -> Response:
        """Say that the server is alive."""
        return JSONResponse({"studio": "invariance"})

    async def socket(self, socket: WebSocket) -> None:
        """Serve a page."""
        await Connection(socket, self._studio, self._executor).serve()


def serve(
    folder: Path,
    port: int | None = None,
    project: Path | None = None,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve the images of a folder until Ctrl-C or SIGTERM.

    Parameters
    ----------
    folder : Path
        The folder of the images.
    port : int or None, default=None
        The port. None means the default one or, if it is taken, any other.
    project : Path or None, default=None
        The folder of the project. None means `invariance-studio` in the folder of the images.
    on_start : callable or None, default=None
        Called with the start address when the server answers.
    """
    listener = bind(port)
    try:
        studio = Studio(check_folder(folder), project)
    except BaseException:
        listener.close()
        raise
    try:
        app = make_app(studio, listener.getsockname()[1])
        run_server(app, listener, lambda: on_start(app.address) if on_start else None)
    finally:
        studio.close()


def make_app(studio: Studio, port: int, token: str | None = None) -> Guard:
    """Return the guarded application of a studio.

    Parameters
    ----------
    studio : Studio
    port : int
        The port that browsers connect to.
    token : str or None, default=None
        The secret of the start address; None makes one.

    Returns
    -------
    app : Guard
    """
    return Guard(Starlette(routes=Pages(studio).routes()), port, token)


def bind(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine; without a port, on the default one or, if it is taken, on any."""
    for wanted in (DEFAULT_PORT, 0) if port is None else (port,):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, wanted))
            listener.listen()  # two that start at the same moment can both bind a port, but only one can listen
            return listener
        except OSError as error:
            listener.close()
            failure = error
    raise OSError(f"port {port} cannot be used ({failure.strerror}). Name another one with --port.") from failure


def run_server(app: Guard, listener: socket.socket, on_start: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, which end this call without an error."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            on_start()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            self.should_exit = True  # the usual way to end a studio: not an error, so that it is not raised again

    config = uvicorn.Config(
        app, log_config=None, log_level="warning", access_log=False, server_header=False, lifespan="off",
        ws="websockets-sansio", ws_max_size=MAX_BYTES, ws_per_message_deflate=False, proxy_headers=False,
        timeout_graceful_shutdown=SECONDS_TO_END, limit_concurrency=100,
    )  # fmt: skip
    Server(config).run(sockets=[listener])


def list_page_files() -> dict[str, Path]:
    """Return the files of the page by their names; no others are served."""
    folder = Path(str(files("invariance.studio") / "page"))
    return {path.name: path for path in sorted(folder.iterdir()) if path.suffix in TYPES and path.is_file()}


def _parse_whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise ValueError("A whole number is needed.")
    return int(text)


def _parse_share(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError("low and high must be from 0 to 1.")
    return value
