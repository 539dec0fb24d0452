"""128 base transfers of random seeds (Chou and Orlandi, "The simplest protocol for oblivious transfer", 2015).

In a group of prime order with generator g:

    sender      a secret                       -> A = g^a
    receiver    b_i secret, choice s_i         -> B_i = A^(s_i) g^(b_i)
    seeds       sender: H(i, B_i^a), H(i, (B_i / A)^a)      receiver: H(i, A^(b_i)), the one of its choice

H: BLAKE2b over the transcript, i and the element. The receiver's choices are hidden in the B_i, which look alike; the
seed it did not choose is a Diffie-Hellman secret of A and itself. Semi-honest, in the random oracle model. Both parties
add a nonce; the session's name is the digest of all that was sent, so parties that saw different bytes have different
sessions and nothing of one fits the other.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.group import ModpGroup

COUNT = 128
SEED_BYTES = 16
NONCE_BYTES = 32
_SESSION_LABEL = b"vfxgb ot session 1"
_SEED_LABEL = b"vfxgb ot seed 1"


class BaseSender:
    """The party that gets both seeds of every pair. `offer` goes to the other."""

    def __init__(self, group: ModpGroup, threads: int) -> None:
        self._group = group
        self._threads = threads
        self._secret = group.random_exponents(1)
        self._public = group.generator_powers(self._secret, threads)
        self.offer = _native.rand.random_bytes(NONCE_BYTES) + self._public

    def finish(self, reply: bytes, step: str) -> tuple[bytes, NDArray[np.uint8]]:
        """The session's name (32 bytes) and the seeds uint8[128, 2, 16] from the receiver's reply.

        Raises TransferError, with `step` in its message, for a reply that is none.
        """
        group, ring = self._group, self._group.ring
        elements = _elements(reply, COUNT, group, step)
        session = _session(self.offer, reply)
        first = ring.power(elements, self._secret, threads=self._threads)
        # (B / A)^a = B^a (A^-1)^a
        shift = ring.power(ring.inverse(self._public), self._secret)
        second = ring.mul(first, shift * COUNT, threads=self._threads)
        pairs = np.stack([_seeds(session, first, group), _seeds(session, second, group)], axis=1)
        return session, pairs

    def __repr__(self) -> str:
        return f"BaseSender({self._group.bits} bits)"


class BaseReceiver:
    """The party that chooses: bits of `delta`, lowest first. `reply` goes to the other.

    session: its name, 32 bytes. seeds uint8[128, 16]. Raises TransferError, with `step` in its message, for an offer
    that is none.
    """

    def __init__(self, offer: bytes, group: ModpGroup, threads: int, step: str) -> None:
        ring, width = group.ring, group.width
        public = _elements(offer, 1, group, step)
        self.delta = _native.rand.random_bytes(COUNT // 8)
        secrets = group.random_exponents(COUNT)
        # Both cases multiply, so that the time does not depend on the choices.
        factors = (1).to_bytes(width, "little"), public
        shifts = b"".join([factors[self.delta[i // 8] >> i % 8 & 1] for i in range(COUNT)])
        elements = ring.mul(group.generator_powers(secrets, threads), shifts, threads=threads)
        self.reply = _native.rand.random_bytes(NONCE_BYTES) + elements
        self.session = _session(offer, self.reply)
        self.seeds = _seeds(self.session, group.powers_of(public, secrets, threads), group)

    def __repr__(self) -> str:
        return f"BaseReceiver(session {self.session[:4].hex()})"


def _elements(message: bytes, count: int, group: ModpGroup, step: str) -> bytes:
    wanted = NONCE_BYTES + count * group.width
    if len(message) != wanted:
        raise TransferError(
            f"{step}: found {len(message)} bytes, wanted {wanted} for {count} element(s) of {group.bits} bits and a "
            "nonce; both parties must use the same group"
        )
    group.check_elements(message[NONCE_BYTES:], step)
    return message[NONCE_BYTES:]


def _session(offer: bytes, reply: bytes) -> bytes:
    return hashlib.sha256(_SESSION_LABEL + len(offer).to_bytes(8, "little") + offer + reply).digest()


def _seeds(session: bytes, shared: bytes, group: ModpGroup) -> NDArray[np.uint8]:
    out = b"".join(
        hashlib.blake2b(
            i.to_bytes(8, "little") + shared[i * group.width : (i + 1) * group.width],
            digest_size=SEED_BYTES,
            key=session,
            person=_SEED_LABEL,
        ).digest()
        for i in range(COUNT)
    )
    return np.frombuffer(out, dtype=np.uint8).reshape(COUNT, SEED_BYTES)
