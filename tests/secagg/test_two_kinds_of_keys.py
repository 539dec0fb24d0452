"""A server that has recorded a call and can break X25519 later, or ML-KEM: it takes both to read a user's vector.

The server here is handed the private keys that it would have computed, of all users and calls.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.pair_twin import pair_key, pair_sign

from secagg_runs import Run
from vfxgb import _native
from vfxgb.crypto.key_agreement import AgreementKey, context_of, derive, unseal
from vfxgb.errors import InvalidCiphertextError
from vfxgb.secagg.double_mask.messages import (
    EncryptionKey,
    KeyDirectory,
    MaskedVector,
    MaskKey,
    MaskRequest,
    PeerCiphertexts,
    Unmasking,
)
from vfxgb.secagg.double_mask.peers import _nonce
from vfxgb.secagg.double_mask.shares import SEALED_BYTES, PairKeys
from vfxgb.secagg.lists import read_users

USERS = 4
VICTIM = 1


class Later:
    """What the server has recorded of a run with one call, and what it can make of it with private keys.

    `curve`, `kem`: whether it has those of X25519 and of ML-KEM. It guesses what it lacks: zeros.
    """

    def __init__(self, curve: bool, kem: bool) -> None:
        self.run = Run("masks", n_users=USERS, n_entries=5, set_up=False)
        self.run.parties.server.set_up()
        self._set_up = list(self.run.asked), list(self.run.replied)
        self.run.call()
        self.name = self.run.parties.exchange.run
        self._curve, self._kem = curve, kem
        self.publics = {user: reply.key for user, reply in self._of(self._set_up[1], EncryptionKey).items()}
        self.call = next(iter(self.run.replies(MaskKey).values())).call

    def _of(self, messages: list[Any], kind: type[Any]) -> dict[int, Any]:
        return {user: message for user, message in messages if isinstance(message, kind)}

    def _ciphertext(self, low: int, high: int) -> bytes:
        passed = self._of(self._set_up[0], PeerCiphertexts)[high]
        place = read_users(passed.users, "test").index(low)
        return bytes(passed.ciphertexts[1088 * place : 1088 * (place + 1)])

    def pair_secret(self, user: int, peer: int) -> bytes:
        """The secret of two users, or what comes out with zeros in place of what cannot be computed."""
        low, high = sorted((user, peer))
        keys = {u: self.run.parties.users[u]._peers._own for u in (low, high)}  # type: ignore[attr-defined]
        ciphertext = self._ciphertext(low, high)
        shared = bytes(32)
        if self._curve:
            shared = keys[low]._curve._private.exchange(keys[high]._curve._private.public_key())
        secret = keys[high]._kem.decapsulate(ciphertext) if self._kem else bytes(32)
        context = context_of("pair", self.name, low, high)
        return derive(shared + secret, context + self.publics[low] + self.publics[high] + ciphertext)

    def opens_records(self) -> bool:
        """Whether it can read what other users sealed for the victim."""
        request = self.run.requests(MaskRequest)[VICTIM]
        senders = [user for user in read_users(request.users, "test") if user != VICTIM]
        opened = []
        for place, sender in enumerate(senders):
            sealed = bytes(request.sealed[SEALED_BYTES * place : SEALED_BYTES * (place + 1)])
            pair = (min(sender, VICTIM), max(sender, VICTIM))
            key = derive(self.pair_secret(sender, VICTIM), context_of("sealing", self.name, *pair))
            about = context_of("record", self.name, self.call, sender, VICTIM)
            try:
                unseal(key, _nonce(self.call, sender, VICTIM), sealed, about)
                opened.append(True)
            except InvalidCiphertextError:
                opened.append(False)
        assert len(set(opened)) == 1
        return opened[0]

    def vector(self) -> list[int]:
        """The victim's vector, as far as its masks can be computed."""
        keys, signs = [], []
        for peer in range(USERS):
            if peer != VICTIM:
                own = self._mask_key(VICTIM)
                low, high = min(peer, VICTIM), max(peer, VICTIM)
                secret = derive(
                    self.pair_secret(peer, VICTIM), context_of("mask secret", self.name, self.call, low, high)
                )
                public = self._mask_key(peer).public
                keys.append(pair_key(own, VICTIM, public, peer, self.name, self.call, secret))
                signs.append(-pair_sign(VICTIM, peer))
        words = np.frombuffer(self.run.replies(MaskedVector)[VICTIM].values, np.uint64).copy()
        opening = np.frombuffer(self.run.replies(Unmasking)[VICTIM].opening, np.uint8)
        _native.crypto.add_masks(opening[None], np.array([-1], np.int8), words)
        pairs = PairKeys.of(keys, signs)
        _native.crypto.add_masks(pairs.keys, pairs.signs, words)
        return words.view(np.int64).tolist()

    def _mask_key(self, user: int) -> AgreementKey:
        if not self._curve:
            return AgreementKey(bytes(32))
        return self.run.parties.users[user]._call._secrets.mask_key  # type: ignore[attr-defined]


@pytest.mark.parametrize(("curve", "kem"), [(False, False), (True, False), (False, True), (True, True)])
def test_it_takes_both(curve: bool, kem: bool) -> None:
    later = Later(curve, kem)
    assert later.opens_records() == (curve and kem)
    assert (later.vector() == later.run.x[VICTIM].tolist()) == (curve and kem)


def test_the_mask_seed_does_not_follow_from_the_mask_key(make_run: Callable[..., Run]) -> None:
    """Who breaks X25519 has the private mask key, and neither the seed nor the key of what was left with the server."""
    run = make_run("masks")
    run.call()
    secrets: Any = run.parties.users[0]._call._secrets  # type: ignore[attr-defined]
    private = secrets.mask_key._private.private_bytes_raw()
    assert private not in (secrets.mask_seed, secrets.seed)


def test_bytes_of_a_user_for_its_keys() -> None:
    """Once a run: 1,280 bytes a user down for the directory, 1,088 a pair up or down. Each call: 32 a user more."""
    later = Later(curve=False, kem=False)
    asked, replied = later._set_up
    for user in range(USERS):
        down = later._of(asked, KeyDirectory)[user]
        assert len(down.keys) + len(down.signatures) == 1280 * USERS
        passed = later._of(asked, PeerCiphertexts)[user]
        own = next(m for u, m in replied if u == user and m.TAG == "secagg-own-ciphertexts")
        assert len(passed.ciphertexts) + len(own.ciphertexts) == 1088 * (USERS - 1)
        assert len(own.ciphertexts) == 1088 * (USERS - 1 - user)
        sent = next(m for u, m in later.run.replied if u == user and m.TAG == "secagg-shares")
        assert (len(sent.sealed), len(sent.kept)) == (114 * (USERS - 1), 32 * (USERS - 1) + 16)
