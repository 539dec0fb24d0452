"""Okamoto-Uchiyama by the public key alone, against the formula c = g**m h**alpha mod n in gmpy2's integers."""

import gmpy2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vfxgb import _native
from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey
from vfxgb.crypto.ints import from_fixed, to_fixed
from vfxgb.crypto.parameters import PublicParameters

BITS = 512
SMALL = 2**62 - 1  # the last one of the table for numbers of a word


@pytest.fixture(scope="module")
def private(make_key) -> PrivateKey:
    return make_key("ou", BITS)


def native_keys(public: PublicParameters) -> list[_native.crypto.PublicKey]:
    g, h = public.bases
    sizes = public.exponent_bits, public.plaintext_bits
    make = _native.crypto.PublicKey.okamoto_uchiyama
    return [
        make(to_fixed(public.n), to_fixed(g), to_fixed(h), *sizes, path) for path in _native.bigint.available_paths()
    ]


def sums(key: _native.crypto.PublicKey, elements: list[int], values: list[int], width: int) -> list[int]:
    """`values`, as they are, added to `elements`."""
    size = key.integer_bytes
    c = key.from_integers(b"".join(x.to_bytes(size, "little") for x in elements))
    packed = b"".join(v.to_bytes(width, "little", signed=True) for v in values)
    data = bytes(c.add_plain(packed, width).to_integers())
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def plaintexts(bound: int) -> st.SearchStrategy[list[int]]:
    edges = [0, 1, -1, SMALL, -SMALL, SMALL + 1, -SMALL - 1, bound, -bound]
    one = st.one_of(st.sampled_from(edges), st.integers(-bound, bound), st.integers(-SMALL, SMALL), st.integers(-9, 9))
    return st.lists(one, min_size=1, max_size=12)


@given(data=st.data())
def test_adding_a_plaintext_is_a_product_with_a_power_of_g(private: PrivateKey, data: st.DataObject) -> None:
    public = private.public_key.parameters
    n, (g, h) = public.n, public.bases
    values = data.draw(plaintexts(private.max_plaintext))
    elements = [int(gmpy2.powmod(h, 3 + i, n)) for i in range(len(values))]
    expected = [int(x * gmpy2.powmod(g, m, n) % n) for x, m in zip(elements, values, strict=True)]
    width = private.max_plaintext.bit_length() // 64 * 8 + 8
    for key in native_keys(public):
        assert sums(key, elements, values, width) == expected


@pytest.mark.parametrize("count", [1, 3, 700, 5000])
def test_tables_of_any_width_give_the_same(private: PrivateKey, count: int) -> None:
    """What was announced decides how wide the tables are, and nothing else."""
    public = private.public_key.parameters
    n, (g, h) = public.n, public.bases
    values = [(-1) ** i * (SMALL >> (i % 62)) for i in range(count)]
    expected = [int(h * gmpy2.powmod(g, m, n) % n) for m in values]
    for key in native_keys(public):
        assert sums(key, [h] * count, values, 8) == expected
        key.plan(3_000_000, 2)
        assert sums(key, [h] * count, values, 8) == expected


@given(first=st.integers(1, 300), second=st.integers(1, 3000), bits=st.integers(1, 90))
@example(first=1, second=3000, bits=64)
def test_randomness_is_a_power_of_h_within_the_length(first: int, second: int, bits: int) -> None:
    """p = 11, q = 13: every ciphertext is one of g**m h**alpha, while the tables grow from batch to batch."""
    n, g = 11 * 11 * 13, 2
    h = pow(g, n, n)
    public = PublicParameters("ou", n, (g, h), bits, 2)
    powers = {pow(h, alpha, n) for alpha in range(min(2**bits, n))}
    for key in native_keys(public):
        for count in (first, second):
            size = key.integer_bytes
            data = bytes(key.encrypt((2).to_bytes(8, "little") * count, 8).to_integers())
            drawn = {int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)}
            assert {x * pow(g, -2, n) % n for x in drawn} <= powers


def test_ciphertexts_lie_in_the_group_of_h_after_planning(private: PrivateKey) -> None:
    """Both secret orders take the randomness off again, and what is left is g**m modulo q."""
    p, q, order_p, order_q = map(from_fixed, private.native.secrets())
    public = PublicKey.from_bytes(private.public_key.to_bytes(), insecure=True)
    public.prepare(20_000, threads=2)
    values = [5, -7, private.max_plaintext, -private.max_plaintext] * 30
    c = public.encrypt(values, threads=2)
    assert private.decrypt(CiphertextArray.from_bytes(private.public_key, c.to_bytes())) == values
    g, _ = public.parameters.bases
    for x, m in zip(c.tolist(), values, strict=True):
        blinding = x * gmpy2.powmod(g, -m, public.n) % public.n
        assert gmpy2.powmod(blinding, order_p, p * p) == 1
        assert gmpy2.powmod(blinding, order_q, q) == 1
    assert len(set(c.tolist())) == len(values)


@pytest.mark.parametrize("values", [[2**200], [-(2**180)]])
def test_plaintexts_beyond_the_key_are_refused(private: PrivateKey, values: list[int]) -> None:
    (key, *_) = native_keys(private.public_key.parameters)
    with pytest.raises(ValueError, match="plaintext out of range"):
        sums(key, [1], values, 32)
