"""A studio in a process of its own, and a client of its WebSocket without a browser."""

import http.client
import json
import os
import signal
import struct
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np
from PIL import Image
from websockets.sync.client import connect

PATIENCE = 300.0  # seconds; a safety net, not a limit that is tested


def write_images(folder, n_images=2, side=300, seed=0):
    """Grey images with a left half that is brighter than the right one."""
    rng = np.random.default_rng(seed)
    for number in range(n_images):
        image = rng.normal(90, 10, (side, side))
        image[:, : side // 2] += 70
        Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(folder / f"image{number}.png")
    return folder


class Server:
    """`invariance studio` in a process."""

    def __init__(self, folder, *options, port=None):
        command = [sys.executable, "-m", "invariance", "studio", str(folder), "--no-browser", *map(str, options)]
        command += [] if port is None else ["--port", str(port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"no address: {line!r} {self.process.communicate()}")
        self.address = line.split()[-1]
        self.port = urlsplit(self.address).port
        self.cookie = self.enter(urlsplit(self.address).query)

    def get(self, path, **headers):
        """Return status, headers and body of a GET."""
        return self.ask("GET", path, **headers)

    def ask(self, method, path, **headers):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"Host": f"127.0.0.1:{self.port}"} | {name.replace("_", "-"): value for name, value in headers.items()}
        line.putrequest(method, path, skip_host=True)
        for name, value in sent.items():
            line.putheader(name, value)
        line.endheaders()
        response = line.getresponse()
        found = response.status, dict(response.getheaders()), response.read()
        line.close()
        return found

    def enter(self, query):
        status, headers, _ = self.get(f"/?{query}")
        assert status == 303, status
        return {name.lower(): value for name, value in headers.items()}["set-cookie"].split(";")[0]

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def interrupt(self, number=signal.SIGINT):
        """End it as a user does; return exit code, standard output and error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.kill()


class Client:
    """A page: sends requests, and keeps what comes in."""

    def __init__(self, server):
        self._context = connect(
            f"ws://127.0.0.1:{server.port}/socket", origin=f"http://127.0.0.1:{server.port}",
            additional_headers={"Cookie": server.cookie}, max_size=None, compression=None, proxy=None,
        )  # fmt: skip
        self.line = self._context.__enter__()
        self.next = 1
        self.events, self.frames = [], []

    def send(self, do, **fields):
        """Send a request; return its id."""
        self.next += 1
        self.line.send(json.dumps({"id": self.next, "do": do, **fields}))
        return self.next

    def receive(self, timeout=PATIENCE):
        """Receive one message: ("reply", message), ("event", message) or ("frame", (header, payload, time))."""
        data = self.line.recv(timeout)
        if isinstance(data, bytes):
            (length,) = struct.unpack("<I", data[:4])
            frame = json.loads(data[4 : 4 + length]), data[4 + length :], time.perf_counter()
            self.frames.append(frame)
            return "frame", frame
        message = json.loads(data)
        kind = "event" if "event" in message else "reply"
        if kind == "event":
            self.events.append(message)
        return kind, message

    def do(self, do, **fields):
        """Send a request and return its reply."""
        number = self.send(do, **fields)
        return self.wait(lambda kind, message: kind == "reply" and message["reply"] == number)

    def must(self, do, **fields):
        reply = self.do(do, **fields)
        assert reply["ok"], reply
        return reply

    def wait(self, is_wanted, timeout=PATIENCE):
        """Receive until a message is wanted; return it."""
        deadline = time.monotonic() + timeout
        while True:
            kind, message = self.receive(max(0.01, deadline - time.monotonic()))
            if is_wanted(kind, message):
                return message

    def stroke(self, image, points, number, radius=3.0, page=0, layer="labels", tool="brush", **fields):
        return self.do(
            "stroke", image=image, page=page, layer=layer, tool=tool, **{"class": number}, radius=radius,
            points=np.asarray(points, float).ravel().tolist(), **fields,
        )  # fmt: skip

    def labels(self, image, page=0, layer="labels", shape=(300, 300)):
        """Return the labels of a page, from tiles."""
        self.frames.clear()
        self.must("labels", image=image, page=page, layer=layer, top=0, left=0, bottom=shape[0], right=shape[1])
        self.do("open")
        mark = self.send("class.change", mode="pixels", number=99)  # refused; frames may come after the reply
        self.wait(lambda kind, message: kind == "reply" and message["reply"] == mark)
        found = np.zeros(shape, np.uint8)
        while True:
            for header, payload, _ in self.frames:
                if header["kind"] == "labels" and (header["image"], header["page"], header["layer"]) == (
                    image,
                    page,
                    layer,
                ):
                    tile = np.frombuffer(payload, np.uint8).reshape(256, 256)
                    part = found[256 * header["row"] :, 256 * header["col"] :][:256, :256]
                    part[...] = tile[: part.shape[0], : part.shape[1]]
            self.frames.clear()
            try:
                self.receive(0.2)
            except TimeoutError:
                return found

    def close(self):
        self._context.__exit__(None, None, None)
