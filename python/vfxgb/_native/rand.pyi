"""Randomness (cpp/rand): the process's CSPRNG, and ChaCha20 for known-answer tests."""

def random_bytes(count: int) -> bytes:
    """Bytes from the process's CSPRNG (ChaCha20, seeded by the operating system)."""

def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """One ChaCha20 block (RFC 8439, section 2.3), for known-answer tests."""

def chacha20_keystream(key: bytes, blocks: int) -> bytes:
    """The first blocks of the ChaCha20 key stream with nonce 0, several at a time, for known-answer tests."""
