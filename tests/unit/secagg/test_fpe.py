"""Functional encryption of sums: the formulas, and what the aggregator refuses."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb.crypto.bresson import BressonGroup
from vfxgb.errors import AggregationError, KeySizeError, MessageError
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import MASK
from vfxgb.secagg.fpe import scheme as fpe
from vfxgb.secagg.fpe.messages import FunctionalTask, FunctionalVector
from vfxgb.secagg.simulation import Absence, Parties, nobody, simulate
from vfxgb.transport.messages import pack_bytes

SPEC = aggregator_by_name("fpe")
USERS = (3, 4, 7)
TOY = {"key_bits": 130, "insecure": True, "prepared": 600}


def vector(user: int, task: memoryview) -> NDArray[np.int64]:
    return np.array([user, -user, 2**61 // 6, -(2**61) // 6, len(task)], dtype=np.int64)


def parties(absent: Absence = nobody, **params: Any) -> Parties:
    return simulate(SPEC, make_aggregator_params(SPEC, {**TOY, **params}), USERS, vector, absent)


def expected(task: bytes = b"") -> NDArray[np.int64]:
    return np.sum([vector(user, memoryview(task)) for user in USERS], axis=0)


@pytest.fixture(scope="module")
def scheme() -> fpe.Scheme:
    return fpe.Scheme(BressonGroup.generate(130, insecure=True))


def test_encryption_is_the_formula(scheme: fpe.Scheme) -> None:
    n = scheme.group.n
    keys = scheme.keys(bytes(range(32)), 7)
    plaintexts, pads = [0, 1, -1, 5, 6, n // 2, 7], [n - 1, *range(6)]
    blinder, ciphertexts = scheme.encrypt(plaintexts, keys, pads, 1)
    c0 = scheme.group.integer(blinder)
    s = scheme.group.numbers(keys)
    assert [scheme.group.integer(row.tobytes()) for row in ciphertexts] == [
        (1 + (z + w) % n * n) * pow(c0, key, n * n) % (n * n) for z, w, key in zip(plaintexts, pads, s, strict=True)
    ]
    assert blinder != scheme.encrypt(plaintexts, keys, pads, 1)[0]
    assert len(set(s)) == 7
    assert max(s) < n


def test_pads_do_not_depend_on_how_they_are_asked_for(scheme: fpe.Scheme) -> None:
    seeds = [bytes([i] * 32) for i in range(3)]
    whole = scheme.pads(seeds, 0, 600, 2)
    assert len(whole) == len(set(whole)) == 600
    for first, count in ((0, 1), (255, 2), (256, 256), (511, 89)):
        assert scheme.pads(seeds, first, count, 1) == whole[first : first + count]
    alone = [scheme.pads([seed], 200, 100, 1) for seed in seeds]
    assert [sum(pads) % scheme.group.n for pads in zip(*alone, strict=True)] == whole[200:300]


def test_a_users_vector_stays_padded_for_the_server(scheme: fpe.Scheme) -> None:
    """What the server can open alone, with its keys: plaintext plus pad."""
    seed = fpe.Seeds.draw()
    keys, pads = scheme.keys(seed.keys, 2), scheme.pads([seed.pads], 0, 2, 1)
    total = fpe.RunningSum(scheme, 2)
    total.add(*scheme.encrypt([11, 22], keys, pads, 1), keys, 1)
    assert total.open([0, 0], 1) != [11, 22]
    assert total.open(pads, 1) == [11, 22]
    assert str(seed.keys) not in repr(seed)


@pytest.mark.parametrize("params", [{"slots": 1}, {"slots": 3, "key_bits": 256}])
def test_the_sum_of_calls_of_several_sizes(params: dict[str, Any]) -> None:
    server = parties(**params).server
    assert server.set_up() == USERS
    for task in (b"", b"x", b"yy"):
        found = server.aggregate(task, 5, USERS)
        assert found.users == USERS
        np.testing.assert_array_equal(found.sums, expected(task))


def test_nobody_may_be_missing() -> None:
    gone = {4}
    sides = parties(lambda stage, user: stage == MASK and user in gone)
    with pytest.raises(AggregationError, match="2 of 3 users are left after stage 'mask', wanted at least 3"):
        sides.server.aggregate(b"", 5, USERS)
    assert "open" not in sides.timings.seconds
    gone.clear()
    np.testing.assert_array_equal(sides.server.aggregate(b"", 5, USERS).sums, expected())
    with pytest.raises(AggregationError, match="found 2 users, wanted all 3"):
        sides.server.aggregate(b"", 5, USERS[:2])
    assert not SPEC.survives_drops


def test_keys_run_out() -> None:
    server = parties(slots=1, prepared=9).server
    server.aggregate(b"", 5, USERS)
    with pytest.raises(AggregationError, match="5 plaintexts are wanted and 4 of prepared=9 are left"):
        server.aggregate(b"", 5, USERS)


def test_a_user_never_uses_a_pad_twice() -> None:
    sides = parties(slots=1, prepared=12)
    sides.server.aggregate(b"", 5, USERS)
    user = sides.users[3]
    with pytest.raises(MessageError, match="user 3, making its vector: the server asks for pad 4, wanted 5"):
        user.handle(FunctionalTask(2, 4, 5, pack_bytes(b"")))
    with pytest.raises(MessageError, match="pad 12, wanted less than prepared=12"):
        user.handle(FunctionalTask(2, 8, 5, pack_bytes(b"")))
    with pytest.raises(MessageError, match="asks for 4 entries, the task gives 5"):
        user.handle(FunctionalTask(2, 20, 4, pack_bytes(b"")))
    with pytest.raises(MessageError, match="found message 'fpe-vector'"):
        user.handle(FunctionalVector(1, b"", pack_bytes(b"")))


@pytest.mark.parametrize("how", ["call", "length", "range", "blinder", "blinder length"])
def test_the_server_refuses_what_does_not_fit(how: str) -> None:
    sides = parties()
    honest = sides.users[4].handle

    def wrong(message: Any) -> FunctionalVector:
        reply = honest(message)
        assert isinstance(reply, FunctionalVector)
        if how == "call":
            return FunctionalVector(reply.call + 1, reply.blinder, reply.ciphertexts)
        if how == "length":
            return FunctionalVector(reply.call, reply.blinder, reply.ciphertexts[:-1])
        if how == "range":
            return FunctionalVector(reply.call, reply.blinder, pack_bytes(b"\xff" * len(reply.ciphertexts)))
        length = len(reply.blinder) - (how == "blinder length")
        return FunctionalVector(reply.call, b"\xff" * length, reply.ciphertexts)

    sides.exchange.handlers = {**sides.exchange.handlers, 4: wrong}
    with pytest.raises(MessageError, match="reading the vector of user 4"):
        sides.server.aggregate(b"", 5, USERS)


def test_vectors_under_other_keys_open_nothing() -> None:
    sides = parties()
    honest = sides.users[4].handle

    def wrong(message: Any) -> FunctionalVector:
        reply = honest(message)
        assert isinstance(reply, FunctionalVector)
        return FunctionalVector(reply.call, (2).to_bytes(len(reply.blinder), "little"), reply.ciphertexts)

    sides.exchange.handlers = {**sides.exchange.handlers, 4: wrong}
    with pytest.raises(AggregationError, match="do not fit the keys"):
        sides.server.aggregate(b"", 5, USERS)


def test_small_keys_are_refused() -> None:
    with pytest.raises(KeySizeError, match="at least 2048"):
        parties(key_bits=512, insecure=False)
