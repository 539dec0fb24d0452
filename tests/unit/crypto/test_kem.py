"""ML-KEM-768: two sides agree, others do not, and what is refused."""

import pytest
from cryptography.exceptions import UnsupportedAlgorithm

from vfxgb.crypto import kem
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, MissingPackageError


def test_two_sides_have_one_secret() -> None:
    key = kem.KemKey()
    secret, ciphertext = kem.encapsulate(key.public)
    assert (len(key.public), len(ciphertext), len(secret)) == (1184, 1088, 32)
    assert key.decapsulate(ciphertext) == secret
    assert kem.encapsulate(key.public) != (secret, ciphertext)


def test_a_seed_gives_one_key() -> None:
    assert kem.KemKey(bytes(64)).public == kem.KemKey(bytes(64)).public != kem.KemKey().public
    assert kem.KemKey(bytes(64)).public.hex()[:8] not in repr(kem.KemKey(bytes(64)))


def test_others_and_damaged_ciphertexts_give_other_secrets() -> None:
    """Without a word: it shows when the secret is used."""
    key = kem.KemKey()
    secret, ciphertext = kem.encapsulate(key.public)
    assert kem.KemKey().decapsulate(ciphertext) != secret
    assert key.decapsulate(bytes([ciphertext[0] ^ 1]) + ciphertext[1:]) != secret


@pytest.mark.parametrize("size", [0, 1087, 1089])
def test_ciphertexts_of_other_lengths(size: int) -> None:
    with pytest.raises(InvalidCiphertextError, match=f"found {size} bytes, wanted 1088"):
        kem.KemKey().decapsulate(bytes(size))


@pytest.mark.parametrize("public", [b"", bytes(1183), bytes(1185), b"\x01\x0d" + bytes(1182), b"\xff" * 1184])
def test_public_keys_that_are_none(public: bytes) -> None:
    """Of other lengths, with the number 3329, with 4095."""
    with pytest.raises(InvalidKeyError, match=f"found {len(public)} bytes that are no public key of ML-KEM-768"):
        kem.encapsulate(public)


def test_the_largest_number_is_reduced() -> None:
    kem.encapsulate(b"\x00\x0d" + bytes(1182))


def test_a_library_without_it(monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise UnsupportedAlgorithm("none")

    public = kem.KemKey().public
    monkeypatch.setattr(kem, "MLKEM768PrivateKey", type("No", (), {"from_seed_bytes": refuse}))
    monkeypatch.setattr(kem, "MLKEM768PublicKey", type("No", (), {"from_public_bytes": refuse}))
    for use in (kem.KemKey, lambda: kem.encapsulate(public)):
        with pytest.raises(MissingPackageError, match=r"lacks ML-KEM-768.*install cryptography 48 or newer"):
            use()
