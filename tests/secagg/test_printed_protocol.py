"""What breaks secure aggregation as papers/003 prints it, and that none of it breaks ours (ERRATA E11 to E19).

Each attack is run twice: on the printed protocol (tests/support/printed_fedxgb.py), where it has to succeed, and on
recorded calls of `masks` and `bcp`, with everything a server holds, where it has to fail.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.pair_twin import pair_key, pair_sign

from printed_fedxgb import M, N, Printed, centred
from secagg_runs import Run, replaced
from vfxgb import _native
from vfxgb.crypto.key_agreement import HybridKey
from vfxgb.crypto.masked_sum import blinding_exponents
from vfxgb.errors import InvalidCiphertextError, MessageError
from vfxgb.secagg.bcp.user import pairwise_masks
from vfxgb.secagg.double_mask.messages import (
    KeyDirectory,
    MaskedVector,
    MaskKey,
    SealedShares,
    SignRequest,
    Unmasking,
)
from vfxgb.secagg.double_mask.shares import (
    PairKeys,
    mask_key_of,
    open_kept,
    recover,
    vector_context,
)
from vfxgb.secagg.lists import pack_users, read_users

USERS = 6


class Record:
    """What the server holds of user `user` after a call of `run`, and what it can make of it."""

    def __init__(self, run: Run, user: int) -> None:
        self.run, self.user = run, user
        self.run_id = run.parties.exchange.run
        self.call = next(iter(run.replies(MaskKey).values())).call
        self.keys = {u: reply.key for u, reply in run.replies(MaskKey).items()}
        self.vector = run.replies(MaskedVector)[user].values
        self.kept = bytes(run.replies(SealedShares)[user].kept)
        unmasking = run.replies(Unmasking).get(user)
        self.opening = None if unmasking is None else unmasking.opening

    @property
    def _bresson(self) -> Any:
        return self.run.parties.server._masking  # type: ignore[attr-defined]

    @property
    def modulus(self) -> int:
        return self._bresson.group.n if self.run.spec.name == "bcp" else 2**64

    def without_own_mask(self, opening: bytes) -> list[int]:
        """x_e + Upsilon_e of each entry, as the server can read it with the user's opening."""
        if self.run.spec.name == "masks":
            words = np.frombuffer(self.vector, np.uint64).copy()
            _native.crypto.add_masks(np.frombuffer(opening, np.uint8)[None], np.array([-1], np.int8), words)
            return words.tolist()
        group, private = self._bresson.group, self._bresson.private
        ciphertexts = np.frombuffer(self.vector, np.uint8).reshape(-1, group.element_bytes)
        phi = blinding_exponents(group.rows([opening]), vector_context(self.run_id, self.call), len(ciphertexts))[0]
        m = group.n**2
        opened = []
        for c, exponent in zip(ciphertexts, phi, strict=True):
            power = pow(group.integer(opening), private * int.from_bytes(exponent.tobytes(), "little"), m)
            opened.append((group.integer(c.tobytes()) * pow(power, -1, m) % m) // group.n)
        return opened

    def masks_from(self, mask_seed: bytes, n_entries: int) -> list[int]:
        """The masks of this call that follow from a mask seed of the user: with secrets of zeros if it opens none."""
        own, peers = mask_key_of(mask_seed), [u for u in self.keys if u != self.user]
        secrets = np.zeros((len(peers), 32), np.uint8)
        with suppress(InvalidCiphertextError):
            secrets = open_kept(mask_seed, self.kept, self.run_id, self.call, self.user)
        pairs = PairKeys.of(
            [
                pair_key(own, self.user, self.keys[u], u, self.run_id, self.call, secret.tobytes())
                for u, secret in zip(peers, secrets, strict=True)
            ],
            [pair_sign(self.user, u) for u in peers],
        )
        if self.run.spec.name == "bcp":
            return pairwise_masks(self._bresson.group, pairs, n_entries, 1)
        words = np.zeros(n_entries, np.uint64)
        _native.crypto.add_masks(pairs.keys, pairs.signs, words)
        return words.tolist()


def mask_seed_of(run: Run, user: int) -> bytes:
    """The mask seed of an absent user, as the server reconstructs it from the last call."""
    replies = run.replies(Unmasking)
    holders = sorted(replies)
    shares = np.stack([np.frombuffer(replies[u].key_shares, np.uint8) for u in holders])
    seed = recover(holders, shares[None], len(holders), 1)[0]
    assert seed is not None
    return seed


def hidden(found: list[int], x: NDArray[np.int64], modulus: int) -> bool:
    """Whether no entry was found."""
    return all((value - int(entry)) % modulus for value, entry in zip(found, x, strict=True))


@pytest.fixture
def run(masking: str, make_run: Callable[..., Run]) -> Run:
    more = {"slots": 1} if masking == "bcp" else {}
    return make_run(masking, n_entries=5, **more)


# Correctness of protocol 1


def test_e11_e12_dropped_users_spoil_the_printed_sum() -> None:
    printed = Printed(n_users=6, threshold=4)
    x, dropped = [10, -4, 7, 100, -30, 2], [1, 4]
    left = [u for u in printed.users if u not in dropped]
    vectors = {u: printed.mask(u, [x[u]]) for u in left}
    masked = printed.open_product([vectors[u][0][0] for u in left], [vectors[u][1] for u in left])
    wanted = sum(x[u] for u in left)
    # E11: Upsilon inside the bracket leaves nothing that N divides.
    assert (masked * N + printed.remaining(dropped, printed=False)) % N != 0
    # E12: both sums over u0 < v.
    assert centred(masked + printed.remaining(dropped, printed=True)) != wanted
    assert centred(masked + printed.remaining(dropped, printed=False)) == wanted


def test_e13_masks_modulo_another_prime_do_not_cancel() -> None:
    printed = Printed(n_users=4, threshold=3)
    x = [5, -2, 8, 1]
    for modulus, right in ((2**61 - 1, False), (N, True)):
        vectors = [printed.mask(u, [x[u]], modulus=modulus) for u in printed.users]
        total = printed.open_product([c[0] for c, _ in vectors], [blinder for _, blinder in vectors])
        assert (centred(total) == sum(x)) is right


# E14: masks without a counter


def test_e14_printed_masks_give_differences_of_entries() -> None:
    printed = Printed(n_users=4, threshold=3)
    x = [1234, 0, -55, 1234]
    ciphertexts, blinder = printed.mask(2, x)
    opened = [printed.open_one(c, blinder) for c in ciphertexts]
    # One entry is known to be 0, an empty left child: all others follow.
    assert [centred(value - opened[1]) for value in opened] == x


def test_e14_ours_gives_no_difference(run: Run) -> None:
    opened: list[tuple[int, int]] = []
    for _ in range(2):
        run.call()
        record = Record(run, 2)
        opened += zip(record.without_own_mask(record.opening), run.x[2].tolist(), strict=True)
    for (one, x1), (other, x2) in combinations(opened, 2):
        assert (one - other - (x1 - x2)) % record.modulus


# E15: one r for all entries


def test_e15_eavesdropper_reads_differences_of_printed_ciphertexts() -> None:
    printed = Printed(n_users=4, threshold=3)
    (c1, c2), _ = printed.mask(0, [777, -23])
    ratio = c1 * pow(c2, -1, M) % M
    assert ratio % N == 1
    assert centred(ratio // N) == 800


def test_e15_ratios_of_ours_say_nothing(make_run: Callable[..., Run]) -> None:
    run = make_run("bcp", n_entries=5, slots=1)
    elements = []
    for _ in range(2):
        run.call()
        record = Record(run, 0)
        group = record._bresson.group
        rows = np.frombuffer(record.vector, np.uint8).reshape(-1, group.element_bytes)
        elements += [group.integer(row.tobytes()) for row in rows]
    for c1, c2 in combinations(elements, 2):
        # A ratio without any power of the key in it would be 1 modulo N.
        assert c1 * pow(c2, -1, group.n**2) % group.n != 1


# E16: a dropout gives a long-lived key away


@pytest.mark.parametrize("fresh_masks", [False, True])
def test_e16_printed_drop_opens_earlier_calls(fresh_masks: bool) -> None:
    printed = Printed(n_users=4, threshold=3, fresh_masks=fresh_masks)
    calls = {call: (x, *printed.mask(1, [x], call)) for call, x in ((1, 1000), (2, 1001), (3, 1002))}
    # In call 4 user 1 drops out, and the others give the shares of its mask key.
    reconstructed = printed.secret[1]
    for call, (x, ciphertexts, blinder) in calls.items():
        opened = printed.open_one(ciphertexts[0], blinder)
        assert centred(opened - printed.upsilon(1, reconstructed, call)) == x


def test_e16_drop_in_ours_opens_no_other_call(run: Run) -> None:
    records = []
    for _ in range(3):
        run.call()
        records.append(Record(run, 1))
    run.call_after(user_1="mask")
    stolen = mask_seed_of(run, 1)
    assert mask_key_of(stolen).public == run.replies(MaskKey)[1].key
    run.drops = {}
    run.call()
    records.append(Record(run, 1))
    for record in records:
        opened = record.without_own_mask(record.opening)
        masks = record.masks_from(stolen, len(opened))
        found = [value - mask for value, mask in zip(opened, masks, strict=True)]
        assert hidden(found, run.x[1], record.modulus)


def test_the_right_keys_would_open_a_vector(run: Run) -> None:
    """The attack above fails for want of the key, not of skill: with the key of its call it opens a vector."""
    run.call()
    record = Record(run, 1)
    secret = run.parties.users[1]._call._secrets.mask_seed  # type: ignore[attr-defined]
    opened = record.without_own_mask(record.opening)
    found = [value - mask for value, mask in zip(opened, record.masks_from(secret, len(opened)), strict=True)]
    assert [(value - int(x)) % record.modulus for value, x in zip(found, run.x[1], strict=True)] == [0] * 5


def test_e17_late_vector_of_an_absent_user_stays_hidden(run: Run) -> None:
    """The server gives user 1 up, reconstructs its mask key, and then its vector arrives."""
    run.call()
    earlier = Record(run, 1).opening
    run.late = {1}
    run.check(run.call(), (0, 2, 3, 4, 5))
    run.late = set()
    stolen = mask_seed_of(run, 1)
    record = Record(run, 1)
    assert record.opening is None
    others = [reply.opening for reply in run.replies(Unmasking).values()]
    for opening in (earlier, *others):
        opened = record.without_own_mask(opening)
        found = [value - mask for value, mask in zip(opened, record.masks_from(stolen, len(opened)), strict=True)]
        assert hidden(found, run.x[1], record.modulus)


# E18: a survivor that leaves before it has sent its blinder


def test_e18_one_missing_blinder_blocks_the_printed_sum() -> None:
    printed = Printed(n_users=4, threshold=3)
    x = [5, -2, 8, 1]
    vectors = [printed.mask(u, [x[u]]) for u in printed.users]
    total = printed.open_product([c[0] for c, _ in vectors], [blinder for _, blinder in vectors[:3]])
    assert centred(total) not in (sum(x), sum(x[:3]))


def test_e18_ours_recovers_the_missing_opening(run: Run) -> None:
    run.check(run.call_after(user_3="unmask"), range(USERS))
    run.check(run.call_after(user_0="sign"), range(USERS))


# E19: an active server


def test_e19_printed_users_believe_any_list_and_any_key() -> None:
    printed = Printed(n_users=4, threshold=3)
    (ciphertext,), blinder = printed.mask(1, [4321])
    # User 1 is told that it survived and sends its blinder; the others that it dropped out, and send shares.
    assert centred(printed.open_one(ciphertext, blinder) - printed.upsilon(1, printed.secret[1])) == 4321
    # Or the server hands out keys of its own for all the others.
    fake = {v: 5 + v for v in printed.users}
    printed.public = {v: pow(printed.g, fake[v], M) if v != 1 else key for v, key in printed.public.items()}
    (ciphertext,), blinder = printed.mask(1, [-77])
    shared = {v: pow(printed.public[1], fake[v], M) for v in printed.users if v != 1}
    known = sum(printed.phi(key, 0, 0) * (1 if v > 1 else -1) for v, key in shared.items())
    assert centred(printed.open_one(ciphertext, blinder) - known) == -77


def test_e19_ours_opens_nothing_for_two_lists(run: Run) -> None:
    def without_victim(users: memoryview) -> memoryview:
        return pack_users([u for u in read_users(users, "") if u != 1])

    run.change(requests=replaced(SignRequest, users=without_victim), at=[0, 2, 3, 4, 5])
    with pytest.raises(MessageError):
        run.call()
    assert not run.replies(Unmasking)


def test_e19_ours_refuses_exchanged_keys(masking: str) -> None:
    fresh = Run(masking, n_users=3, set_up=False)
    fake = HybridKey().public

    def exchange_key(keys: memoryview) -> memoryview:
        return memoryview(bytes(keys[:1216]) + fake + bytes(keys[2 * 1216 :]))

    fresh.change(requests=replaced(KeyDirectory, keys=exchange_key), at=[0])
    with pytest.raises(MessageError, match=r"user 0, set-up: the encryption key of user 1 is not signed"):
        fresh.parties.server.set_up()
