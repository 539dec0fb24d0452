"""Winners that stay shared, so that a tournament goes on with another passive party and nothing is opened in between.

The active party A and passive party 1 have played, with opens=False, and hold shares of values and codes. Party 1 makes
of its share two parts, rho and the rest (`split`), and sends rho to A, which adds it to its own share (`joined`), and
the rest to party 2. Both parts are uniform. Then A and party 2 hold the winners, and enter them as `earlier` in their
tournament. In the end the code of a winner of party 1's is shared between A and the last passive party; both send their
share of it to party 1 alone (`Argmax.forwarded`), which adds them up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import CapacityError, TransferError
from vfxgb.ot.wire import Bytes
from vfxgb.two_party.plan import CARRIED_GUARD_BITS, ArgmaxPlan, carried_bits

_WORD_BYTES = 8


@dataclass(frozen=True, repr=False)
class WinnerShares:
    """One party's shares: values modulo 2^carried_bits(value_bits), codes of code_bits by xor, uint64[nodes] each."""

    value_bits: int
    code_bits: int
    values: NDArray[np.uint64]
    codes: NDArray[np.uint64]

    @property
    def _mask(self) -> np.uint64:
        return np.uint64((1 << carried_bits(self.value_bits)) - 1)

    @property
    def _code_mask(self) -> np.uint64:
        return np.uint64((1 << self.code_bits) - 1)

    def split(self) -> tuple["WinnerShares", "WinnerShares"]:
        """(rho for the active party, the rest for the next passive one): uniform each, this party's share together."""
        nodes = len(self.values)
        drawn = np.frombuffer(_native.rand.random_bytes(2 * nodes * _WORD_BYTES), dtype=np.uint64)
        rho, flips = drawn[:nodes] & self._mask, drawn[nodes:] & self._code_mask
        rest = (self.values - rho) & self._mask
        return (
            WinnerShares(self.value_bits, self.code_bits, rho, flips),
            WinnerShares(self.value_bits, self.code_bits, rest, self.codes ^ flips),
        )

    def joined(self, part: "WinnerShares") -> "WinnerShares":
        """This share and a part of the other one. CapacityError for a part of other numbers."""
        if (part.value_bits, part.code_bits, len(part.values)) != (self.value_bits, self.code_bits, len(self.values)):
            raise CapacityError(f"joining shares of winners: found {part}, wanted one like {self}")
        values = (self.values + part.values) & self._mask
        return WinnerShares(self.value_bits, self.code_bits, values, self.codes ^ part.codes)

    def to_bytes(self) -> bytes:
        """Values and codes as words, 16 bytes a node."""
        return self.values.astype("<u8").tobytes() + self.codes.astype("<u8").tobytes()

    @classmethod
    def from_bytes(cls, data: Bytes, value_bits: int, code_bits: int, nodes: int, peer: str) -> "WinnerShares":
        """Shares that `peer` sent. TransferError for bytes that are not those of so many nodes and bits."""
        step = f"shares of winners from {peer}"
        if len(data) != 2 * nodes * _WORD_BYTES:
            raise TransferError(f"{step}: found {len(data)} bytes, wanted {2 * nodes * _WORD_BYTES} for {nodes} nodes")
        words = np.frombuffer(data, dtype="<u8").astype(np.uint64)
        out = cls(value_bits, code_bits, words[:nodes], words[nodes:])
        if (out.values & ~out._mask).any() or (out.codes & ~out._code_mask).any():
            raise TransferError(
                f"{step}: found numbers beyond {carried_bits(value_bits)} or codes beyond {code_bits} bits; "
                "both parties must use one ring"
            )
        return out

    def __repr__(self) -> str:
        return f"WinnerShares({len(self.values)} nodes, value_bits={self.value_bits}, code_bits={self.code_bits})"


def code_fields(codes: NDArray[np.uint64], widths: Sequence[int]) -> list[NDArray[np.uint64]]:
    """Shares of codes cut into fields of so many bits, the lowest first: the party that won last comes first."""
    out = []
    for width in widths:
        out.append(codes & np.uint64((1 << width) - 1))
        codes = codes >> np.uint64(width)
    return out


def entrants(
    plan: ArgmaxPlan, own: NDArray[np.int64] | None, earlier: WinnerShares | None, step: str
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(values, codes) uint64[nodes, extras] of what enters besides the candidates: own ones, then earlier winners.

    own: int64[nodes] of the active party, None at the passive one, whose share of it is 0. CapacityError for others
    than planned.
    """
    values = np.zeros((plan.nodes, plan.extras), dtype=np.uint64)
    codes = np.zeros((plan.nodes, plan.extras), dtype=np.uint64)
    if (earlier is not None) != (plan.earlier_bits > 0):
        raise CapacityError(
            f"{step}: found {'no ' if earlier is None else ''}earlier winners, wanted earlier_bits={plan.earlier_bits} "
            "as planned"
        )
    if earlier is not None:
        wanted = plan.value_bits, plan.earlier_bits, plan.nodes
        if (earlier.value_bits, earlier.code_bits, len(earlier.values)) != wanted:
            raise CapacityError(
                f"{step}: found {earlier}, wanted earlier winners of {plan.nodes} nodes with value_bits="
                f"{plan.value_bits} and code_bits={plan.earlier_bits}"
            )
        values[:, -1] = earlier.values
        codes[:, -1] = earlier.codes << np.uint64(int(plan.own))
    if own is not None:
        if own.shape != (plan.nodes,):
            raise CapacityError(f"{step}: found {list(own.shape)} values of one's own, wanted [{plan.nodes}]")
        largest = max(abs(int(own.min())), abs(int(own.max())))
        if largest >= 1 << plan.value_bits:
            raise CapacityError(
                f"{step}: found a value of one's own of {largest}, wanted one below 2^{plan.value_bits}; scale the "
                "numbers"
            )
        values[:, 0] = np.abs(own).astype(np.uint64) << np.uint64(CARRIED_GUARD_BITS)
        codes[:, 0] = 1
    return values, codes
