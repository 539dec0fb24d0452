"""The shaped line: when bytes are due, by a clock that is given; and that what passes is what was sent, and counted."""

import socket

import pytest

from vfxgb.bench.field.shaper import HOST, Direction, Line, Passed, ShapedLine

# 1,000 bytes a second, and a second from one end to the other.
SLOW = Line("slow", 0.008, 2000)
FAST = Line("fast", 1000, 0.2)


def test_bytes_leave_one_after_the_other_and_arrive_later() -> None:
    direction = Direction(SLOW)
    assert direction.due(500, 10.0) == pytest.approx(10.0 + 0.5 + 1.0)
    # The line is still busy with the first half of a second.
    assert direction.due(2000, 10.25) == pytest.approx(10.5 + 2.0 + 1.0)
    # It has been free for a while.
    assert direction.due(1000, 20.0) == pytest.approx(20.0 + 1.0 + 1.0)


def test_the_two_directions_do_not_wait_for_each_other() -> None:
    there, back = Direction(SLOW), Direction(SLOW)
    there.due(5000, 0.0)
    assert back.due(1000, 0.0) == pytest.approx(2.0)


def test_the_log_says_how_much_was_sent_until_when() -> None:
    direction = Direction(SLOW)
    for size, now in ((500, 10.0), (20, 10.0005), (2000, 10.25)):
        direction.due(size, now)
    passed = Passed({"there": direction.log(), "back": []}, 0.0)
    assert passed.until("there", 9.9) == 0
    # What comes within a millisecond is one entry.
    assert passed.until("there", 10.0) == 520
    assert passed.until("there", 10.2) == 520
    assert passed.total("there") == 2520
    assert passed.total("back") == 0


def test_a_line_has_half_of_the_round_trip_each_way() -> None:
    assert SLOW.delay_ms == 1000
    assert FAST.bytes_per_second == 125e6
    assert FAST.words == "1000 Mbit/s, 0.2 ms"


def receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, "the connection has ended"
        data += part
    return bytes(data)


def test_what_passes_is_what_was_sent() -> None:
    """Both routes of a line, in both directions, larger than what a connection may hold."""
    blob, answer = bytes(range(256)) * 16384, b"answer" * 1000
    with (
        socket.create_server((HOST, 0)) as bank,
        socket.create_server((HOST, 0)) as shop,
        ShapedLine(FAST, [(shop.getsockname()[1], "there"), (bank.getsockname()[1], "back")]) as line,
    ):
        for listening, port, size in ((shop, line.ports[0], len(blob)), (bank, line.ports[1], len(answer))):
            with socket.create_connection((HOST, port)) as near:
                far, _ = listening.accept()
                with far:
                    sent = blob if listening is shop else answer
                    near.sendall(sent[: size // 2])
                    assert receive(far, size // 2) == sent[: size // 2]
                    near.sendall(sent[size // 2 :])
                    near.shutdown(socket.SHUT_WR)
                    assert receive(far, size - size // 2) == sent[size // 2 :]
                    assert far.recv(1) == b""
                    far.sendall(b"back")
                    assert receive(near, 4) == b"back"
        passed = line.passed()
    # Who dials the shop sends there; who dials the bank is the shop, which sends back.
    assert passed.total("there") == len(blob) + 4
    assert passed.total("back") == len(answer) + 4


def test_who_dials_a_port_where_nobody_listens_is_told() -> None:
    with socket.create_server((HOST, 0)) as unused:
        port = unused.getsockname()[1]
    with ShapedLine(FAST, [(port, "there")]) as line, socket.create_connection((HOST, line.ports[0])) as near:
        near.settimeout(60)
        assert near.recv(1) == b""
