"""ML-KEM-768 against published known answers, and the base transfers of fixed seeds, once and for all."""

import hashlib

import numpy as np
import pytest

import base_ot_twin as twin
import mlkem_twin
from vfxgb.crypto.kem import KemKey
from vfxgb.ot import kem_transfers
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import modp_group

# The "accumulated" vectors of the Community Cryptography Test Vectors, 100 rounds: a digest of all keys, ciphertexts
# and secrets of FIPS 203 for inputs that are themselves a stream of SHAKE-128.
ACCUMULATED = "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415"
# SHA-256 of greeting, offer, reply, and of the session's name with all keys of eight transfers.
KNOWN = {
    768: (
        "ea03536103bb71815f207d8d698c48d221df14aaf4a55bbe6415021b8a6b557b",
        "51eca7e68f4eb4e3f4919d5ad295568962fce03776a625c3f6f9f9daba62b2e6",
        "52d017cc825c3a99cfcbb868faa688e652721f74fa48d33ec80a09c0130e315a",
        "37702cf5ad602aa966c59a5eea4aeb0e6a774317f54d888ada8930e5ffdc2b55",
    ),
    3072: (
        "a2e5f2030fa4eaad36203da9ce8b66d39793aa00d9cafc3c450b86ff2e4a2c01",
        "5d895c9e4515668c49fffaeb79825689497174b498ee5f0f8ec220608609cf2f",
        "8404eed2a7624b69ad0525981c42691959e7af1b5dc89bb743c0fb10d574c9dc",
        "245dba0457995422513dcf0a7e70d4eac53f31b2d35364c6a5e027d52349a747",
    ),
}


def test_ml_kem_768() -> None:
    """Public keys and decapsulation are those of `cryptography`, encapsulation with given randomness the twin's."""
    stream = mlkem_twin.stream_of(hashlib.shake_128())
    made = hashlib.shake_128()
    for _ in range(100):
        seed = bytes(mlkem_twin.first(stream, 64))
        key = KemKey(seed)
        secret, ciphertext = mlkem_twin.encapsulate(key.public, bytes(mlkem_twin.first(stream, 32)))
        assert key.decapsulate(ciphertext) == secret
        random = bytes(mlkem_twin.first(stream, 1088))
        for part in (key.public, ciphertext, secret, key.decapsulate(random)):
            made.update(part)
    assert made.hexdigest(32) == ACCUMULATED


@pytest.mark.parametrize("bits", KNOWN)
def test_transfers_of_fixed_seeds(bits: int, monkeypatch) -> None:
    group = modp_group(bits, insecure=True)
    twin.inject(monkeypatch, b"known answers")
    receiver = BaseReceiver(group, 1, 8)
    sender = BaseSender(receiver.greeting, group, 1, "base transfers", 8)
    reply = receiver.reply(sender.offer, "base transfers")
    session, pairs = sender.finish(reply, "base transfers")
    parts = receiver.greeting, sender.offer, reply, session + receiver.seeds.tobytes() + pairs.tobytes()
    assert tuple(hashlib.sha256(part).hexdigest() for part in parts) == KNOWN[bits]


def test_a_mask_of_fixed_seeds() -> None:
    """The hash into vectors modulo 3329, of a vector of zeros."""
    zeros = np.zeros((1, 1152), np.uint8)
    vector = kem_transfers._masks(bytes(32), zeros[:, 0], zeros[:, :32], zeros)
    assert vector[0, :6].tolist() == [25, 2580, 2322, 1438, 1199, 2135]
    assert hashlib.sha256(kem_transfers.pack_vectors(vector).tobytes()).hexdigest() == (
        "447a079ea72245061fa74c74c1818361f30c57966ea0b742491296f66ef93ea1"
    )
