"""What distinguishes the protocols: how pairs become plaintexts. Both parties derive the same slot plan from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vfxgb.codec.code import PairCode
from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import SlotPlan, plan_slots
from vfxgb.crypto import PublicKey
from vfxgb.numeric.fixed_point import fraction_bits
from vfxgb.protocols.he.params import HeParams


@dataclass(frozen=True)
class HeLayout:
    """`together`: pairs share a ciphertext as far as they fit; otherwise every g and every h has its own.

    `code`: the code that the parameters (of the protocol's own class) ask for, given the number of training rows and
    `hessian_shift` (RunFacts).
    `most_pairs`: how many pairs may share a ciphertext by these parameters, None for as many as fit.
    """

    together: bool
    code: Callable[[Any, int, int], PairCode]
    most_pairs: Callable[[Any], int | None] = lambda _: None

    def row_bytes(self, params: HeParams, n_outputs: int) -> int:
        """About what a passive party keeps per row, sums of joint buckets included: for the size of a shard."""
        paillier = params.scheme == "paillier"
        element = params.key_bits // (4 if paillier else 8) + 16
        # A pair takes about 108 bits of a plaintext, which has as many as the key, or a third of it.
        pairs = max(1, params.key_bits // (1 if paillier else 3) // 108)
        lanes = -(-n_outputs // pairs) if self.together else 2 * n_outputs
        return lanes * element * 3 // 2

    def plan(self, code: PairCode, params: HeParams, n_outputs: int, key: PublicKey) -> SlotPlan:
        """The slots for a key. Raises CapacityError."""
        return self.plan_within(code, params, n_outputs, key.max_plaintext.bit_length())

    def plan_within(self, code: PairCode, params: HeParams, n_outputs: int, capacity: int) -> SlotPlan:
        """The slots for plaintexts of so many bits. Raises CapacityError."""
        return plan_slots(code.widths, n_outputs, capacity, self.together, params.pack_sums, self.most_pairs(params))


def exact_code(params: HeParams, n_train: int, hessian_shift: int) -> ExactCode:
    """The code of every exact run."""
    return ExactCode(n_train, fraction_bits(n_train, params.precision_bits), hessian_shift)
