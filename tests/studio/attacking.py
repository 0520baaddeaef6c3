"""The address of a studio that is attacked, and its WebSocket by the client of Starlette."""

import json

from starlette.websockets import WebSocketDisconnect

PORT, TOKEN = 8799, "the-token"
HERE, SOCKET = f"http://127.0.0.1:{PORT}", f"ws://127.0.0.1:{PORT}/socket"


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
