"""Base transfers of two parties: what they have in the end, what each part contributes, and what they refuse."""

from collections.abc import Callable

import numpy as np
import pytest

from vfxgb.errors import TransferError
from vfxgb.ot import base_ot, base_wire, kem_transfers
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import modp_group
from vfxgb.ot.group_transfers import GroupReceiver, GroupSender

TOY = modp_group(768, insecure=True)
STEP = "base transfers with shop"
HEADER = 11
# Where the parts of the messages begin.
KEYS = HEADER + 32 + TOY.width
CIPHERTEXTS = HEADER + 32 + TOY.width * 129
# The number 3329 in the first place of a packed vector.
UNREDUCED = b"\x01\x0d"


def bits(data: bytes) -> np.ndarray:
    return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")


def change(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def flip(data: bytes, at: int) -> bytes:
    return change(data, at, bytes([data[at] ^ 1]))


@pytest.mark.parametrize("count", [8, 128, 136])
def test_the_receiver_has_the_keys_of_its_choices(count: int) -> None:
    receiver = BaseReceiver(TOY, 1, count)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, count)
    session, pairs = sender.finish(receiver.reply(sender.offer, STEP), STEP)
    choices = bits(receiver.delta)
    assert session == receiver.session
    assert pairs.shape == (count, 2, 16)
    np.testing.assert_array_equal(pairs[np.arange(count), choices], receiver.seeds)
    assert len({key.tobytes() for key in pairs.reshape(-1, 16)}) == 2 * count
    assert receiver.delta.hex() not in repr(receiver) + repr(sender)


def test_bytes_on_the_wire() -> None:
    """680 KB with 128 transfers and the default group, once a session."""
    count, width = 128, TOY.width
    receiver = BaseReceiver(TOY, 1)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP)
    reply = receiver.reply(sender.offer, STEP)
    assert len(receiver.greeting) == HEADER + 32 + width + count * (32 + 2 * 1152)
    assert len(sender.offer) == HEADER + 32 + width + 128 * width + count * (2 * 1088 + 16)
    assert len(reply) == HEADER + count * width + 128 * count // 8
    grown = 384 - width
    assert sum(map(len, (receiver.greeting, sender.offer, reply))) + grown * (2 + 128 + count) == 680_801


def test_what_ml_kem_gives_away_are_not_the_choices(monkeypatch) -> None:
    """Whoever could tell the receiver's own keys of ML-KEM from random ones learns d, not c = c' + d."""
    receiver = BaseReceiver(TOY, 1, 1024)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 1024)
    receiver.reply(sender.offer, STEP)
    agree = int((receiver._kem_choices == bits(receiver.delta)).sum())
    assert abs(agree - 512) < 6 * 16


def test_what_the_transfers_back_give_away_are_not_the_choices() -> None:
    """Whoever could compute logarithms learns c' from the columns, not c."""
    receiver = BaseReceiver(TOY, 1, 1024)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 1024)
    reply = receiver.reply(sender.offer, STEP)
    _, _, elements, _, _ = base_wire.BaseLayout(TOY, 1024).split(base_wire.OFFER, sender.offer, STEP)
    before = base_ot._digest(receiver.greeting, sender.offer)
    first, second = (base_ot._streams(before, shared, 1024) for shared in receiver._other.shared(elements))
    hidden = bits(reply[HEADER + 1024 * TOY.width :]).reshape(128, 1024) ^ first ^ second
    assert (hidden == hidden[0]).all()
    assert abs(int((hidden[0] == bits(receiver.delta)).sum()) - 512) < 6 * 16
    np.testing.assert_array_equal(hidden[0] ^ receiver._kem_choices, bits(receiver.delta))


def test_logarithms_of_elements_do_not_show_the_choices(monkeypatch) -> None:
    """The receiver's exponents are 128 bits longer than what a choice adds to them."""
    drawn: list[bytes] = []
    real = base_ot._native.rand.random_bytes

    def draw(size: int) -> bytes:
        drawn.append(real(size))
        return drawn[-1]

    monkeypatch.setattr(base_ot._native.rand, "random_bytes", draw)
    public = GroupSender(TOY, 1).public
    GroupReceiver(TOY, public, np.ones(8, np.uint8), 1)
    assert [len(some) for some in drawn] == [48, 8 * 64]


def test_both_secrets_are_in_the_keys(monkeypatch) -> None:
    """Without the right secret of the group, or without the right one of ML-KEM, no key comes out."""
    receiver = BaseReceiver(TOY, 1, 8)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 8)
    reply = receiver.reply(sender.offer, STEP)
    _, right = sender.finish(reply, STEP)
    right_keys, right_shift = sender._keys, sender._shift
    for name, value in (
        ("_keys", [right_keys[0] ^ 1, right_keys[1]]),
        ("_shift", bytes(16)),
        ("_sender", GroupSender(TOY, 1)),
        ("_hidden", GroupReceiver(TOY, sender._sender.public, bits(right_shift), 1)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(sender, name, value)
            _, wrong = sender.finish(reply, STEP)
        # The two keys of a transfer differ by the shift alone; all else is in both.
        same = (wrong == right).all(axis=2)
        assert not same[:, 1].any()
        assert not same[:, 0].any() or name == "_shift"
    np.testing.assert_array_equal(sender.finish(reply, STEP)[1], right)


def test_the_other_ciphertext_needs_another_private_key() -> None:
    choices = np.array([0, 1, 1, 0, 1, 0, 0, 1], dtype=np.uint8)
    receiver = kem_transfers.KemReceiver(choices, b"n" * 32)
    secrets, ciphertexts = kem_transfers.encapsulate_pairs(receiver.message, b"n" * 32, STEP)
    pairs = [row.tobytes() for row in secrets.reshape(-1, 32)]
    assert receiver.secrets(ciphertexts) == [pairs[2 * i + c] for i, c in enumerate(choices)]
    swapped = np.frombuffer(ciphertexts, np.uint8).reshape(8, 2, -1)[:, ::-1].tobytes()
    assert not set(receiver.secrets(swapped)) & set(pairs)


def test_a_changed_message_changes_the_session_and_all_keys() -> None:
    """Wherever nothing is wrong in itself: the two parties then have nothing in common."""
    receiver = BaseReceiver(TOY, 1, 8)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 8)
    offer = sender.offer
    for at in (HEADER, CIPHERTEXTS + 5, len(offer) - 1):
        mine = BaseReceiver(TOY, 1, 8)
        mine._other, mine._kem, mine.greeting = receiver._other, receiver._kem, receiver.greeting
        mine._kem_choices = receiver._kem_choices
        session, pairs = sender.finish(mine.reply(flip(offer, at), STEP), STEP)
        assert session != mine.session
        assert not {key.tobytes() for key in mine.seeds} & {key.tobytes() for key in pairs.reshape(-1, 16)}


@pytest.mark.parametrize("count", [0, 7, 12, -8, 1 << 16])
def test_numbers_of_transfers(count: int) -> None:
    with pytest.raises(TransferError, match=f"found {count} of them, wanted a multiple of 8"):
        BaseReceiver(TOY, 1, count)


GREETING = BaseReceiver(TOY, 1, 8).greeting
BAD_HEADERS: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: b"", "found 0 bytes that are no base transfers of version 2"),
    (lambda data: data[:10], "found 10 bytes that are no base transfers"),
    (lambda data: flip(data, 0), "are no base transfers of version 2"),
    (lambda data: change(data, 4, b"\x01"), "are no base transfers of version 2"),
    (lambda data: change(data, 5, b"\x01"), "offers transfers in the group alone.*wanted the group and ML-KEM-768"),
    (lambda data: change(data, 5, b"\x03"), "unknown suite 3"),
    (lambda data: change(data, 6, b"\x09"), "found unknown step 9"),
    (lambda data: change(data, 7, b"\x00\x04"), "in a group of 1024 bits, wanted 8 in one of 768"),
    (lambda data: change(data, 9, b"\x10\x00"), "found 16 transfers in a group of 768 bits, wanted 8"),
    (lambda data: data[:-1], "truncated"),
    (lambda data: data + b"\0", "truncated"),
]


@pytest.mark.parametrize(("spoil", "wanted"), BAD_HEADERS)
def test_messages_that_are_none(spoil: Callable[[bytes], bytes], wanted: str) -> None:
    """Each step refuses them by the name of the peer, and still takes the right message afterwards."""
    receiver = BaseReceiver(TOY, 1, 8)
    with pytest.raises(TransferError, match=f"{STEP}: .*{wanted}"):
        BaseSender(spoil(receiver.greeting), TOY, 1, STEP, 8)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 8)
    with pytest.raises(TransferError, match=f"{STEP}: .*{wanted}"):
        receiver.reply(spoil(sender.offer), STEP)
    assert not hasattr(receiver, "delta")  # nothing secret was drawn
    reply = receiver.reply(sender.offer, STEP)
    with pytest.raises(TransferError, match=f"{STEP}: .*{wanted}"):
        sender.finish(spoil(reply), STEP)
    assert sender.finish(reply, STEP)[0] == receiver.session


def test_what_a_version_without_ml_kem_would_send() -> None:
    """A nonce and elements, without a header."""
    receiver = BaseReceiver(TOY, 1, 8)
    with pytest.raises(TransferError, match=f"{STEP}: found 128 bytes that are no base transfers of version 2"):
        receiver.reply(bytes(32) + GroupSender(TOY, 1).public, STEP)


def test_messages_in_the_wrong_place() -> None:
    receiver = BaseReceiver(TOY, 1, 8)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 8)
    with pytest.raises(TransferError, match="found an offer, wanted a greeting"):
        BaseSender(sender.offer, TOY, 1, STEP, 8)
    with pytest.raises(TransferError, match="found a greeting, wanted an offer"):
        receiver.reply(receiver.greeting, STEP)
    with pytest.raises(TransferError, match="found an offer, wanted a reply"):
        sender.finish(sender.offer, STEP)


@pytest.mark.parametrize("branch", [0, 1])
def test_vectors_that_are_not_reduced(branch: int) -> None:
    """FIPS 203, section 7.2, asks for the check of every key before it is used."""
    at = KEYS + 5 * kem_transfers.KEYS_BYTES + 32 + branch * 1152 + 3
    with pytest.raises(TransferError, match=f"{STEP}: vector {branch} of transfer 5 has 3329 at place 2, wanted"):
        BaseSender(change(GREETING, at, UNREDUCED), TOY, 1, STEP, 8)


@pytest.mark.parametrize("value", [0, 1, TOY.prime - 1, TOY.prime, 2**768 - 1])
def test_elements_outside_the_group(value: int) -> None:
    element = value.to_bytes(TOY.width, "little")
    receiver = BaseReceiver(TOY, 1, 8)
    with pytest.raises(TransferError, match=f"{STEP}: element 0 does not lie in the group"):
        BaseSender(change(receiver.greeting, HEADER + 32, element), TOY, 1, STEP, 8)
    sender = BaseSender(receiver.greeting, TOY, 1, STEP, 8)
    for place in (0, 1, 128):
        with pytest.raises(TransferError, match=f"{STEP}: element {place} does not lie in the group"):
            receiver.reply(change(sender.offer, HEADER + 32 + place * TOY.width, element), STEP)
    assert not hasattr(receiver, "delta")
    reply = receiver.reply(sender.offer, STEP)
    with pytest.raises(TransferError, match=f"{STEP}: element 7 does not lie in the group"):
        sender.finish(change(reply, HEADER + 7 * TOY.width, element), STEP)
