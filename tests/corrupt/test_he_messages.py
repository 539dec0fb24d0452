"""Messages of the encrypted protocols that are not what they should be: each refused, with its own error.

One party of an ordinary run sends something else than it should; the other one must say what is wrong with it.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from tampering import Change, error_of, replaced, toy_run
from vfxgb.crypto import generate
from vfxgb.errors import (
    CapacityError,
    FormatError,
    InvalidCiphertextError,
    KeySizeError,
    MessageError,
    PeerError,
    VfxgbError,
)
from vfxgb.protocols.he.messages import HeGradients, HeKey, HeSums, HeTotals
from vfxgb.train import simulate
from vfxgb.transport.messages import pack_array, pack_bytes

N, ROUNDS = 60, 2
QUICK = {"key_bits": 256, "randomness": "short", "insecure": True, "chunk_rows": 25}
WIDTH = 256 // 4
OTHER = generate("paillier", 256, insecure=True)


def train(protocol: str = "batch_he", **params: Any) -> simulate.FitResult:
    return toy_run(protocol, {**QUICK, **params})


@pytest.fixture
def tampered(monkeypatch) -> Callable[..., VfxgbError]:
    """tampered(change, at, **params): see tampering.error_of."""

    def run(change: Change, at: str, protocol: str = "batch_he", **params: Any) -> VfxgbError:
        return error_of(monkeypatch, change, at, protocol, {**QUICK, **params})

    return run


def first_tree(**changes: Any) -> Callable[[list[Any]], list[Any]]:
    """A list of trees, the first of them changed; a callable gets the old value."""

    def change(trees: list[Any]) -> list[Any]:
        values = {name: new(getattr(trees[0], name)) if callable(new) else new for name, new in changes.items()}
        return [msgspec.structs.replace(trees[0], **values), *trees[1:]]

    return change


def short(data: memoryview) -> memoryview:
    return data[:-WIDTH]


def cut(data: memoryview) -> memoryview:
    return data[:-1]


def with_zero(data: memoryview) -> memoryview:
    """The second ciphertext is 0, which is no unit."""
    return pack_bytes(bytes(data[:WIDTH]) + bytes(WIDTH) + bytes(data[2 * WIDTH :]))


def beyond(data: memoryview) -> memoryview:
    """The first ciphertext is not below the modulus."""
    return pack_bytes(b"\xff" * WIDTH + bytes(data[WIDTH:]))


def lanes(change: Callable[[memoryview], memoryview]) -> Callable[[list[Any]], list[Any]]:
    return lambda found: [change(found[0]), *found[1:]]


def second_round(message: Any) -> bool:
    return bool(message.round == 1)


def test_an_honest_run_ends_well() -> None:
    assert train().active_share.n_rounds == ROUNDS


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        (replaced(HeKey, public_key=pack_bytes(b"no key")), FormatError, ""),
        (replaced(HeKey, public_key=cut), FormatError, ""),
        (
            replaced(HeKey, public_key=pack_bytes(generate("paillier", 128, insecure=True).public_key.to_bytes())),
            MessageError,
            "found paillier of 128 bits, wanted paillier of 256",
        ),
        (
            replaced(HeKey, public_key=pack_bytes(generate("ou", 256, insecure=True).public_key.to_bytes())),
            MessageError,
            "found ou of 256 bits, wanted paillier",
        ),
        # Another key of the right size: the ciphertexts that follow are not its.
        (
            replaced(HeKey, public_key=pack_bytes(OTHER.public_key.to_bytes())),
            MessageError,
            "reading gradients: found .* key",
        ),
        (replaced(HeGradients, round=7), MessageError, "found round 7, lane 0, first 0, count 25, .* wanted round 0"),
        (replaced(HeGradients, second_round, round=0), MessageError, "found round 0, .* wanted round 1"),
        (replaced(HeGradients, lane=1), MessageError, "lane 1"),
        (
            replaced(HeGradients, first=25),
            MessageError,
            "first 25, .* wanted round 0, lane 0, first 0",
        ),
        (replaced(HeGradients, count=24), MessageError, "count 24"),
        (replaced(HeGradients, count=-1), MessageError, "count -1"),
        (replaced(HeGradients, key=b""), MessageError, "key , wanted"),
        (replaced(HeGradients, ciphertexts=short), MessageError, r"found 1536 bytes, wanted 1600 bytes"),
        (replaced(HeGradients, ciphertexts=cut), MessageError, "found 1599 bytes"),
        (replaced(HeGradients, ciphertexts=pack_bytes(b"")), MessageError, "found 0 bytes"),
        (replaced(HeGradients, ciphertexts=with_zero), InvalidCiphertextError, "ciphertext of row 1 of the sample"),
        (replaced(HeGradients, ciphertexts=beyond), InvalidCiphertextError, "ciphertext of row 0 of the sample"),
        (
            replaced(HeGradients, lambda message: message.first == 50, ciphertexts=with_zero),
            InvalidCiphertextError,
            "round 0, lane 0: the ciphertext of row 51",
        ),
        (replaced(HeTotals, round=1), MessageError, "reading totals: found round 1, depth 0"),
        (replaced(HeTotals, second_round, round=0), MessageError, "found round 0, depth 0, .* wanted round 1"),
        (replaced(HeTotals, depth=2), MessageError, "depth 2"),
        (replaced(HeTotals, key=OTHER.public_key.fingerprint_bytes), MessageError, "reading totals: found key"),
        (replaced(HeTotals, trees=[]), MessageError, r"trees \[\], wanted"),
        (replaced(HeTotals, trees=first_tree(tree=1)), MessageError, r"trees \[1\]"),
        (
            replaced(HeTotals, trees=first_tree(lanes=[])),
            MessageError,
            "tree 0: found 0 lanes, wanted 1",
        ),
        (
            replaced(HeTotals, trees=first_tree(lanes=lanes(short))),
            MessageError,
            "found 0 bytes, wanted 64 bytes",
        ),
        (replaced(HeTotals, trees=first_tree(lanes=lanes(beyond))), InvalidCiphertextError, "ciphertext of node 0"),
    ],
)
def test_a_passive_party_refuses(change, kind, match, tampered) -> None:
    error = tampered(change, "bank")
    assert isinstance(error, kind)
    assert re.search(match, str(error))
    # The active party was told that, in general words, and nothing else.
    assert isinstance(error.__cause__, PeerError)
    assert error.__cause__.kind == kind.__name__
    assert str(error) not in str(error.__cause__)
    assert "stopped the run: shop " in str(error.__cause__)


def test_a_small_key_that_was_not_agreed(tampered) -> None:
    """The receiver's floor does not depend on what the sender believes."""
    small = generate("paillier", 1024, insecure=True).public_key.to_bytes()
    error = tampered(replaced(HeKey, public_key=pack_bytes(small)), "bank", key_bits=2048, insecure=False)
    assert isinstance(error, KeySizeError)
    assert "1024 bits, wanted at least 2048" in str(error)


@pytest.mark.parametrize("protocol", ["batch_he", "secureboost"])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (replaced(HeSums, round=3), "reading sums of shop: found round 3, depth 0"),
        (replaced(HeSums, second_round, round=0), "found round 0, depth 0, .* wanted round 1"),
        (replaced(HeSums, depth=1), "depth 1, .* wanted round 0, depth 0"),
        (replaced(HeSums, trees=[]), "found 0 trees"),
        (
            replaced(HeSums, key=OTHER.public_key.fingerprint_bytes),
            "depth 0, key .*, wanted round 0, depth 0, key",
        ),
        (replaced(HeSums, trees=first_tree(n_candidates=-1)), "found -1 candidates"),
        (replaced(HeSums, trees=first_tree(n_candidates=10**12)), "bytes of ciphertexts, wanted"),
        (replaced(HeSums, trees=first_tree(n_candidates=0)), "bytes of ciphertexts, wanted 0"),
        (replaced(HeSums, trees=first_tree(n_nodes=2)), "found 2 nodes in"),
        (replaced(HeSums, trees=first_tree(lanes=[])), "in 0 lanes, wanted"),
        (replaced(HeSums, trees=first_tree(lanes=lanes(short))), "bytes of ciphertexts, wanted"),
        (replaced(HeSums, trees=first_tree(lanes=lanes(cut))), "bytes of ciphertexts, wanted"),
        (replaced(HeSums, trees=first_tree(lanes=lanes(with_zero))), "the ciphertext at index 1 is outside"),
        (replaced(HeSums, trees=first_tree(lanes=lanes(beyond))), "the ciphertext at index 0 is outside"),
        (replaced(HeSums, trees=first_tree(counts=pack_array(np.zeros(3)))), "found counts of rows, wanted none"),
        (replaced(HeSums, trees=first_tree(constraint=pack_bytes(b"1"))), "found 1 bytes, wanted 0"),
    ],
)
def test_an_active_party_refuses(protocol, change, match, tampered) -> None:
    error = tampered(change, "shop", protocol)
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))


def test_plaintexts_that_no_sum_has(tampered) -> None:
    """A random unit decrypts to a number that fills the whole plaintext."""
    units = OTHER.public_key.encrypt([0])
    data = units.native_under(OTHER.public_key, 1).to_wire()

    def noise(found: memoryview) -> memoryview:
        return pack_bytes(data + bytes(found[WIDTH:]))

    for _ in range(3):
        error = tampered(replaced(HeSums, trees=first_tree(lanes=lanes(noise))), "shop")
        # The number may also be out of range for this key, or share a factor with it.
        assert isinstance(error, (CapacityError, MessageError))
        assert "reading sums of shop, tree 0" in str(error)


@pytest.mark.parametrize(
    ("counts", "match"),
    [
        (pack_bytes(b""), "found 0 bytes, wanted"),
        (lambda old: pack_array(np.full(len(old) // 8, -1)), "counts of rows outside 0 to 60"),
        (lambda old: pack_array(np.full(len(old) // 8, 61)), "counts of rows outside 0 to 60"),
    ],
)
def test_counts_of_the_shift_code(counts, match, tampered) -> None:
    error = tampered(replaced(HeSums, trees=first_tree(counts=counts)), "shop", encoding="shift")
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))
