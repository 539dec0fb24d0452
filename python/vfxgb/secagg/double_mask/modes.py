"""What `masks` and `bcp` have to provide: how a user masks a vector, and how the server adds and opens."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.secagg.double_mask.shares import PairKeys
from vfxgb.transport.messages import Bulk


class UserMasking(Protocol):
    """A user's side."""

    def read_server_key(self, server_key: Bulk) -> None:
        """Take and check what the server said at set-up. Raises MessageError."""

    def opening(self, seed: bytes, call: bytes) -> bytes:
        """What the server needs to take this user's own mask off. `seed`: fresh for this call."""

    def mask(self, values: NDArray[np.int64], call: bytes, seed: bytes, pairs: PairKeys) -> Bulk:
        """The vector as it travels. `call`: bytes that no other call has."""


class VectorSum(Protocol):
    """The server's running sum of one call: its memory does not grow with the users."""

    def add(self, user: int, values: Bulk) -> None:
        """Fold one user's vector in. Raises MessageError, naming the user."""

    def open(self, openings: Mapping[int, bytes], pairs: PairKeys) -> NDArray[np.int64]:
        """The sum, from the opening of every user that was added and the masks that have to be added to it.

        Raises MessageError if they do not belong to the vectors.
        """


class ServerMasking(Protocol):
    """The server's side."""

    def server_key(self) -> bytes:
        """What users are told at set-up."""

    def opening(self, seed: bytes, call: bytes) -> bytes:
        """What a user of that seed would have sent."""

    def begin(self, n_entries: int, call: bytes) -> VectorSum:
        """Begin an empty sum."""
