"""phe 1.5 (python-paillier) as the yardstick of the benchmark, at its raw level: no encoding, plain ints."""

from collections.abc import Callable
from importlib.util import find_spec

INSTALL_HINT = 'phe is not installed, so there is no ratio to it; pip install "vfxgb[bench]" adds it'
ENCRYPTIONS = 20
ADDITIONS = 5000
PRODUCTS = 500
DECRYPTIONS = 50
FACTOR = 0xB5C3


def is_installed() -> bool:
    """Whether phe can be imported."""
    return find_spec("phe") is not None


def operations(p: int, q: int) -> list[tuple[str, int, Callable[[int], object]]]:
    """(name, count, run) of each operation of phe under the key with factors p and q; `run` ignores its argument."""
    import phe
    from phe.util import mulmod

    public = phe.PaillierPublicKey(p * q)
    private = phe.PaillierPrivateKey(public, p, q)
    a, b = public.raw_encrypt(123456789), public.raw_encrypt(987654321)
    number = phe.EncryptedNumber(public, a)

    def encrypt(_: int) -> None:
        for value in range(ENCRYPTIONS):
            public.raw_encrypt(value)

    def add(_: int) -> None:
        total = a
        for _addition in range(ADDITIONS):
            total = mulmod(total, b, public.nsquare)

    def scale(_: int) -> None:
        for _product in range(PRODUCTS):
            number._raw_mul(FACTOR)

    def decrypt(_: int) -> None:
        for _decryption in range(DECRYPTIONS):
            private.raw_decrypt(a)

    return [
        ("encrypt", ENCRYPTIONS, encrypt),
        ("add", ADDITIONS, add),
        ("scale", PRODUCTS, scale),
        ("decrypt", DECRYPTIONS, decrypt),
    ]
