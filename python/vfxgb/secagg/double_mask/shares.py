"""What a user keeps secret in a call, how it is shared out, and how it is put together again.

Two secrets, drawn afresh for every call (ERRATA E16): the *mask seed*, from which the mask key and with it the masks
with every other user follow, and the *seed* of the user's own mask. Each other user v gets a *record*: the public mask
key and a share of either secret, sealed under a key of the pair that the server does not know. What is reconstructed
later is the mask seed of a user that sent no vector, or the seed of one that did: never both.

The key of a pair's mask is derived from X25519 of their mask keys and from the pair's *mask secret* of the call
(peers.py), which X25519 does not open. The server has to learn the mask secrets of a user that sent no vector, too:
every user leaves its own with the server, sealed under a key that follows from its mask seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto.key_agreement import (
    KEY_BYTES,
    SEAL_BYTES,
    AgreementKey,
    context_of,
    derive,
    random_seed,
    seal,
    unseal,
)
from vfxgb.crypto.key_batches import Rows, agree_all, contexts_of, rows_of
from vfxgb.secagg import shamir

SHARE_BYTES = shamir.share_bytes()
RECORD_BYTES = KEY_BYTES + 2 * SHARE_BYTES
SEALED_BYTES = RECORD_BYTES + SEAL_BYTES


@dataclass(frozen=True)
class CallSecrets:
    """The secrets of one user in one call."""

    mask_seed: bytes = field(default_factory=random_seed, repr=False)
    seed: bytes = field(default_factory=random_seed, repr=False)

    @cached_property
    def mask_key(self) -> AgreementKey:
        """The key pair of the masks with other users."""
        return mask_key_of(self.mask_seed)

    def records(self, users: Sequence[int], threshold: int, threads: int) -> Rows:
        """The records for `users`, any `threshold` of whom can give a secret back: uint8[n, RECORD_BYTES]."""
        secrets = [int.from_bytes(secret, "little") for secret in (self.mask_seed, self.seed)]
        shares = shamir.share(secrets, threshold, points_of(users), threads=threads)
        public = np.broadcast_to(np.frombuffer(self.mask_key.public, np.uint8), (len(users), KEY_BYTES))
        return np.concatenate([public, shares[0], shares[1]], axis=1)


def mask_key_of(mask_seed: bytes) -> AgreementKey:
    """The mask key of a seed. The seed does not follow from it."""
    return AgreementKey(derive(mask_seed, b"vfxgb secagg mask key"))


def kept_bytes(n_users: int) -> int:
    """How much a user leaves with the server in a call of so many."""
    return (n_users - 1) * KEY_BYTES + SEAL_BYTES


def seal_kept(mask_seed: bytes, mask_secrets: Rows, run: bytes, call: int, user: int) -> bytes:
    """The mask secrets of a user, to be left with the server. A mask seed has one call."""
    context = context_of("kept", run, call, user)
    return seal(derive(mask_seed, context), 0, mask_secrets.tobytes(), context)


def open_kept(mask_seed: bytes, kept: bytes, run: bytes, call: int, user: int) -> Rows:
    """What `seal_kept` was given. Raises InvalidCiphertextError."""
    context = context_of("kept", run, call, user)
    opened = unseal(derive(mask_seed, context), 0, kept, context)
    return np.frombuffer(opened, np.uint8).reshape(-1, KEY_BYTES)


def record_parts(records: Rows) -> tuple[Rows, Rows, Rows]:
    """(public mask keys, shares of mask seeds, shares of seeds), one row for each record."""
    parts = np.split(records, (KEY_BYTES, KEY_BYTES + SHARE_BYTES), axis=1)
    return parts[0], parts[1], parts[2]


def recover(holders: Sequence[int], shares: Rows, threshold: int, threads: int) -> list[bytes | None]:
    """The secrets of shares[i, j] held by holders[j]; None for shares that are not those of 32 bytes.

    Raises ShareError when there are too few, or when they do not fit together.
    """
    secrets = shamir.reconstruct(points_of(holders), shares, threshold, threads=threads)
    return [secret.to_bytes(KEY_BYTES, "little") if secret < 1 << 8 * KEY_BYTES else None for secret in secrets]


def points_of(users: Sequence[int]) -> list[int]:
    """Where a user's share of a polynomial is taken: never at 0, where the secret is."""
    return [user + 1 for user in users]


def commitment_to(opening: bytes, run: bytes, call: int, user: int) -> bytes:
    """32 bytes that tell whether an opening is the one a user began the call with, and nothing else of it."""
    return derive(opening, context_of("commitment", run, call, user))


def vector_context(run: bytes, call: int) -> bytes:
    """Bytes of a call that masks of vectors are derived with."""
    return context_of("vector", run, call)


@dataclass(frozen=True)
class PairKeys:
    """Keys of masks between pairs of users, uint8[k, 32], and with which sign, int8[k], each mask is added."""

    keys: Rows = field(repr=False)
    signs: NDArray[np.int8]

    @staticmethod
    def of(keys: Sequence[bytes], signs: Sequence[int]) -> "PairKeys":
        """Join the keys and signs of all pairs, one entry for each."""
        return PairKeys(rows_of(keys), np.array(signs, dtype=np.int8))

    @staticmethod
    def joined(parts: "Sequence[PairKeys]") -> "PairKeys":
        """The pairs of all parts."""
        none = PairKeys.of([], [])
        return PairKeys(
            np.concatenate([none.keys, *(part.keys for part in parts)]),
            np.concatenate([none.signs, *(part.signs for part in parts)]),
        )


def pair_keys(
    own: AgreementKey,
    user: int,
    publics: Rows,
    peers: Sequence[int],
    run: bytes,
    call: int,
    secrets: Rows,
    threads: int,
) -> PairKeys:
    """The masks between `user`, which owns `own`, and each of its peers: with keys that are the same from both sides.

    Signs are those with which `user` adds the masks; its peers add them with the opposite ones, so that masks cancel.
    Raises InvalidKeyError with the index of the first peer whose public key is none.
    """
    others = np.array(peers, dtype=np.int64)
    contexts = contexts_of("mask", run, call, np.minimum(others, user), np.maximum(others, user))
    keys = agree_all(own, publics, contexts, secrets, threads)
    return PairKeys(keys, np.where(others > user, 1, -1).astype(np.int8))
