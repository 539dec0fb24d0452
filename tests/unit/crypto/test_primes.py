import gmpy2
import pytest

from vfxgb.crypto import primes


@pytest.mark.parametrize("limit", [1, 2, 3, 255, 256, 257, 2**200 + 1])
def test_random_below_stays_below(limit: int) -> None:
    assert all(0 <= primes.random_below(limit) < limit for _ in range(200))


def test_random_below_reaches_every_value() -> None:
    assert {primes.random_below(5) for _ in range(500)} == set(range(5))


@pytest.mark.parametrize("bits", [3, 8, 16, 64, 320, 512])
def test_random_prime(bits: int) -> None:
    p = primes.random_prime(bits)
    assert p.bit_length() == bits
    assert gmpy2.is_prime(p)


@pytest.mark.parametrize("bits", [20, 32, 171, 512, 683, 1024])
def test_structured_prime(bits: int) -> None:
    p, u = primes.structured_prime(bits)
    assert p.bit_length() == bits
    assert p >> (bits - 2) == 3
    assert p % 4 == 3
    assert gmpy2.is_prime(p)
    assert gmpy2.is_prime(u)
    assert (p - 1) % u == 0
    assert u.bit_length() == primes.order_bits(bits)


def test_order_bits_of_real_keys() -> None:
    assert [primes.order_bits(bits) for bits in (683, 1024, 1536)] == [320, 320, 320]


def test_element_of_order() -> None:
    p, u = primes.structured_prime(64)
    x = primes.element_of_order(u, p)
    assert x != 1
    assert pow(x, u, p) == 1


def test_crt() -> None:
    for x in range(7 * 11):
        assert primes.crt(x % 7, 7, x % 11, 11) == x
