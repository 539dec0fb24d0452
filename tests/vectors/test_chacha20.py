"""The block function of the generator against RFC 8439."""

from vfxgb import _native


def test_rfc_8439_section_2_3_2() -> None:
    key = bytes(range(32))
    nonce = bytes.fromhex("000000090000004a00000000")
    expected = bytes.fromhex(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    assert _native.rand.chacha20_block(key, 1, nonce) == expected


def test_rfc_8439_appendix_a_1_first_two_vectors() -> None:
    first = _native.rand.chacha20_block(bytes(32), 0, bytes(12))
    second = _native.rand.chacha20_block(bytes(32), 1, bytes(12))
    assert first.hex().startswith("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    assert second.hex().startswith("9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed")
