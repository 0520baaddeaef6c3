"""Who may talk to the studio: this machine's user, from the page that the studio itself has served.

Pure ASGI around the whole application, for HTTP and WebSockets alike: middleware for HTTP alone never sees WebSockets.
Other users of the machine do not know the token, other pages in the browser are of another origin, and a foreign name
that leads to this machine is not the name that the browser asked for.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; style-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'none'"
)
HEADERS = {
    b"content-security-policy": CONTENT_SECURITY_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}
HOW_TO_ENTER = "Open the address that `invariance studio` prints in the terminal."
MAX_TARGET = 2048  # bytes of path and query
POLICY_VIOLATION = 1008


class Guard:
    """Lets requests of the right origin with the right cookie through, and puts headers on all responses.

    Parameters
    ----------
    app : ASGI application
    port : int
        The port that browsers connect to.
    token : str or None, default=None
        The secret of the start address; None makes one.

    Attributes
    ----------
    address : str
        The start address, with the token.
    """

    def __init__(self, app: App, port: int, token: str | None = None):
        self._app = app
        self._token = token or secrets.token_urlsafe(32)
        self._key = secrets.token_urlsafe(32)
        self._cookie = f"invariance-studio-{port}"  # cookies do not tell ports apart, so that the name must
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self.address = f"http://127.0.0.1:{port}/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http":
            await self._answer_http(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            if self._is_allowed_socket(scope):
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await self._app(scope, receive, send)

    async def _answer_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_from_here(scope):
            await _refuse(send, 403, f"This is not the address of the studio. {HOW_TO_ENTER}")
        elif scope["method"] != "GET":
            await _refuse(send, 405, "The studio answers GET only.", [(b"allow", b"GET")])
        elif len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET:
            await _refuse(send, 414, "The address is too long.")
        elif scope["path"] == "/health":
            await self._app(scope, receive, send)
        elif scope["path"] == "/" and b"token=" in scope["query_string"]:
            await self._enter(scope, send)
        elif not self._has_cookie(scope):
            await _refuse(send, 403, HOW_TO_ENTER)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, scope: Scope, send: Send) -> None:
        """Change the token of the start address for a cookie, so that it does not stay in the address line."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not _is_same(given, self._token):
            await _refuse(send, 403, f"The token is that of another run of the studio. {HOW_TO_ENTER}")
            return
        cookie = f"{self._cookie}={self._key}; Path=/; HttpOnly; SameSite=Strict"
        await _refuse(send, 303, "Opening the studio.", [(b"location", b"/"), (b"set-cookie", cookie.encode())])

    def _is_from_here(self, scope: Scope) -> bool:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        site = _values(scope, b"sec-fetch-site")
        is_own_site = all(value in ("same-origin", "none") for value in site) or scope["path"] == "/"
        return (
            len(hosts) == 1
            and hosts[0] in self._hosts
            and all(origin in self._origins for origin in origins)
            and (is_own_site or scope["type"] == "websocket")
        )

    def _is_allowed_socket(self, scope: Scope) -> bool:
        return self._is_from_here(scope) and len(_values(scope, b"origin")) == 1 and self._has_cookie(scope)

    def _has_cookie(self, scope: Scope) -> bool:
        for header in _values(scope, b"cookie"):
            for part in header.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self._cookie and _is_same(value, self._key):
                    return True
        return False


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _is_same(given: str, secret: str) -> bool:
    return compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _with_headers(send: Send) -> Send:
    """Add the headers to the response; nothing is kept by browsers unless the application says so."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(key.lower(), value) for key, value in message.get("headers", [])]
            names = {key for key, _ in own}
            added = [(key, value) for key, value in HEADERS.items() if key not in names]
            if b"cache-control" not in names:
                added.append((b"cache-control", b"no-store"))
            message["headers"] = [*own, *added]
        await send(message)

    return send_with_headers


async def _refuse(send: Send, status: int, sentence: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = f"{sentence}\n".encode()
    described = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": described + (headers or [])})
    await send({"type": "http.response.body", "body": body})
