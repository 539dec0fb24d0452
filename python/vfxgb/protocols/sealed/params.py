"""Parameters of `sealed`."""

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vfxgb.contract import EngineOptions, PrecisionBits
from vfxgb.described import documented
from vfxgb.errors import CapacityError
from vfxgb.lattice import LatticeParams, RingChoice, choose_params
from vfxgb.lattice.params import COLUMN_NORM_SQUARED
from vfxgb.ot import choose_k, measured_aes_speed
from vfxgb.ot.group import DEFAULT_BITS, AllowSmallGroups, GroupBits, ModpGroup, modp_group, refuse_small_group

# Transfers are most of what travels: where the line is not known, they are made for one of this bandwidth.
ASSUMED_MBIT = 100.0
# The fewest score_bits that TrainParams allows.
LEAST_SCORE_BITS = 12
# Bits of a sum and of its precision are compared as floating-point numbers.
_SLACK = 1e-6


@documented()
class SealedParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How columns are encrypted and compared. `coins` is the active party's own; `order_seed` and the limits are each
    passive party's.
    """

    precision_bits: PrecisionBits | None = None
    ring: Annotated[
        RingChoice,
        Meta(
            description="The ring of the encrypted columns. 'auto': of degree 2048 up to about a million rows, else of "
            "degree 4096. 'wide': of degree 4096 always, which is harder to break and takes more bytes. 'pairs': the "
            "same with two columns in each word, for up to 180,000 rows and 20 score_bits, or 19 with few rows: the "
            "active party keeps half as many bytes, and with 1,000 columns or more the set-up takes fewer, too."
        ),
    ] = "auto"
    transfer_bits: Annotated[
        Annotated[int, Meta(ge=1, le=8)] | None,
        Meta(
            description="The number k of the oblivious transfers: each takes 128 / k bits, and 2^k / k times the AES "
            "of k = 1. None takes what suits the active party's processor and the line, or one of 100 Mbit where "
            "that is not known."
        ),
    ] = None
    flight_bytes: Annotated[
        Annotated[int, Meta(ge=0, le=1 << 32)] | None,
        Meta(
            description="How many bytes more the comparisons of a level may take to save one message that the other "
            "party waits for. None takes what the line carries in that time if it is known, else 16,384."
        ),
    ] = None
    group_bits: GroupBits = DEFAULT_BITS
    insecure: AllowSmallGroups = False
    coins: Annotated[
        Literal["secret", "random_state"],
        Meta(
            description="Where the active party's coins and roundings come from. 'secret': from a seed that is drawn "
            "for the run. 'random_state': from that, so that a run can be repeated, for tests; a passive party that "
            "knows it can learn from ties on which side of a split the positive rows are."
        ),
    ] = "secret"
    order_seed: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="The seed of the order in which a passive party's candidates are compared and encrypted, which "
            "the active party must not know. None draws one for the run; a number is for tests."
        ),
    ] = None
    setup_dir: Annotated[
        str | None,
        Meta(
            description="An existing folder where this party keeps its part of the set-up, so that a later run over "
            "the same rows and bins need not repeat it; a passive party that is no process keeps there what was won."
        ),
    ] = None
    max_runs: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="The most runs in which a passive party tells rows, if it counts them. Without it, any number."
        ),
    ] = None
    max_wins: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="The most splits of a passive party whose rows the active party may learn, also of those that "
            "it then refuses. Those that win after them are withheld. Without it, any number."
        ),
    ] = None
    max_won_columns: Annotated[
        Annotated[float, Meta(gt=0, le=1)],
        Meta(
            description="The share of a passive party's candidate splits that it may tell the rows of. Others that win "
            "when so many were told are withheld: the active party's own best split or a leaf takes their place. "
            "Limits count all runs where a party process or `setup_dir` keeps a record, else a run. 1 sets no limit."
        ),
    ] = 1.0

    @property
    def group(self) -> ModpGroup:
        """The group of the base transfers."""
        return modp_group(self.group_bits, self.insecure)

    def __post_init__(self) -> None:
        refuse_small_group(self.group_bits, self.insecure)


def transfer_bits_of(params: SealedParams, mbit: float | None) -> int:
    """The k of the transfers: the user's, or what suits the processor and the line."""
    return params.transfer_bits or choose_k(measured_aes_speed(), ASSUMED_MBIT if mbit is None else mbit)


def sealed_options(params: SealedParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits)


def default_score_bits(params: SealedParams, n_train: int) -> int:
    """The bits of a score where nobody says: those of the ring's default for so many rows. Raises CapacityError."""
    return max(LEAST_SCORE_BITS, choose_params(n_train, None, params.ring).value_bits)


def precision_of(score_bits: int, n_train: int) -> float:
    """The precision_bits of vfxgb.lattice for which its sums have `score_bits` bits."""
    return score_bits - math.log2(math.sqrt(COLUMN_NORM_SQUARED) * n_train) - _SLACK


def lattice_of(params: SealedParams, score_bits: int, n_train: int) -> LatticeParams:
    """The ring and widths of a run. Raises CapacityError."""
    return choose_params(n_train, precision_of(score_bits, n_train), params.ring)


def check_score_bits(params: SealedParams, score_bits: int, n_train: int) -> None:
    """Raise CapacityError, with the most score_bits that fit, for scores that noise could reach."""
    try:
        lattice_of(params, score_bits, n_train)
    except CapacityError as error:
        fits = [bits for bits in range(LEAST_SCORE_BITS, score_bits) if _fits(params, bits, n_train)]
        most = f"at most {fits[-1]}" if fits else "another ring or fewer rows: no number of bits fits"
        raise CapacityError(
            f"setting up sealed: found score_bits={score_bits} with ring={params.ring!r} and {n_train:,} training "
            f"rows, wanted {most}; {error}"
        ) from None


def _fits(params: SealedParams, score_bits: int, n_train: int) -> bool:
    try:
        lattice_of(params, score_bits, n_train)
    except CapacityError:
        return False
    return True
