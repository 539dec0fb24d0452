import pytest

MAX_OVERHEAD = 1.3


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
@pytest.mark.parametrize("bits", [1024, 2048, 3072])
def test_memory_is_close_to_the_information(make_key, scheme: str, bits: int) -> None:
    key = make_key(scheme, bits)
    for count in (64, 1000):
        c = key.public_key.encrypt([0]).take([0] * count)
        information = count * key.public_key.ciphertext_modulus.bit_length() / 8
        assert information <= c.nbytes <= MAX_OVERHEAD * information
        assert key.public_key.wire_bytes <= MAX_OVERHEAD * information / count
