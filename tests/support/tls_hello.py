"""The first messages of a TLS connection as they pass the line, read byte by byte (RFC 8446, section 4)."""

import struct
from dataclasses import dataclass

X25519, P256, X25519MLKEM768 = 0x001D, 0x0017, 0x11EC
_KEY_SHARE, _GROUPS, _VERSIONS = 51, 10, 43


@dataclass(frozen=True)
class ClientHello:
    """What a client offers: groups in its order, bytes of the key shares it sends, versions."""

    groups: tuple[int, ...]
    shares: dict[int, int]
    versions: tuple[int, ...]


@dataclass(frozen=True)
class ServerHello:
    """What the server chose."""

    group: int
    version: int


def read_client_hello(data: bytes) -> ClientHello:
    body = _handshake(data, 1)
    at = 34
    at += 1 + body[at]
    at += 2 + struct.unpack_from(">H", body, at)[0]
    at += 1 + body[at]
    extensions = _extensions(body, at)
    groups, versions, shares = extensions[_GROUPS], extensions[_VERSIONS], extensions[_KEY_SHARE]
    sizes, at = {}, 2
    while at < len(shares):
        group, size = struct.unpack_from(">HH", shares, at)
        sizes[group] = size
        at += 4 + size
    return ClientHello(_numbers(groups[2:]), sizes, _numbers(versions[1:]))


def read_server_hello(data: bytes) -> ServerHello:
    body = _handshake(data, 2)
    at = 34
    extensions = _extensions(body, at + 1 + body[at] + 3)
    (version,) = struct.unpack(">H", extensions[_VERSIONS])
    return ServerHello(struct.unpack_from(">H", extensions[_KEY_SHARE])[0], version)


def _handshake(data: bytes, kind: int) -> bytes:
    """The body of the first handshake message, which may lie in several records."""
    joined, at = b"", 0
    while len(joined) < 4 or len(joined) < 4 + int.from_bytes(joined[1:4], "big"):
        record, _, size = struct.unpack_from(">BHH", data, at)
        assert record == 22
        joined += data[at + 5 : at + 5 + size]
        at += 5 + size
    assert joined[0] == kind
    return joined[4 : 4 + int.from_bytes(joined[1:4], "big")]


def _extensions(body: bytes, at: int) -> dict[int, bytes]:
    found, end = {}, at + 2 + struct.unpack_from(">H", body, at)[0]
    at += 2
    while at < end:
        kind, size = struct.unpack_from(">HH", body, at)
        found[kind] = body[at + 4 : at + 4 + size]
        at += 4 + size
    return found


def _numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(data) // 2}H", data)
