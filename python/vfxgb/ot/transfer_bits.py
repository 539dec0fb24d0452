"""How many bits a piece of Delta has: what transfers cost, and which number suits a machine and a line.

With k transfer bits a correlated transfer takes ceil(128 / k) bits on the wire and 2^k ceil(128 / k) / 128 evaluations
of AES at either party (cpp/ot/soft_spoken.h). `choose_k` takes the k for which the line and both parties, one after the
other, take the least time: an upper bound, as they work at the same time.
"""

from functools import lru_cache

from vfxgb import _native

DELTA_BITS = 128
MAX_TRANSFER_BITS = 8
# Where nothing is known: 2.75 bytes a transfer, and with VAES still less time than reading them from a gigabit line.
DEFAULT_TRANSFER_BITS = 6
# k = 1 takes the most bytes and, as its keys are many, hardly less time than 2.
LEAST_CHOSEN = 2
# A line that is not told: between an office's and a data centre's.
USUAL_MBIT = 300.0


def pieces(transfer_bits: int) -> int:
    """Pieces that Delta is cut into: bits of a transfer on the wire if the receiver names its choice."""
    return -(-DELTA_BITS // transfer_bits)


def aes_blocks(transfer_bits: int) -> float:
    """Evaluations of AES that a transfer takes at one party."""
    whole = pieces(transfer_bits) - 1
    last = DELTA_BITS - whole * transfer_bits
    return (whole * (1 << transfer_bits) + (1 << last)) / DELTA_BITS


def choose_k(aes_speed: float | None = None, mbit: float | None = None) -> int:
    """Transfer bits for `aes_speed` blocks a second and a line of `mbit` megabits a second, None for what is not known.

    Without a speed they are 6. Without a line they are 6, or fewer where AES is slow: more are for those who know that
    their line is thin.
    """
    if aes_speed is None:
        return DEFAULT_TRANSFER_BITS
    line = 1e6 * (USUAL_MBIT if mbit is None else mbit)
    most = DEFAULT_TRANSFER_BITS if mbit is None else MAX_TRANSFER_BITS
    seconds = {k: 2 * aes_blocks(k) / aes_speed + pieces(k) / line for k in range(LEAST_CHOSEN, most + 1)}
    return min(seconds, key=lambda k: seconds[k])


@lru_cache(maxsize=1)
def measured_aes_speed() -> float:
    """AES blocks a second of key streams on one thread, measured once in a process, in a few milliseconds."""
    return max(_native.ot.leaf_blocks_per_second() for _ in range(3))
