"""Base transfers of random keys, by a group and by ML-KEM-768 together (README.md says what they rest on, and why so).

The sender ends with two keys of 16 bytes for each transfer, the receiver with one of them, that of its choice c_i.
Three transfers of different strengths stand behind each. s are 128 random bits of the sender; c' and d are random bits
of the receiver for each transfer that add up to its choices, c = c' + d (+ is XOR):

    greeting    receiver -> sender    A' = g^a';   keys of ML-KEM-768, masked, with choices d_i (kem_transfers.py)
    offer       sender -> receiver    A = g^a;   B'_j = A'^(s_j) g^(b'_j), j < 128 (group_transfers.py);
                                      for each i two ciphertexts of ML-KEM-768, and z_i = k_(i,0) + k_(i,1) + s
    reply       receiver -> sender    B_i = A^(c_i) g^(b_i);   u_j = G(j, 0) + G(j, 1) + c', j < 128

The keys k_(i,0), k_(i,1) are those of the secrets of ML-KEM. G(j, 0), G(j, 1) are streams of the two elements that the
receiver has for A' and B'_j; the sender can compute G(j, s_j). From u_j it gets the rows q_i = t_i + c'_i s of an
extension (Ishai et al., Crypto 2003), where t_i are the receiver's rows G(., 0). Then

    x_(i,0) = q_i + k_(i,0)   and   x_(i,1) = x_(i,0) + s   at the sender,
    t_i + k_(i,d_i) + d_i z_i = x_(i,0) + c_i s = x_(i,c_i)   at the receiver,

and the key of choice b is HKDF-SHA256 of x_(i,b), of the element that A and B_i give for b, of i and of the session's
name. The name is the digest of all three messages, so parties that saw different bytes have different sessions, and
nothing of one fits the other.
"""

import hashlib

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.ot.base_wire import GREETING, NONCE_BYTES, OFFER, REPLY, SEED_BYTES, WIDTH, BaseLayout
from vfxgb.ot.group import ModpGroup
from vfxgb.ot.group_transfers import GroupReceiver, GroupSender
from vfxgb.ot.kem_transfers import KemReceiver, encapsulate_pairs

COUNT = 128
_SESSION_LABEL = b"vfxgb ot session 2"
_STREAM_LABEL = b"vfxgb ot stream 2"
_KEM_LABEL = b"vfxgb ot kem key 2"
_SEED_LABEL = b"vfxgb ot seed 2"

# Bits one by one, uint8 of 0 and 1; blocks of 16 bytes, uint8[count, 16].
Bits = NDArray[np.uint8]
Blocks = NDArray[np.uint8]


class BaseReceiver:
    """The party that chooses. Send `greeting`, give the offer to `reply` and send what it returns.

    After that, delta: the choices, bits of `count` / 8 random bytes, lowest first. session: its name, 32 bytes. seeds:
    the keys of the choices, uint8[count, 16].
    """

    def __init__(self, group: ModpGroup, threads: int, count: int = COUNT) -> None:
        self._layout = BaseLayout(group, count)
        self._threads = threads
        self._other = GroupSender(group, threads)
        self._kem_choices = _bits(_native.rand.random_bytes(count // 8))
        nonce = _native.rand.random_bytes(NONCE_BYTES)
        self._kem = KemReceiver(self._kem_choices, nonce)
        self.greeting = self._layout.join(GREETING, nonce, self._other.public, self._kem.message)

    def reply(self, offer: bytes, step: str) -> bytes:
        """Bytes for the sender. Raises TransferError, with `step` in its message, for an offer that is none."""
        layout, group = self._layout, self._layout.group
        _, public, elements, ciphertexts, differences = layout.split(OFFER, offer, step)
        group.check_elements(public + elements, step)
        self.delta = _native.rand.random_bytes(layout.count // 8)
        choices = _bits(self.delta)
        chosen = GroupReceiver(group, public, choices, self._threads)
        before = _digest(self.greeting, offer)
        first, second = [_streams(before, shared, layout.count) for shared in self._other.shared(elements)]
        columns = first ^ second ^ choices ^ self._kem_choices
        reply = layout.join(REPLY, chosen.elements, np.packbits(columns, axis=1, bitorder="little").tobytes())
        self.session = _digest(self.greeting, offer, reply)
        keys = _kem_keys(self.greeting, ciphertexts, self._kem_choices, self._kem.secrets(ciphertexts))
        shifts = _blocks(differences) * self._kem_choices[:, np.newaxis]
        self.seeds = _seeds(self.session, _transposed(first) ^ keys ^ shifts, chosen.shared)
        return reply

    def __repr__(self) -> str:
        return f"BaseReceiver({self._layout.count} transfers)"


class BaseSender:
    """The party that gets both keys of every pair. Made from the greeting; send `offer`, give the reply to `finish`.

    Raises TransferError, with `step` in its message, for a greeting that is none.
    """

    def __init__(self, greeting: bytes, group: ModpGroup, threads: int, step: str, count: int = COUNT) -> None:
        self._layout = layout = BaseLayout(group, count)
        self._greeting = greeting
        nonce, public, masked_keys = layout.split(GREETING, greeting, step)
        group.check_elements(public, step)
        secrets, ciphertexts = encapsulate_pairs(masked_keys, nonce, step)
        self._shift = _native.rand.random_bytes(WIDTH // 8)
        self._hidden = GroupReceiver(group, public, _bits(self._shift), threads)
        self._sender = GroupSender(group, threads)
        self._keys = [
            _kem_keys(greeting, ciphertexts, np.full(count, branch, np.uint8), [row.tobytes() for row in rows])
            for branch, rows in enumerate(np.swapaxes(secrets, 0, 1))
        ]
        differences = self._keys[0] ^ self._keys[1] ^ _blocks(self._shift)
        self.offer = layout.join(
            OFFER,
            _native.rand.random_bytes(NONCE_BYTES),
            self._sender.public,
            self._hidden.elements,
            ciphertexts,
            differences.tobytes(),
        )

    def finish(self, reply: bytes, step: str) -> tuple[bytes, NDArray[np.uint8]]:
        """The session's name (32 bytes) and the keys uint8[count, 2, 16] from the receiver's reply.

        Raises TransferError, with `step` in its message, for a reply that is none.
        """
        layout = self._layout
        elements, sent = layout.split(REPLY, reply, step)
        layout.group.check_elements(elements, step)
        session = _digest(self._greeting, self.offer, reply)
        columns = _streams(_digest(self._greeting, self.offer), self._hidden.shared, layout.count)
        columns ^= _bits(sent).reshape(WIDTH, layout.count) * _bits(self._shift)[:, np.newaxis]
        mixed = _transposed(columns) ^ self._keys[0]
        first, second = self._sender.shared(elements)
        pairs = [_seeds(session, mixed, first), _seeds(session, mixed ^ _blocks(self._shift), second)]
        return session, np.stack(pairs, axis=1)

    def __repr__(self) -> str:
        return f"BaseSender({self._layout.count} transfers)"


def _bits(data: bytes) -> Bits:
    return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")


def _blocks(data: bytes) -> Blocks:
    return np.frombuffer(data, np.uint8).reshape(-1, SEED_BYTES)


def _transposed(columns: Bits) -> Blocks:
    """Rows of 16 bytes from 128 columns of bits."""
    return np.packbits(columns.T, axis=1, bitorder="little")


def _digest(*messages: bytes) -> bytes:
    made = hashlib.sha256(_SESSION_LABEL)
    for message in messages:
        made.update(len(message).to_bytes(8, "little") + message)
    return made.digest()


def _streams(before: bytes, shared: list[bytes], count: int) -> Bits:
    """Streams of `count` bits, one from each element of the transfers in the other direction."""
    made = b"".join(
        hashlib.shake_256(_STREAM_LABEL + before + j.to_bytes(8, "little") + element).digest(count // 8)
        for j, element in enumerate(shared)
    )
    return _bits(made).reshape(len(shared), count)


def _kem_keys(greeting: bytes, ciphertexts: bytes, branches: Bits, secrets: list[bytes]) -> Blocks:
    """A key of 16 bytes from each secret of ML-KEM, bound to what was sent of it."""
    sent = _digest(greeting, ciphertexts)
    return _derived(sent, _KEM_LABEL, [bytes([b]) + secret for b, secret in zip(branches, secrets, strict=True)])


def _seeds(session: bytes, mixed: Blocks, shared: list[bytes]) -> NDArray[np.uint8]:
    """The keys of the transfers, from both of their secrets."""
    return _derived(session, _SEED_LABEL, [row.tobytes() + element for row, element in zip(mixed, shared, strict=True)])


def _derived(salt: bytes, label: bytes, secrets: list[bytes]) -> Blocks:
    made = [
        HKDF(hashes.SHA256(), SEED_BYTES, salt, label + i.to_bytes(8, "little")).derive(secret)
        for i, secret in enumerate(secrets)
    ]
    return _blocks(b"".join(made))
