"""What one operation of encrypted training costs, measured with the machinery of `bench ops`.

The names are those under which a run counts its operations, so that

    floor = sum over names of count x cost / threads

is what the arithmetic of a run takes when nothing else does anything. Costs are those of one thread. Encryption is the
owner's and rerandomisation the public key's, each with its randomness, wherever and whenever a pool may have made it.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from vfxgb import _native
from vfxgb.bench.ops.measure import Operation
from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import Lane, plan_slots
from vfxgb.crypto import PrivateKey
from vfxgb.numeric.fixed_point import fraction_bits

# Operations a batch of `count` ciphertexts is cut down by where one takes long.
SLOW_SHARE = 10


def lane_for(key: PrivateKey, rows: int) -> Lane:
    """The slots of one exact pair summed over `rows` rows: what `batch_he` uses for one output."""
    widths = ExactCode(rows, fraction_bits(rows)).widths
    return plan_slots(widths, 1, key.max_plaintext.bit_length(), together=True).lanes[0]


def operations(key: PrivateKey, rows: int, count: int) -> list[Operation]:
    """One Operation per counted name, on batches of about `count` ciphertexts; pairs as in a table of `rows` rows."""
    lane = lane_for(key, rows)
    rng = np.random.default_rng(2)
    most = 1 << fraction_bits(rows)
    pairs = np.stack([rng.integers(-most, most, count), rng.integers(0, most, count)], axis=1)
    width = lane.plaintext_bytes
    plaintexts = lane.encode([pairs], slice(None))
    private, public = key.native, key.public_key.native
    sample = private.encrypt(plaintexts, width)
    few = public.from_wire(sample.to_wire()[: max(2, count // SLOW_SHARE) * public.wire_bytes])
    shifted = count - lane.returned(count)
    timed = [
        Operation(key.scheme, "encryptions", count, lambda t: private.encrypt(plaintexts, width, t)),
        Operation(key.scheme, "additions", count, lambda t: sample.sum(None, t)),
        Operation(
            key.scheme,
            "rerandomisations",
            len(few),
            few.rerandomize,
            prepare=key.public_key.rerandomizer.make_table,
        ),
        Operation(key.scheme, "decryptions", len(few), lambda t: private.decrypt(few, t)),
    ]
    if shifted:
        shift = partial(_native.he_sums.pack_sums, sample, lane.sums, lane.width)
        timed.append(Operation(key.scheme, "packing", shifted, shift))
    return timed


def floor_seconds(counts: Mapping[str, float], costs: Mapping[str, float], threads: int) -> float:
    """Seconds that the counted operations take on `threads` cores, at `costs` seconds each."""
    return sum(counts.get(name, 0.0) * cost for name, cost in costs.items()) / threads
