"""By which group the keys of a TLS connection were agreed on, and whether a party is content with it.

X25519MLKEM768 is X25519 and ML-KEM-768 together: what is recorded of such a connection cannot be opened by breaking
one of the two later. gRPC offers it first from version 1.85 on, and TLS 1.3 signs what was offered, so nobody on the
line can take it out. The listening side reads from gRPC what was negotiated and tells the dialling one, which has no
way of its own to find out, before any frame is sent.
"""

from collections.abc import Iterable, Mapping

POST_QUANTUM_GROUP = "X25519MLKEM768"
# How gRPC names it among the properties of a connection.
_PROPERTY = "ssl_negotiated_key_exchange_group"


def negotiated_group(properties: Mapping[str, Iterable[bytes]]) -> str:
    """The group of a connection, from what gRPC says of it; "" if it does not say."""
    return b"".join(properties.get(_PROPERTY, ())).decode("ascii", errors="replace")


def objection(group: str) -> str:
    """Why a party that requires post-quantum keys refuses a connection, or "" if it does not."""
    if group == POST_QUANTUM_GROUP:
        return ""
    said = f"by {group[:40]!r}" if group else "by a group that gRPC does not name"
    return (
        f"the keys of the connection were agreed on {said}, wanted {POST_QUANTUM_GROUP}: a quantum computer could open "
        "a recording later; install grpcio 1.85 or newer at both parties, or set require_post_quantum = false in "
        "[network] of both"
    )
