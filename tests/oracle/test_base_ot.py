"""Base transfers against base_ot_twin: every byte that travels and every key; and the arithmetic of masked keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import base_ot_twin as twin
import mlkem_twin
from property_tests import examples
from vfxgb.ot import kem_transfers
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import modp_group

TOY = modp_group(768, insecure=True)


@pytest.mark.parametrize(("bits", "count", "threads"), [(768, 8, 1), (768, 24, 2), (768, 40, 1), (2048, 8, 2)])
def test_every_byte(bits: int, count: int, threads: int, monkeypatch) -> None:
    group, seed = modp_group(bits, insecure=True), f"{bits} {count}".encode()
    twin.inject(monkeypatch, seed)
    receiver = BaseReceiver(group, threads, count)
    sender = BaseSender(receiver.greeting, group, threads, "base transfers", count)
    reply = receiver.reply(sender.offer, "base transfers")
    session, pairs = sender.finish(reply, "base transfers")
    again = twin.Twin(group, count, seed).run()
    assert (receiver.greeting, sender.offer, reply) == (again.greeting, again.offer, again.reply)
    assert session == receiver.session == again.session
    assert receiver.delta == again.delta
    assert [row.tobytes() for row in receiver.seeds] == again.seeds
    assert [(first.tobytes(), second.tobytes()) for first, second in pairs] == again.pairs


def test_the_sender_makes_one_key_that_has_an_owner() -> None:
    """Of the two public keys one is the receiver's own, at its choice; the other is new every time."""
    choices = np.array([0, 1] * 4, dtype=np.uint8)
    receiver = kem_transfers.KemReceiver(choices, b"n" * 32)
    own = [key.public for key in receiver._keys]
    for i, choice in enumerate(choices):
        keys = twin.both_keys(b"n" * 32, receiver.message, i)
        assert keys[choice] == own[i]
        assert keys[1 - choice] not in own
        assert keys[0][1152:] == keys[1][1152:]
        assert keys != twin.both_keys(b"m" * 32, receiver.message, i)


@given(arrays(np.uint16, st.tuples(st.integers(1, 3), st.just(768)), elements=st.integers(0, 4095)))
@examples(30)
def test_packing(vectors) -> None:
    packed = kem_transfers.pack_vectors(vectors)
    assert [row.tobytes() for row in packed] == [mlkem_twin.encode(row.tolist(), 12) for row in vectors]
    np.testing.assert_array_equal(kem_transfers.unpack_vectors(packed), vectors)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_streams_with_few_numbers_below_q(share: float) -> None:
    """More of the stream is read where numbers of q and above crowd its beginning."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 3329, (2, 8192), dtype=np.uint16)
    numbers[rng.random(numbers.shape) < share] = 4000
    streams = [row.tobytes() for row in kem_transfers.pack_vectors(numbers)]
    read: list[int] = []

    def stream(i: int, size: int) -> bytes:
        read.append(size)
        return streams[i][:size]

    made = kem_transfers.uniform_vectors(2, stream)
    wanted = [mlkem_twin.first(mlkem_twin.twelve_bits(iter(some)), 768) for some in streams]
    assert made.tolist() == wanted
    assert (max(read) > 1536) == (share > 0.25)


def test_masks_are_even() -> None:
    """Numbers of masks spread over all 3,329 values: chi-square within six standard deviations."""
    count = 200
    zeros = np.zeros((count, 1152), dtype=np.uint8)
    made = kem_transfers._masks(bytes(32), np.zeros(count, np.uint8), zeros[:, :32], zeros)
    seen = np.bincount(made.ravel(), minlength=3329)
    mean = made.size / 3329
    assert len(seen) == 3329
    assert abs(((seen - mean) ** 2 / mean).sum() - 3328) < 6 * np.sqrt(2 * 3328)
