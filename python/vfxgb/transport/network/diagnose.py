"""Why a peer cannot be reached, in words: asked only after gRPC has failed, whose own texts differ by version.

A plain TCP connection and a TLS handshake that verifies nothing show who is there; no data is sent to it.
"""

import hashlib
import socket
import ssl
import time
from contextlib import suppress
from datetime import datetime, timezone

from vfxgb.transport.network.certificates import describe, fingerprint, pins
from vfxgb.transport.network.identity import Identity, Peer


def why_unreachable(identity: Identity, peer: Peer, timeout: float) -> str:
    """The cause and what to do, or "" if nothing wrong can be seen from here. Takes at most `timeout` seconds."""
    host, _, port = peer.address.rpartition(":")
    if not host or not port.isdigit():
        return f"found the address {peer.address!r}, wanted host:port"
    deadline = time.monotonic() + timeout
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), timeout)
    except socket.gaierror:
        return f"the name {host!r} is not known; check the address"
    except ConnectionRefusedError:
        return f"nobody listens there; start {peer.party}, or check the address"
    except TimeoutError:
        return f"no answer in {timeout:g} seconds; check the address and the firewalls on the way"
    except (OSError, OverflowError) as error:
        return f"no connection ({error}); check the address and the network"
    with connection:
        try:
            return _why_no_session(connection, identity, peer, deadline)
        except TimeoutError:
            return f"a program there accepts connections and says nothing for {timeout:g} seconds; is it {peer.party}?"
        except ssl.SSLError as error:
            return _in_words(peer, error)
        except OSError:
            return f"something there closes the connection during the TLS handshake; is it {peer.party}?"


def _why_no_session(connection: socket.socket, identity: Identity, peer: Peer, deadline: float) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    # Nothing is sent over this connection: the certificate is read and compared below.
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(identity.certificate, identity.key)
    connection.settimeout(max(0.1, deadline - time.monotonic()))
    with context.wrap_socket(connection, server_hostname=peer.party) as secure:
        shown = secure.getpeercert(binary_form=True) or b""
        seen = hashlib.sha256(shown).hexdigest()
        known = {fingerprint(pem): path for pem, path in zip(pins(peer), peer.certificates, strict=True)}
        if seen not in known:
            wanted = " or ".join(f"{text[:16]}..." for text in known)
            return (
                f"found the certificate with fingerprint {seen[:16]}..., wanted the one pinned for {peer.party} "
                f"({wanted}); is another party at this address, or has {peer.party} a new certificate?"
            )
        said = describe(known[seen])
        if datetime.now(timezone.utc) > said.ends:
            return f"the certificate of {peer.party} expired on {said.ends:%Y-%m-%d %H:%M} UTC; it needs a new one"
        # Under TLS 1.3 the other side's verdict on our certificate comes after the handshake: an alert or the end. Who
        # accepts it greets at once, as HTTP/2 wants it.
        secure.settimeout(max(0.1, deadline - time.monotonic()))
        with suppress(TimeoutError):
            if not secure.recv(1):
                return _not_accepted(peer)
    return ""


def _not_accepted(peer: Peer) -> str:
    return (
        f"{peer.party} does not accept this side's certificate: another is pinned there, or none, or it has expired; "
        f"give {peer.party} the certificate in use"
    )


def _in_words(peer: Peer, error: ssl.SSLError) -> str:
    reason = (error.reason or str(error)).upper()
    if "UNKNOWN_CA" in reason or "CERTIFICATE" in reason or "HANDSHAKE_FAILURE" in reason:
        return _not_accepted(peer)
    if "WRONG_VERSION" in reason or "RECORD" in reason or "HTTP" in reason:
        return "what is there does not speak TLS; is another program on that port?"
    return f"the TLS handshake failed ({reason}); is it {peer.party}?"
