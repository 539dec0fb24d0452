"""Links over gRPC with mutual TLS, peers pinned by certificate: `dial` on one side, a `Listener` on the other."""

import os

# gRPC writes what happens on its connections to stderr; what matters of it is in our errors.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from vfxgb.transport.network.dialer import dial
from vfxgb.transport.network.identity import Identity, Peer
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.link import NetworkLink
from vfxgb.transport.network.listener import Arrival, Listener
from vfxgb.transport.network.selector import Selector
from vfxgb.transport.network.state import LinkState, StateObserver

__all__ = [
    "Arrival",
    "Identity",
    "Limits",
    "LinkState",
    "Listener",
    "NetworkLink",
    "Peer",
    "Selector",
    "StateObserver",
    "dial",
]
