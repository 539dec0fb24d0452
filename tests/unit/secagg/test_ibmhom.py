"""Threshold Paillier, its noise, and what the aggregator refuses. What all aggregators must do is in tests/secagg."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb.crypto import CiphertextArray
from vfxgb.errors import AggregationError, DpError, KeySizeError, MessageError, ParameterError
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import MASK, UNMASK
from vfxgb.secagg.ibmhom import noise, threshold
from vfxgb.secagg.ibmhom.messages import EncryptTask, PartialDecryptions, SumToOpen
from vfxgb.secagg.simulation import Absence, Parties, nobody, simulate
from vfxgb.transport.messages import pack_bytes

SPEC = aggregator_by_name("ibmhom")
USERS = tuple(range(10, 16))
TOY = {"key_bits": 128, "insecure": True}
# Safe primes.
P, Q = 1000919, 1001387


def vector(user: int, task: memoryview) -> NDArray[np.int64]:
    del task
    return np.array([user, -user, 2**61 // 6, -(2**61) // 6, 0], dtype=np.int64)


def parties(absent: Absence = nobody, **params: Any) -> Parties:
    return simulate(SPEC, make_aggregator_params(SPEC, {**TOY, **params}), USERS, vector, absent)


def expected(users: tuple[int, ...]) -> NDArray[np.int64]:
    return np.sum([vector(user, memoryview(b"")) for user in users], axis=0)


# Threshold decryption


@pytest.fixture(scope="module")
def dealt() -> tuple[threshold.ThresholdKey, list[threshold.KeyShare]]:
    return threshold.deal_from_primes(P, Q, 6, 4, insecure=True)


@pytest.mark.parametrize("reduced", [True, False])
def test_every_set_of_t_opens(dealt: tuple[threshold.ThresholdKey, list[threshold.KeyShare]], reduced: bool) -> None:
    key, shares = dealt
    values = [0, 1, -1, 12345, -(10**11), key.key.max_plaintext]
    ciphertexts = key.key.encrypt(values)
    parts = {share.point: share.open_partly(key, ciphertexts, 1) for share in shares}
    for chosen in itertools.combinations(parts, 4):
        assert threshold.combine(key, {point: parts[point] for point in chosen}, reduced) == values


def test_partial_decryption_is_the_formula(
    dealt: tuple[threshold.ThresholdKey, list[threshold.KeyShare]],
) -> None:
    key, shares = dealt
    n = P * Q
    (c,) = (ciphertexts := key.key.encrypt([77])).tolist()
    parts = {share.point: share.open_partly(key, ciphertexts, 1).tolist()[0] for share in shares[:4]}
    assert parts == {share.point: pow(c, 2 * math.factorial(6) * share.share, n * n) for share in shares[:4]}
    # The combination as printed, one factor after the other.
    product = 1
    for point in parts:
        others = [j for j in parts if j != point]
        exact = math.factorial(6) * math.prod(others) / math.prod(j - point for j in others)
        assert exact == int(exact)
        product = product * pow(parts[point], 2 * int(exact), n * n) % (n * n)
    assert (product - 1) % n == 0
    assert (product - 1) // n * pow(4 * math.factorial(6) ** 2, -1, n) % n == 77


def test_fewer_than_t_learn_nothing_by_combining(
    dealt: tuple[threshold.ThresholdKey, list[threshold.KeyShare]],
) -> None:
    key, shares = dealt
    ciphertexts = key.key.encrypt([5])
    parts = {share.point: share.open_partly(key, ciphertexts, 1) for share in shares[:3]}
    with pytest.raises(AggregationError, match="found 3, wanted 4"):
        threshold.combine(key, parts)
    # With a lower threshold than the key's the formula gives no plaintext.
    with pytest.raises(AggregationError, match="do not fit together"):
        threshold.combine(replace(key, threshold=3), parts)


def test_shares_of_another_key_do_not_fit(dealt: tuple[threshold.ThresholdKey, list[threshold.KeyShare]]) -> None:
    key, shares = dealt
    _, others = threshold.deal_from_primes(P, Q, 6, 4, insecure=True)
    ciphertexts = key.key.encrypt([5])
    parts = {share.point: share.open_partly(key, ciphertexts, 1) for share in [*shares[:3], others[3]]}
    with pytest.raises(AggregationError, match="do not fit together"):
        threshold.combine(key, parts)


@pytest.mark.parametrize("points", [range(1, 7), (2, 3, 7, 11), (5,)])
def test_coefficients_interpolate_at_zero(points: tuple[int, ...]) -> None:
    delta = math.factorial(12)
    for reduced in (False, True):
        factors, rest = threshold.coefficients(list(points), delta, reduced)
        for degree in range(len(points)):
            at_zero = sum(f * point**degree for f, point in zip(factors, points, strict=True))
            assert at_zero == (rest if degree == 0 else 0)
    assert math.gcd(*factors) == 1
    assert delta % rest == 0


def test_reduced_coefficients_are_short() -> None:
    factors, _ = threshold.coefficients(range(1, 301), math.factorial(500), reduced=True)
    assert max(factors).bit_length() < 300
    printed, _ = threshold.coefficients(range(1, 301), math.factorial(500), reduced=False)
    assert max(printed).bit_length() > 4000


def test_small_keys_are_refused() -> None:
    with pytest.raises(KeySizeError, match="at least 2048"):
        threshold.deal(512, 6, 4, insecure=False)


def test_more_users_than_exponents_can_hold_are_refused() -> None:
    with pytest.raises(ParameterError, match="2500 users"):
        threshold.deal_from_primes(P, Q, 2500, 1500, insecure=True)
    key, (share, *_) = threshold.deal_from_primes(P, Q, 1900, 1, insecure=True)
    assert share.open_partly(key, key.key.encrypt([1]), 1).tolist()[0] > 0


def test_shares_are_not_printed(dealt: tuple[threshold.ThresholdKey, list[threshold.KeyShare]]) -> None:
    share = dealt[1][0]
    assert str(share.share) not in repr(share)
    assert threshold.KeyShare.from_bytes(share.to_bytes()) == share


# The aggregator


def test_the_threshold_is_the_papers() -> None:
    assert make_aggregator_params(SPEC, {}).threshold == 0.6
    key = threshold.read_key(parties().dealt.public, True)
    assert (key.users, key.threshold) == (6, 4)


@pytest.mark.parametrize("params", [{"slots": 1}, {"slots": None, "key_bits": 256}, {"coefficients": "printed"}])
def test_the_sum(params: dict[str, Any]) -> None:
    found = parties(**params).server.aggregate(b"", 5, USERS)
    assert found.users == USERS
    np.testing.assert_array_equal(found.sums, expected(USERS))


def test_others_help_to_open_when_some_are_gone() -> None:
    gone = {(MASK, 10), (UNMASK, 11)}
    sides = parties(lambda stage, user: (stage, user) in gone)
    found = sides.server.aggregate(b"", 5, USERS)
    assert found.users == USERS[1:]
    np.testing.assert_array_equal(found.sums, expected(USERS[1:]))
    # A call of three: a fourth user of the run helps to open it.
    found = sides.server.aggregate(b"", 5, USERS[:4])
    np.testing.assert_array_equal(found.sums, expected(USERS[1:4]))


def test_below_the_threshold_nothing_is_opened() -> None:
    for stage, gone in ((MASK, USERS[:3]), (UNMASK, USERS[:3])):
        sides = parties(lambda at, user, stage=stage, gone=gone: at == stage and user in gone)
        with pytest.raises(AggregationError, match="3 of 6 users are left"):
            sides.server.aggregate(b"", 5, USERS)
        assert "combine" not in sides.timings.seconds


@pytest.mark.parametrize(("users", "found"), [((10, 99), "user 99, who has no share"), ((10, 10, 11), "a user twice")])
def test_users_that_cannot_be_asked_are_named(users: tuple[int, ...], found: str) -> None:
    with pytest.raises(AggregationError, match=found):
        parties().server.aggregate(b"", 5, users)


def test_a_user_refuses_repeated_calls() -> None:
    sides = parties()
    sides.server.aggregate(b"", 5, USERS)
    user = sides.users[10]
    with pytest.raises(MessageError, match="user 10, making its vector: found call 1, wanted one after 1"):
        user.handle(EncryptTask(1, 5, pack_bytes(b"")))
    with pytest.raises(MessageError, match="user 10, opening a sum: found call 1"):
        user.handle(SumToOpen(1, pack_bytes(b"")))
    with pytest.raises(MessageError, match="user 10, opening a sum: reading ciphertexts"):
        user.handle(SumToOpen(2, pack_bytes(b"no ciphertexts")))
    with pytest.raises(MessageError, match="found message 'ibmhom-parts'"):
        user.handle(PartialDecryptions(1, pack_bytes(b"")))
    with pytest.raises(MessageError, match="asks for 4 entries, the task gives 5"):
        user.handle(EncryptTask(2, 4, pack_bytes(b"")))


@pytest.mark.parametrize("how", ["call", "length", "bytes"])
def test_the_server_refuses_what_does_not_fit(how: str) -> None:
    sides = parties()
    honest = sides.users[12].handle

    def wrong(message: Any) -> Any:
        reply = honest(message)
        if not isinstance(reply, PartialDecryptions):
            return reply
        if how == "call":
            return PartialDecryptions(reply.call + 1, reply.parts)
        if how == "bytes":
            return PartialDecryptions(reply.call, reply.parts[:-1])
        key = threshold.read_key(sides.dealt.public, True).key
        return PartialDecryptions(
            reply.call, pack_bytes(CiphertextArray.from_bytes(key, reply.parts).take([0]).to_bytes())
        )

    sides.exchange.handlers = {**sides.exchange.handlers, 12: wrong}
    with pytest.raises(MessageError, match="reading the partial decryptions of user 12"):
        sides.server.aggregate(b"", 5, USERS)


def test_aggregation_is_not_forced() -> None:
    """What README warns of: users open a single user's vector as readily as a sum."""
    sides = parties(key_bits=192)
    key = threshold.read_key(sides.dealt.public, True)
    victim = sides.users[10].handle(EncryptTask(1, 5, pack_bytes(b"")))
    request = SumToOpen(1, victim.ciphertexts)  # type: ignore[attr-defined]
    parts = {
        point: CiphertextArray.from_bytes(key.key, sides.users[user].handle(request).parts)  # type: ignore[attr-defined]
        for point, user in enumerate(USERS[:4], start=1)
    }
    assert len(threshold.combine(key, parts)) == 3
    assert threshold.combine(key, parts)[0] % 2**64 == 10


def test_slots_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="slots=2"):
        parties(slots=2)


# Noise


def test_noise_has_at_least_the_variance_asked_for() -> None:
    sigma, k, n = 50, 4, 6
    part = noise.user_sigma(sigma, k)
    assert part == 25
    assert noise.user_sigma(0, k) == 0
    assert noise.user_sigma(51, 4) == 26
    draws = sum(noise.add_noise(np.zeros(20_000, dtype=np.int64), part) for _ in range(n))
    variance = n * part**2
    # The variance of 20,000 draws lies within 6 of its standard errors, sqrt(2 / draws).
    assert abs(np.var(draws) / variance - 1) < 6 * math.sqrt(2 / 20_000)
    assert abs(np.mean(draws)) < 6 * math.sqrt(variance / 20_000)


@pytest.mark.parametrize("sigma_u", [4, 5])
def test_sums_of_noise_are_one_discrete_gaussian_up_to_tau(sigma_u: int) -> None:
    """Exact convolution against one draw of the summed variance: the bound of noise.py holds, and not by far.

    At sigma_u = 4 two users are off by 1e-68: nothing like 1e-100 can be claimed.
    """
    with localcontext() as context:
        context.prec = 120
        most = 45 * sigma_u

        def convolved(w: int) -> Decimal:
            return sum(
                ((-Decimal(x * x + (w - x) ** 2) / (2 * sigma_u**2)).exp() for x in range(-most, most + 1)), Decimal(0)
            )

        def single(w: int) -> Decimal:
            return (-Decimal(w * w) / (4 * sigma_u**2)).exp()

        ratios = [convolved(w) / single(w) for w in range(4)]
        off = max(ratios) / min(ratios) - 1
    assert Decimal(noise.tau(sigma_u, 2)) / 100 < off < 2 * Decimal(noise.tau(sigma_u, 2))
    if sigma_u == 4:
        assert off > Decimal("1e-69")
    assert noise.tau(4, 10_000) < 1e-67


def test_noise_is_not_clipped_where_inputs_could_be_told_apart() -> None:
    """An end of the noise at 9 sigma would tell apart inputs that far out; at 2**60 nothing is ever drawn."""
    for sigma in (1, 1 << 20, 1 << 40):
        sigma_u = noise.user_sigma(sigma, 2)
        _, used, end = noise.sampler(sigma_u)
        assert used == sigma_u
        assert (end / sigma_u) ** 2 / 2 > 2**38
    # The largest noise that the parameters allow is drawn with its own deviation.
    draws = noise.add_noise(np.zeros(4_000, dtype=np.int64), 1 << 40)
    assert abs(np.std(draws / 2.0**40) - 1) < 6 * math.sqrt(0.5 / 4_000)


def test_epsilon_of_the_noise() -> None:
    alone = noise.epsilon(1000, 4, width=100, delta=1e-6)
    assert 0.3 < alone < 0.6
    assert noise.epsilon(1000, 4, width=100, delta=1e-6, entries=4) > alone
    assert noise.epsilon(1000, 4, width=100, delta=1e-6, colluding=2) > alone
    assert noise.epsilon(0, 4, width=100, delta=1e-6) == math.inf
    assert noise.epsilon(1000, 4, width=100, delta=1e-6, colluding=4) == math.inf
    with pytest.raises(DpError, match="5 colluding users of 4"):
        noise.epsilon(1000, 4, width=100, delta=1e-6, colluding=5)


def test_noisy_sums_are_near_the_sums() -> None:
    found = parties(noise_sigma=1000).server.aggregate(b"", 5, USERS)
    off = found.sums - expected(USERS)
    assert np.any(off != 0)
    assert np.all(np.abs(off) < 9 * 6 * noise.user_sigma(1000, 2))
