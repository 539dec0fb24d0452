"""The side that opens sessions."""

from vfxgb.transport.network.identity import Identity, Peer
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.link import NetworkLink


def dial(identity: Identity, peer: Peer, limits: Limits | None = None) -> NetworkLink:
    """A new session with `peer`, which listens at peer.address; one attempt of at most connect_seconds.

    Raises CertificateError for files of this side that cannot be used; PeerError that says why the peer cannot be
    reached: nobody listens there, no TLS, another or an expired certificate, this side's certificate unknown or refused,
    another version, no room for another session.
    """
    raise NotImplementedError
