"""The passive party of lattice sums: it encrypts its columns once and takes its shares of every node's sums."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.lattice.columns import ColumnSource, check_columns
from vfxgb.lattice.elements import (
    SEED_BYTES,
    ZERO_BLOCK,
    agreed_bytes,
    check_opening,
    draw_seed,
    public_element,
    setup_name,
)
from vfxgb.lattice.messages import LatticeBlock, LatticeNodes, LatticeOffer, LatticeOpen, LatticeSeed, LatticeZeros
from vfxgb.lattice.params import LatticeParams, RingChoice, choose_params
from vfxgb.lattice.store import OwnerHead, SetupFolder
from vfxgb.threads import resolve_threads
from vfxgb.transport.messages import pack_bytes

# A message of columns has at most so many bytes.
BLOCK_BYTES = 1 << 26
MAX_NODES = 1 << 20
_KEY_LABEL = b"vfxgb lattice columns key 1"


class ColumnOwner:
    """One set-up with the active party `peer`, and its levels.

    `setup_dir`: a folder where the secret is kept, so that a later run can use the same set-up; `own`: this party's
    name, for the file. Call offer, accept (unless the set-up was kept), then send `zeros` and `blocks`, then `shares`.
    """

    def __init__(
        self,
        peer: str,
        columns: ColumnSource,
        setup_dir: str | Path | None = None,
        own: str = "passive",
        threads: int | None = None,
    ) -> None:
        self._step = f"lattice set-up with {peer}"
        check_columns(columns, self._step)
        self._columns = columns
        self._weights = np.ascontiguousarray(columns.weights, dtype=np.int32)
        self._folder = None if setup_dir is None else SetupFolder(setup_dir, own, peer)
        self._threads = resolve_threads(threads)
        self._opening: LatticeOpen | None = None
        self._seed = b""
        self._params: LatticeParams | None = None
        self._name = b""
        self._native: _native.lattice.SecretColumns | None = None
        self._first = 0
        self._level = 0

    @property
    def params(self) -> LatticeParams:
        """What was agreed. Raises LatticeError before `offer`."""
        if self._params is None:
            raise LatticeError(f"{self._step}: there is no opening yet; take the active party's first")
        return self._params

    @property
    def name(self) -> bytes:
        """The set-up's name, empty until both seeds are there."""
        return self._name

    def offer(self, opening: LatticeOpen) -> LatticeOffer:
        """Answer the opening. Raises LatticeError for other rows than ours, and CapacityError as choose_params does."""
        if self._opening is not None:
            raise LatticeError(f"{self._step}: found a second opening, wanted one for each set-up")
        if opening.rows != self._columns.rows:
            raise LatticeError(
                f"{self._step}: the active party has {opening.rows} rows, wanted our {self._columns.rows}; align them"
            )
        if opening.ring not in get_args(RingChoice):
            raise LatticeError(f"{self._step}: found ring {opening.ring!r}, wanted one of {get_args(RingChoice)}")
        if len(opening.commitment) != SEED_BYTES:
            raise LatticeError(f"{self._step}: found a commitment of {len(opening.commitment)} bytes, wanted 32")
        self._params = choose_params(opening.rows, opening.precision_bits, cast(RingChoice, opening.ring))
        self._opening = opening
        kept = self._kept(opening)
        if kept is not None:
            self._begin(kept)
            self._first = opening.rows_kept
            return LatticeOffer(len(self._weights), b"", True)
        self._seed = draw_seed()
        return LatticeOffer(len(self._weights), self._seed, False)

    def _kept(self, opening: LatticeOpen) -> OwnerHead | None:
        """Our part of the set-up that the active party has kept, if it is for these columns."""
        if self._folder is None or not opening.stored or not 0 <= opening.rows_kept <= opening.rows:
            return None
        head = self._folder.head(OwnerHead)
        if head is None or head.name != opening.stored or head.agreed != self._agreed():
            return None
        return head if head.columns == self._columns.digest() else None

    def _agreed(self) -> bytes:
        return agreed_bytes(self.params, len(self._weights))

    def accept(self, seed: LatticeSeed) -> None:
        """Take the active party's seed: the set-up has its name and its secrets now.

        Raises LatticeError for a seed that is not the committed one, that is our own, or that was used before.
        """
        if self._opening is None or not self._seed or self._native is not None:
            raise LatticeError(f"{self._step}: found a seed, wanted none at this point")
        check_opening(self._opening.commitment, seed.seed, seed.opening, self._step)
        if seed.seed == self._seed:
            raise LatticeError(
                f"{self._step}: found our own seed, wanted another; the other party sends back what it gets"
            )
        name = setup_name(self.params, len(self._weights), seed.seed, self._seed)
        head = OwnerHead(name, draw_seed(), self._columns.digest(), self._agreed())
        if self._folder is not None:
            self._folder.enter_seeds(seed.seed, self._seed)
            self._folder.begin(head)
        self._begin(head)

    def _begin(self, head: OwnerHead) -> None:
        """Secrets depend on the set-up, the columns and the parameters: none of them serves anything else."""
        ring = self.params.ring
        key = hashlib.blake2b(_KEY_LABEL + head.name + head.columns + head.agreed, key=head.secret, digest_size=32)
        self._name = head.name
        self._native = _native.lattice.SecretColumns(
            ring.degree, ring.log_q, self.params.words(len(self._weights)), key.digest(), self._threads
        )

    def _secret(self) -> _native.lattice.SecretColumns:
        if self._native is None:
            raise LatticeError(f"{self._step}: there are no secrets yet; take the active party's seed first")
        return self._native

    def zeros(self) -> LatticeZeros:
        """The encryptions of zero, the first message after the seeds; sent again where a set-up goes on."""
        ring = self.params.ring
        element = public_element(self._name, ZERO_BLOCK, ring)
        return LatticeZeros(pack_bytes(self._encrypt(ZERO_BLOCK, element, 0, ring.degree, None)))

    def blocks(self) -> Iterator[LatticeBlock]:
        """All columns, in the order of rows, from where the active party has to go on."""
        self._secret()
        params, degree = self.params, self.params.ring.degree
        most = max(8, 8 * BLOCK_BYTES // (params.words(len(self._weights)) * params.column_bits) // 8 * 8)
        element, made = np.zeros(0, dtype=np.uint64), -1
        first = self._first
        while first < params.rows:
            block = first // degree
            stop = min(params.rows, (block + 1) * degree, first + most)
            if block != made:
                element, made = public_element(self._name, block, params.ring), block
            left = self._columns.left_bits(first, stop)
            words = self._encrypt(block, element, first - block * degree, stop - first, left)
            yield LatticeBlock(first, stop - first, pack_bytes(words))
            first = stop

    def _encrypt(
        self, block: int, element: NDArray[np.uint64], first: int, rows: int, left: NDArray[np.uint8] | None
    ) -> bytes:
        if left is not None and left.shape != (len(self._weights), -(-rows // 8)):
            raise LatticeError(
                f"{self._step}: found left bits of shape {left.shape} for {rows} rows, wanted "
                f"{(len(self._weights), -(-rows // 8))}"
            )
        params, weights = self.params, self._weights
        # A word that has one column alone in place of two.
        rest = params.words(len(weights)) * params.columns_per_word - len(weights)
        if rest:
            weights = np.append(weights, np.ones(rest, dtype=np.int32))
            left = None if left is None else np.concatenate([left, np.zeros((rest, left.shape[1]), dtype=np.uint8)])
        return self._secret().encrypt(
            block, element, first, rows, left, weights, params.message_shifts, params.column_bits, self._threads
        )

    def shares(self, nodes: LatticeNodes) -> NDArray[np.uint64]:
        """y[nodes, columns]: our shares of Delta V, in words whose upper log_q bits count.

        Raises LatticeError for a level out of order and for a number of bytes that is not that of its nodes.
        """
        step = f"{self._step}: level {nodes.level}"
        if nodes.level != self._level:
            raise LatticeError(f"{step}: wanted level {self._level}; levels arrive once and in order")
        wanted = nodes.nodes * self.params.node_bytes()
        if not 0 <= nodes.nodes <= MAX_NODES or len(nodes.words) != wanted:
            raise LatticeError(
                f"{step}: found {len(nodes.words)} bytes of w for {nodes.nodes} nodes, wanted {wanted}; the parties "
                "disagree on the parameters, or the bytes are truncated"
            )
        shares = self._secret().shares(nodes.words, nodes.nodes, self.params.node_bits, self._threads)
        self._level += 1
        return self.params.spread(shares, len(self._weights))

    def __repr__(self) -> str:
        return f"ColumnOwner(columns={len(self._weights)}, rows={self._columns.rows}, level={self._level})"
