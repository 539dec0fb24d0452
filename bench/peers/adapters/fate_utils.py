"""fate_utils, the Rust library below FATE 2: vectors of ciphertexts, sums and histograms as FATE calls them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from peers.adapter import DECRYPT, ENCRYPT, HISTOGRAM, OU, PAILLIER, SCALE, SUM, Operation, Peer
from peers.inputs import Inputs

MOST = 64  # ciphertexts: it makes them one by one
OBFUSCATE = True  # without it a ciphertext has no randomness


def _operations(scheme: str, inputs: Inputs) -> Mapping[str, Operation]:
    import fate_utils

    library: Any = getattr(fate_utils, scheme)
    private, public, coder = library.keygen(inputs.bits)
    # Of its Okamoto-Uchiyama the plaintexts are unsigned.
    signed = scheme == PAILLIER
    encode = coder.encode_i64_vec if signed else coder.encode_u64_vec
    decode = coder.decode_i64_vec if signed else coder.decode_u64_vec
    kind = np.int64 if signed else np.uint64
    values, factors = encode(inputs.values.astype(kind)), encode(inputs.factors.astype(kind))
    sample = public.encrypt_encoded(values, OBFUSCATE)
    few = sample.slice_indexes(list(range(inputs.sizes.few)))
    rows = sample.slice_indexes(inputs.tile.tolist())
    sizes = inputs.sizes
    # Where each feature of a row is added: the position of its bin among the bins of all features.
    positions = (inputs.buckets.astype(np.int64) + sizes.bins * np.arange(sizes.features)).tolist()

    def histogram() -> Any:
        sums = library.CiphertextVector.zeros(sizes.features * sizes.bins)
        sums.iupdate(rows, positions, 1, public)
        return sums

    def plain(encoded: Any) -> list[int]:
        return [int(value) for value in decode(encoded)]

    def read(vector: Any) -> list[int]:
        return plain(private.decrypt_to_encoded(vector))

    return {
        ENCRYPT: Operation(lambda: public.encrypt_encoded(values, OBFUSCATE), read),
        SUM: Operation(lambda: rows.intervals_sum_with_step(public, [(0, sizes.rows)], 1), read),
        HISTOGRAM: Operation(histogram, read),
        SCALE: Operation(lambda: sample.mul(public, factors), read),
        DECRYPT: Operation(lambda: private.decrypt_to_encoded(few), plain),
    }


PEER = Peer(
    title="fate_utils",
    distribution="fate_utils",
    module="fate_utils",
    install="pip install fate_utils==0.1.0",
    notes=("the library below FATE 2, with fresh randomness in every ciphertext (obfuscate=True)",),
    most=MOST,
    operations={scheme: partial(_operations, scheme) for scheme in (PAILLIER, OU)},
)
