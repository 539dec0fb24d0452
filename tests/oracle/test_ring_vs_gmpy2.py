"""Batch arithmetic modulo M = modulus**degree against gmpy2: all widths, all kernels, edge values."""

import random
from collections.abc import Callable
from math import gcd

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native

PATHS = _native.bigint.available_paths()
WIDTHS = [3, 8, 64, 65, 512, 1000, 1024, 1536, 2048, 3072, 4096]
CASES = [(1, bits) for bits in [*WIDTHS, 8192]] + [(2, bits) for bits in WIDTHS]
KINDS = ["random", "all ones", "sparse"]
BATCHES = [0, 1, 3, 4, 5, 8, 9]
WINDOWS = [1, 4, 6, 8]


def fixed(value: int) -> bytes:
    return value.to_bytes(max(1, -(-value.bit_length() // 64)) * 8, "little")


def pack(values: list[int], width: int) -> bytes:
    return b"".join(value.to_bytes(width, "little") for value in values)


def unpack(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]


def make_modulus(kind: str, bits: int, source: random.Random) -> int:
    if kind == "all ones":
        return 2**bits - 1
    if kind == "sparse":
        return 2 ** (bits - 1) + 1
    return source.getrandbits(bits) | 1 | 1 << (bits - 1)


class Case:
    """One modulus, its operands, and the same question to every kernel."""

    def __init__(self, degree: int, bits: int, kind: str) -> None:
        self.source = random.Random(f"{degree} {bits} {kind}")
        self.modulus = make_modulus(kind, bits, self.source)
        self.M = self.modulus**degree
        self.rings = [_native.bigint.Ring(fixed(self.modulus), degree, path) for path in PATHS]
        self.width = self.rings[0].width
        edges = {0, 1, self.M - 1, self.modulus - 1, self.modulus, self.modulus + 1}
        self.edges = sorted(edge % self.M for edge in edges)

    def values(self, count: int) -> list[int]:
        return [self.source.randrange(self.M) for _ in range(count)]

    def ask(self, question: Callable[[_native.bigint.Ring], bytes]) -> list[int]:
        answers = [question(ring) for ring in self.rings]
        assert all(answer == answers[0] for answer in answers), "kernels disagree"
        return unpack(answers[0], self.width)

    def pack(self, values: list[int]) -> bytes:
        return pack(values, self.width)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CASES, ids=[f"degree{degree}-{bits}" for degree, bits in CASES])
def case(request: pytest.FixtureRequest, kind: str) -> Case:
    degree, bits = request.param
    return Case(degree, bits, kind)


def test_widths_and_paths(case: Case) -> None:
    assert [ring.path for ring in case.rings] == PATHS
    for ring in case.rings:
        assert ring.width == case.width
        assert 8 * ring.width >= case.M.bit_length()
        assert ring.element_bytes * 8 >= case.M.bit_length()


def test_mul_and_square(case: Case) -> None:
    pairs = [(a, b) for a in case.edges for b in case.edges]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    assert case.ask(lambda ring: ring.mul(case.pack(a), case.pack(b))) == [x * y % case.M for x, y in pairs]
    for count in BATCHES:
        a, b = case.values(count), case.values(count)
        for threads in (1, 2):
            found = case.ask(lambda ring, a=a, b=b, t=threads: ring.mul(case.pack(a), case.pack(b), t))
            assert found == [x * y % case.M for x, y in zip(a, b, strict=True)]
        assert case.ask(lambda ring, a=a: ring.square(case.pack(a))) == [x * x % case.M for x in a]
    assert case.ask(lambda ring: ring.square(case.pack(case.edges))) == [x * x % case.M for x in case.edges]


def test_product(case: Case) -> None:
    for count in [*BATCHES, 17, 40]:
        values = case.values(count)
        expected = 1
        for value in values:
            expected = expected * value % case.M
        for threads in (1, 2, 3):
            assert case.ask(lambda ring, v=values, t=threads: ring.product(case.pack(v), t)) == [expected % case.M]
    assert case.ask(lambda ring: ring.product(case.pack([case.M - 1] * 5))) == [(case.M - 1) ** 5 % case.M]


def test_power(case: Case) -> None:
    long = case.source.getrandbits(200) | 1 << 199
    for exponent in (0, 1, 2, 3, 2**64, long):
        values = case.edges + case.values(3)
        expected = [int(gmpy2.powmod(value, exponent, case.M)) for value in values]
        assert case.ask(lambda ring, v=values, e=exponent: ring.power(case.pack(v), fixed(e))) == expected
    for count in BATCHES:
        values = case.values(count)
        expected = [int(gmpy2.powmod(value, long, case.M)) for value in values]
        assert case.ask(lambda ring, v=values: ring.power(case.pack(v), fixed(long), 2)) == expected


def units(case: Case, count: int) -> list[int]:
    found = []
    while len(found) < count:
        value = case.source.randrange(case.M)
        if gcd(value, case.modulus) == 1:
            found.append(value)
    return found


@pytest.mark.parametrize(("count", "windows", "window"), [(1, 1, 1), (1, 5, 3), (3, 3, 5), (3, 7, 4), (2, 20, 7)])
def test_digit_products(case: Case, count: int, windows: int, window: int) -> None:
    """Against one power after the other: window i belongs to base i mod count."""
    bases = units(case, count)
    width = -(-windows * window // 64) * 8
    for rows in BATCHES:
        ends = [0, (1 << windows * window) - 1]
        digits = [*ends, *(case.source.getrandbits(windows * window) for _ in range(rows))][:rows]
        expected = []
        for row in digits:
            product = 1
            for i in range(windows):
                digit = row >> (i * window) & ((1 << window) - 1)
                product = product * gmpy2.powmod(bases[i % count], digit << (window * (i // count)), case.M) % case.M
            expected.append(int(product % case.M))
        packed, data = case.pack(bases), pack(digits, width)
        found = case.ask(lambda ring, b=packed, d=data: ring.digit_products(b, d, width, windows, window, 2))
        assert found == expected


def test_power_each(case: Case) -> None:
    for count in BATCHES:
        values = case.values(count)
        exponents = [0, 1, 2, 2**128 - 1, *(case.source.getrandbits(100) for _ in range(8))][:count]
        expected = [int(gmpy2.powmod(v, e, case.M)) for v, e in zip(values, exponents, strict=True)]
        data = pack(exponents, 16)
        assert case.ask(lambda ring, v=values, d=data: ring.power_each(case.pack(v), d, 16)) == expected


def test_fixed_power(case: Case) -> None:
    exponents = [0, 1, 2, 2**320 - 1, *(case.source.getrandbits(320) for _ in range(5))]
    for base in (1, case.M - 1, *case.values(1)):
        expected = [int(gmpy2.powmod(base, exponent, case.M)) for exponent in exponents]
        for window in WINDOWS:
            found = case.ask(
                lambda ring, b=base, w=window: ring.fixed_power(case.pack([b]), pack(exponents, 40), 40, w, 2)
            )
            assert found == expected
    # The window of the core's own choice makes tables of up to 32 MiB: slow to build for long moduli.
    window = 0 if case.M.bit_length() <= 1024 else 4
    for count in BATCHES:
        base, few = case.values(1)[0], exponents[:count]
        expected = [int(gmpy2.powmod(base, exponent, case.M)) for exponent in few]
        found = case.ask(lambda ring, b=base, e=few: ring.fixed_power(case.pack([b]), pack(e, 40), 40, window))
        assert found == expected


def test_inverse(case: Case) -> None:
    units = [value for value in [*case.edges, *case.values(30)] if gcd(value, case.modulus) == 1][:9]
    expected = [pow(value, -1, case.M) for value in units]
    for count in BATCHES:
        assert case.ask(lambda ring, c=count: ring.inverse(case.pack(units[:c]), 2)) == expected[:count]


def test_inverse_of_non_units_is_refused(case: Case) -> None:
    for ring in case.rings:
        for bad in {0, case.modulus % case.M}:
            with pytest.raises(ValueError, match=r".+"):
                ring.inverse(case.pack([1, bad, 1]))


@given(st.data())
def test_mul_of_any_modulus(data: st.DataObject) -> None:
    modulus = data.draw(st.integers(1, 2**600)) * 2 + 1
    degree = data.draw(st.sampled_from([1, 2]))
    M = modulus**degree
    values = data.draw(st.lists(st.tuples(st.integers(0, M - 1), st.integers(0, M - 1)), max_size=9))
    for path in PATHS:
        ring = _native.bigint.Ring(fixed(modulus), degree, path)
        found = ring.mul(pack([a for a, _ in values], ring.width), pack([b for _, b in values], ring.width))
        assert unpack(found, ring.width) == [a * b % M for a, b in values]


@pytest.mark.parametrize("modulus", [0, 1, 2, 4, 2**64, 2**2048])
def test_even_or_tiny_modulus_is_refused(modulus: int) -> None:
    with pytest.raises(ValueError, match=r".+"):
        _native.bigint.Ring(fixed(modulus))


def test_unknown_path_and_degree_are_refused() -> None:
    with pytest.raises(ValueError, match=r".+"):
        _native.bigint.Ring(fixed(15), 1, "nonsense")
    with pytest.raises(ValueError, match=r".+"):
        _native.bigint.Ring(fixed(15), 3)
