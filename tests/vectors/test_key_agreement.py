"""What keys of users and of base transfers are made of, against published answers: X25519, HKDF and ML-KEM-768."""

import hashlib

import mlkem_twin
from vfxgb.crypto.kem import KEM_CIPHERTEXT_BYTES, KEM_SEED_BYTES, KemKey
from vfxgb.crypto.key_agreement import AgreementKey, derive


def test_rfc_7748_section_6_1() -> None:
    alice = AgreementKey(bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
    bob = AgreementKey(bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    assert alice.public.hex() == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    assert bob.public.hex() == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    shared = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    assert alice.agree(bob.public, b"use") == bob.agree(alice.public, b"use") == derive(shared, b"use")


def test_rfc_5869_appendix_a_3() -> None:
    """SHA-256 without salt and context; the first 32 bytes of the 42 that stand there."""
    assert derive(b"\x0b" * 22, b"").hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"


def test_a_hundred_answers_of_ml_kem_768() -> None:
    """Seeds, messages and wrong ciphertexts from SHAKE128 of nothing; the hash of all answers is Go's (crypto/mlkem).

    The method is that of C2SP's CCTV, from the reference implementation. Encapsulation with given randomness is the
    twin's, which by this is checked, too: `cryptography` draws its own.
    """
    count, message_bytes = 100, 32
    size = KEM_SEED_BYTES + message_bytes + KEM_CIPHERTEXT_BYTES
    drawn = hashlib.shake_128().digest(count * size)
    answers = hashlib.shake_128()
    for start in range(0, count * size, size):
        seed = drawn[start : start + KEM_SEED_BYTES]
        message = drawn[start + KEM_SEED_BYTES : start + KEM_SEED_BYTES + message_bytes]
        key = KemKey(seed)
        secret, ciphertext = mlkem_twin.encapsulate(key.public, message)
        assert key.decapsulate(ciphertext) == secret
        wrong = drawn[start + size - KEM_CIPHERTEXT_BYTES : start + size]
        for answer in (key.public, ciphertext, secret, key.decapsulate(wrong)):
            answers.update(answer)
    assert answers.hexdigest(32) == "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415"
