"""One WebSocket: requests in, one after the other; replies, events and tiles out."""

import asyncio
import logging
from concurrent.futures import Executor
from functools import partial

from starlette.websockets import WebSocket, WebSocketDisconnect

from invariance.studio.answers import ANSWERS, SLOW
from invariance.studio.messages import MessageError, Request, parse_request
from invariance.studio.outbox import Outbox
from invariance.studio.studio import Studio

MAX_MALFORMED = 20  # in a row
MAX_SLOW = 4  # requests that take long, at a time
POLICY_VIOLATION, TRY_LATER = 1008, 1013
logger = logging.getLogger(__name__)


class Connection:
    """Serves one page until it is closed.

    Parameters
    ----------
    socket : WebSocket
        Not yet accepted.
    studio : Studio
    executor : Executor
        Runs the answers.
    """

    def __init__(self, socket: WebSocket, studio: Studio, executor: Executor):
        self._socket, self._studio, self._executor = socket, studio, executor
        self._outbox = Outbox(studio.pixels.painting.rasters, asyncio.get_running_loop())
        self._number = 0
        self._slow: set[asyncio.Task] = set()

    async def serve(self) -> None:
        """Serve until the page or the server ends."""
        await self._socket.accept()
        self._number = self._studio.connect(self._outbox)
        writer = asyncio.create_task(self._write())
        reader = asyncio.create_task(self._read())
        try:
            await asyncio.wait([writer, reader], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._studio.disconnect(self._number)
            tasks = {writer, reader, *self._slow}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled() and task.exception() is not None:
                    logger.debug("a connection failed", exc_info=task.exception())

    async def _write(self) -> None:
        try:
            while True:
                message = await self._outbox.take()
                if isinstance(message, str):
                    await self._socket.send_text(message)
                else:
                    await self._socket.send_bytes(message)
        except BufferError:
            await self._socket.close(TRY_LATER)
        except (WebSocketDisconnect, RuntimeError):
            return

    async def _read(self) -> None:
        n_malformed = 0
        while n_malformed < MAX_MALFORMED:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            try:
                text = received.get("text")
                if text is None:
                    raise MessageError("messages must be text. Reload the page.")
                request = parse_request(text)
            except MessageError as error:
                n_malformed += 1
                self._outbox.say({"reply": error.number, "ok": False, "error": str(error)})
                continue
            n_malformed = 0
            await self._handle(request)
        await self._socket.close(POLICY_VIOLATION)

    async def _handle(self, request: Request) -> None:
        if request.do not in SLOW:
            await self._answer(request)
        elif len(self._slow) >= MAX_SLOW:
            self._refuse(request, "the studio is still busy with that. Wait a moment.")
        else:
            task = asyncio.create_task(self._answer(request))
            self._slow.add(task)
            task.add_done_callback(self._slow.discard)

    async def _answer(self, request: Request) -> None:
        answer = partial(ANSWERS[request.do], self._studio, self._number, request.fields)
        try:
            fields = await asyncio.get_running_loop().run_in_executor(self._executor, answer)
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            self._refuse(request, str(error) or type(error).__name__)
        except Exception as error:  # a defect of ours must not end the connection
            logger.exception("the request '%s' failed", request.do)
            self._refuse(request, f"this is a defect of the studio: {type(error).__name__}: {error}")
        else:
            self._outbox.say({"reply": request.number, "ok": True, **fields})

    def _refuse(self, request: Request, sentence: str) -> None:
        self._outbox.say({"reply": request.number, "ok": False, "error": f"{sentence[:1].upper()}{sentence[1:]}"})
