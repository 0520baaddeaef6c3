"""Requests that are wrong in any way are refused with a sentence, and the studio lives on."""

import json

import numpy as np
import pytest

pytest.importorskip("starlette")

from starlette.websockets import WebSocketDisconnect

from invariance.studio.messages import MAX_BYTES, REQUESTS, MessageError, parse_request
from tests.studio.attacking import ask, enter_socket, read_all

N_FUZZED = 400


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
        "stroke_id": rng.bytes(8).hex(),  # a new one, or the stroke would not be painted
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
                        received = line.receive()
                        if received.get("text") is None:
                            assert received["type"] == "websocket.send"  # a tile that a stroke has changed
                            continue
                        message = json.loads(received["text"])
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
