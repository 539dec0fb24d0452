"""The group by which the keys of links are agreed on: read off the line, told by both ends, and required.

`Classical` stands for a party whose TLS knows no ML-KEM: it ends TLS on both of its sides with the parties' own keys,
which only a test has, and passes on what is inside.
"""

import asyncio
import gc
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from network_runs import CALM, DEADLINE, Town
from proxy import Proxy
from tls_hello import P256, X25519, X25519MLKEM768, read_client_hello, read_server_hello
from vfxgb.errors import PeerError
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.network import Identity, Refusal
from vfxgb.transport.network.key_exchange import POST_QUANTUM_GROUP, negotiated_group, objection

CONTENT = replace(CALM, require_post_quantum=False)
TLS13 = 0x0304
FRAME = (b"header", b"payload")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """gRPC's thread ends with the last of its objects, which an error that was looked at may still hold."""
    yield
    gc.collect()


class Classical(Proxy):
    """A proxy that speaks TLS with P-256 alone: in the name of `here` to who dials it, of `there` to its target."""

    def __init__(self, target: str, here: Identity, there: Identity) -> None:
        self._to_dialler = self._context(ssl.PROTOCOL_TLS_SERVER, here)
        self._to_listener = self._context(ssl.PROTOCOL_TLS_CLIENT, there)
        super().__init__(target)

    @staticmethod
    def _context(side: int, identity: Identity) -> ssl.SSLContext:
        context = ssl.SSLContext(side)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(identity.certificate, identity.key)
        context.set_alpn_protocols(["h2"])
        context.set_ecdh_curve("prime256v1")
        return context

    async def _serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._to_dialler)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self._target, ssl=self._to_listener, server_hostname="shop")


def test_links_offer_and_use_ml_kem(town: Town) -> None:
    """ClientHello and ServerHello as they pass the line: X25519MLKEM768 first, with its key share, and chosen."""
    with (
        town.listener("shop", "bank") as here,
        Proxy(here.address) as proxy,
        town.dial("bank", "shop", proxy.address) as bank,
    ):
        shop = here.accept(DEADLINE).link
        there, back = (bytes(data) for data in proxy.heard[0])
        assert bank.key_exchange == shop.key_exchange == POST_QUANTUM_GROUP == "X25519MLKEM768"
    offered = read_client_hello(there)
    assert offered.groups[0] == X25519MLKEM768
    assert X25519 in offered.groups
    assert offered.shares[X25519MLKEM768] == 1184 + 32
    assert offered.versions[0] == TLS13
    chosen = read_server_hello(back)
    assert (chosen.group, chosen.version) == (X25519MLKEM768, TLS13)


def test_every_connection_of_a_session_is_looked_at(town: Town) -> None:
    with (
        town.listener("shop", "bank") as here,
        Proxy(here.address) as proxy,
        town.dial("bank", "shop", proxy.address) as bank,
    ):
        shop = here.accept(DEADLINE).link
        bank.key_exchange = shop.key_exchange = "not yet"
        proxy.cut()
        end = time.monotonic() + DEADLINE
        while bank.reconnects < 1 and time.monotonic() < end:
            time.sleep(0.01)
        bank.put(FRAME)
        assert [bytes(part) for part in shop.get(DEADLINE)] == [*FRAME]
        assert bank.key_exchange == shop.key_exchange == POST_QUANTUM_GROUP
        assert read_server_hello(bytes(proxy.heard[-1][1])).group == X25519MLKEM768


def test_a_listener_refuses_a_party_without_ml_kem(town: Town) -> None:
    """By name, and before there is a session; the other side is told what to do."""
    refused: list[Refusal] = []
    with (
        town.listener("shop", "bank", on_refused=refused.append) as here,
        Classical(here.address, town.identity("shop"), town.identity("bank")) as classical,
        pytest.raises(PeerError) as raised,
    ):
        town.dial("bank", "shop", classical.address, limits=CONTENT)
    text = str(raised.value)
    assert "bank dialling shop" in text
    assert "shop refused: the keys of the connection were agreed on by 'prime256v1', wanted X25519MLKEM768" in text
    assert "install grpcio 1.85 or newer" in text
    assert "require_post_quantum = false in [network]" in text
    assert [(one.party, one.reason[:40]) for one in refused] == [("bank", text[text.index("the keys") :][:40])]


def test_a_dialler_refuses_a_listener_without_ml_kem(town: Town) -> None:
    """The listener has let it in, and is told that nobody will come."""
    with (
        town.listener("shop", "bank", limits=CONTENT) as here,
        Classical(here.address, town.identity("shop"), town.identity("bank")) as classical,
    ):
        why = "the keys .* by 'prime256v1', wanted X25519MLKEM768"
        with pytest.raises(PeerError, match=rf"bank dialling shop at .*: {why}"):
            town.dial("bank", "shop", classical.address)
        shop = here.accept(DEADLINE).link
        with pytest.raises(LinkClosed, match=rf"bank gave the session up: {why}"):
            shop.get(DEADLINE)


def test_parties_that_are_content_with_less(town: Town) -> None:
    """What they then have is what the line says."""
    with (
        town.listener("shop", "bank", limits=CONTENT) as here,
        Proxy(here.address) as proxy,
        Classical(proxy.address, town.identity("shop"), town.identity("bank")) as classical,
        town.dial("bank", "shop", classical.address, limits=CONTENT) as bank,
    ):
        shop = here.accept(DEADLINE).link
        bank.put(FRAME)
        assert [bytes(part) for part in shop.get(DEADLINE)] == [*FRAME]
        assert bank.key_exchange == shop.key_exchange == "prime256v1"
        assert read_server_hello(bytes(proxy.heard[0][1])).group == P256


def test_a_library_that_does_not_say() -> None:
    assert negotiated_group({}) == ""
    assert negotiated_group({"ssl_negotiated_key_exchange_group": [b"X25519"]}) == "X25519"
    assert "agreed on by a group that gRPC does not name, wanted X25519MLKEM768" in objection("")
    assert objection(POST_QUANTUM_GROUP) == ""
