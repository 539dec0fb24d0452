"""Masks that hide a ciphertext from the owner of its key: what an owner can do with keys it made for the purpose.

The trapdoor: p - 1 has small prime factors l_i, and row i is encrypted with randomness of order l_i. A sum then shows
by its part of order l_i whether row i is in it. Powers of an h of small order u do not hide that: the u-th power of
the sum is rid of them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import gcd, prod

import gmpy2
import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey, primes, wire
from vfxgb.crypto.parameters import PublicParameters
from vfxgb.errors import InvalidKeyError, PoolError

ROWS = 8
SMALL_ORDER = int(gmpy2.next_prime(1 << 64))  # u
Mask = Callable[[CiphertextArray], CiphertextArray]


def mark_orders() -> list[int]:
    """l_i: so large that a random element has no part of order l_i with a chance of 2**-30 only."""
    found = [int(gmpy2.next_prime(1 << 30))]
    while len(found) < ROWS:
        found.append(int(gmpy2.next_prime(found[-1])))
    return found


def prime_with(bits: int, factors: list[int]) -> int:
    """A prime p of `bits` bits, top two set, with all `factors` in p - 1."""
    step = 2 * prod(factors)
    low, high = (3 << (bits - 2)) // step + 1, (1 << bits) // step
    while True:
        p = step * (low + primes.random_below(high - low)) + 1
        if primes.is_prime(p):
            return p


@dataclass
class Trap:
    """A key as its owner made it, and rows encrypted with telling randomness."""

    key: PublicKey
    p: int
    orders: list[int]
    rows: list[int]

    def returned(self, inside: list[int], mask: Mask) -> CiphertextArray:
        """What a party sends back for the sum of the rows `inside`."""
        return mask(CiphertextArray.from_ints(self.key, [self.rows[i] for i in inside]).sum())

    def read(self, answer: CiphertextArray) -> list[int]:
        """Rows that the owner finds in an answer: modulo p neither plaintext nor powers of h are left."""
        y = primes.power(answer.tolist()[0] % self.p, SMALL_ORDER, self.p)
        return [i for i, order in enumerate(self.orders) if primes.power(y, (self.p - 1) // order, self.p) != 1]


def paillier_trap() -> Trap:
    orders = mark_orders()
    p = prime_with(384, [SMALL_ORDER, *orders])
    q = prime_with(384, [SMALL_ORDER])
    n = p * q
    h = primes.crt(primes.element_of_order(SMALL_ORDER, p), p, primes.element_of_order(SMALL_ORDER, q), q)
    rows = []
    for i, order in enumerate(orders):
        r = primes.crt(primes.element_of_order(order, p), p, 1, q)
        rows.append((1 + (100 + i) * n) * primes.power(r, n, n * n) % (n * n))
    data = wire.dump_public(PublicParameters("paillier", n, (h,), n.bit_length() // 2, n.bit_length() - 1))
    return Trap(PublicKey.from_bytes(data, insecure=True), p, orders, rows)


def ou_trap() -> Trap:
    """g is 1 + p times an element of order u, modulo p**2, and one of order u modulo q: h = g**n has order u."""
    orders = mark_orders()
    p, q = prime_with(384, [SMALL_ORDER, *orders]), prime_with(384, [SMALL_ORDER])
    square = p * p
    n = square * q

    def lifted(x: int) -> int:
        return primes.power(x, p, square)  # the root of unity modulo p**2 that is x**p modulo p

    g_p = (1 + p) * lifted(primes.element_of_order(SMALL_ORDER, p)) % square
    g = primes.crt(g_p, square, primes.element_of_order(SMALL_ORDER, q), q)
    rows = []
    for i, order in enumerate(orders):
        r = primes.crt(lifted(primes.element_of_order(order, p)), square, 1, q)
        rows.append(primes.power(g, 100 + i, n) * r % n)
    public = PublicParameters("ou", n, (g, primes.power(g, n, n)), 2 * p.bit_length() + 128, p.bit_length() - 2)
    return Trap(PublicKey.from_bytes(wire.dump_public(public), insecure=True), p, orders, rows)


@pytest.fixture(scope="module", params=["paillier", "ou"])
def trap(request: pytest.FixtureRequest) -> Trap:
    return {"paillier": paillier_trap, "ou": ou_trap}[request.param]()


SUBSETS = [[0], [1, 2, 5], [0, 3, 4, 6, 7], list(range(ROWS))]


def test_a_trapdoored_h_reads_nothing_off_a_rerandomised_sum(trap: Trap) -> None:
    def with_h(total: CiphertextArray) -> CiphertextArray:
        return total + trap.key.encrypt([0])

    # The attack works: on sums masked by powers of the key's h every row is read right.
    assert [trap.read(trap.returned(inside, with_h)) for inside in SUBSETS] == SUBSETS
    # Whatever is in a sum, the owner reads the same off a rerandomised one: one by one, and from the table.
    everything = list(range(ROWS))
    for expected in (False, True):
        assert trap.key.native.rerandomizer.has_table is expected
        answers = [trap.returned(inside, CiphertextArray.rerandomize) for inside in SUBSETS]
        assert [trap.read(answer) for answer in answers] == [everything] * len(SUBSETS)
        trap.key.rerandomizer.make_table()


def test_marks_of_order_two_under_a_modulus_of_many_primes_are_hidden() -> None:
    """With 24 prime factors the marks are 24 independent signs: fewer bases than that could not hide them."""
    factors: list[int] = []
    while len(factors) < 24:
        found = primes.random_prime(32)
        if found % 4 == 3 and found not in factors:  # then -1 is no square
            factors.append(found)
    n = prod(factors)
    key = PublicKey.from_modulus(n, insecure=True)
    key.rerandomizer.make_table()
    one = CiphertextArray.from_ints(key, [1] * 400)
    signs = [[gmpy2.legendre(c % p, p) for p in factors] for c in one.rerandomize().tolist()]
    # 400 signs of a fair coin: 6.5 standard deviations.
    assert all(abs(sum(column)) < 130 for column in zip(*signs, strict=True))
    vectors = [sum(1 << i for i, sign in enumerate(row) if sign < 0) for row in signs]
    basis: list[int] = []
    for vector in vectors:
        for other in basis:
            vector = min(vector, vector ^ other)
        if vector:
            basis.append(vector)
    assert len(basis) == 24


@pytest.mark.parametrize("table", [False, True], ids=["one by one", "table"])
@pytest.mark.parametrize("scheme", ["paillier", "ou"])
def test_masks_of_a_toy_are_uniform_in_the_group_of_nth_powers(scheme: str, table: bool) -> None:
    key = PrivateKey.from_primes(scheme, 11, 13, insecure=True)
    n, modulus = key.public_key.n, key.public_key.ciphertext_modulus
    group = sorted({pow(x, n, modulus) for x in range(1, n) if gcd(x, n) == 1})
    assert len(group) == 120
    rerandomizer = key.public_key.native.rerandomizer
    if table:
        key.public_key.rerandomizer.make_table()
    one = CiphertextArray.from_ints(key.public_key, [1] * (rerandomizer.bases - 1))
    masks: list[int] = []
    while len(masks) < 12_000:
        # A public key of its own for each batch, where a table would come after so many.
        if not table:
            key = PrivateKey.from_bytes(key.to_bytes(), insecure=True)
            one = CiphertextArray.from_ints(key.public_key, [1] * (rerandomizer.bases - 1))
        masks += one.rerandomize().tolist()
        assert key.public_key.native.rerandomizer.has_table is table
    ratios = [x * pow(y, -1, modulus) % modulus for x, y in zip(masks[::2], masks[1::2], strict=False)]
    for sample in (masks, ratios):
        counts = Counter(sample)
        assert set(counts) <= set(group)
        mean = len(sample) / len(group)
        statistic = sum((counts[x] - mean) ** 2 / mean for x in group)
        assert statistic < 119 + 7 * (2 * 119) ** 0.5  # chi-square of 119 degrees of freedom


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
def test_a_rerandomised_array_decrypts_as_before(scheme: str, make_key) -> None:
    key = make_key(scheme)
    public = PublicKey.from_bytes(key.public_key.to_bytes(), insecure=True)
    values = [0, 1, -1, key.max_plaintext, -key.max_plaintext, *range(-150, 150)]
    sent = CiphertextArray.from_bytes(public, key.encrypt(values).to_bytes())
    few = sent.take(range(5)).rerandomize(threads=2)
    assert not public.native.rerandomizer.has_table
    many = sent.rerandomize(threads=2)
    assert public.native.rerandomizer.has_table
    for array in (few, many, many.rerandomize(threads=1)):
        assert key.decrypt(CiphertextArray.from_bytes(key.public_key, array.to_bytes())) == values[: len(array)]
    numbers = [*sent.tolist(), *few.tolist(), *many.tolist()]
    assert len(set(numbers)) == len(numbers)


def test_nothing_of_h_is_used(make_key) -> None:
    """Masks have the bits that the group of n-th powers asks for, whatever exponents the key speaks of."""
    for scheme in ("paillier", "ou"):
        sizes = set()
        for randomness in ("djn", "short"):
            key = make_key(scheme, randomness=randomness)
            rerandomizer, public = key.public_key.native.rerandomizer, key.public_key
            room = public.ciphertext_modulus.bit_length() - public.parameters.plaintext_bits
            assert rerandomizer.entropy_bits >= room - 1 + 128
            assert rerandomizer.bases >= public.bits / 20 + 80
            sizes.add((rerandomizer.entropy_bits, rerandomizer.bases))
        assert len(sizes) == 1


def test_a_modulus_with_a_small_factor_is_refused() -> None:
    small = 1_048_573  # the largest prime below 2**20
    n = small * primes.random_prime(2048 - 19)
    assert primes.has_small_factor(n)
    assert not primes.has_small_factor(primes.random_prime(200) * primes.random_prime(200))
    with pytest.raises(InvalidKeyError, match="prime factor below 1048576"):
        PublicKey.from_modulus(n)


def test_counts_are_checked(make_key) -> None:
    for count in (0, -1, True, 2.0, None):
        with pytest.raises(PoolError, match="count"):
            make_key("paillier").public_key.rerandomizer.prepare(count)


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
def test_a_plan_decides_whether_there_is_a_table_and_how_wide_it_is(scheme: str, make_key) -> None:
    key = make_key(scheme)
    windows = []
    for count in (10, 300, 30_000):
        public = PublicKey.from_bytes(key.public_key.to_bytes(), insecure=True)
        public.rerandomizer.prepare(count)
        windows.append(public.native.rerandomizer.window)
        assert public.native.rerandomizer.has_table is (count > 10)
        sent = CiphertextArray.from_bytes(public, key.encrypt([7, -7]).to_bytes())
        masked = sent.rerandomize().to_bytes()
        assert masked != sent.to_bytes()
        assert key.decrypt(CiphertextArray.from_bytes(key.public_key, masked)) == [7, -7]
    assert windows[0] == 0 < windows[1] < windows[2]
