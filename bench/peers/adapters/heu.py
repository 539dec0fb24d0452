"""HEU, the encryption of SecretFlow, through heu.numpy: whole arrays, its own bucket sums."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from peers.adapter import DECRYPT, ENCRYPT, HISTOGRAM, OU, PAILLIER, SCALE, SUM, Operation, Peer
from peers.inputs import Inputs

# Its fastest Paillier, and its default; sums are an array of one column.
SCHEMES = {PAILLIER: "ZPaillier", OU: "OU"}


def _operations(scheme: str, inputs: Inputs) -> Mapping[str, Operation]:
    from heu import numpy as hnp
    from heu import phe

    kit = hnp.setup(getattr(phe.SchemaType, SCHEMES[scheme]), inputs.bits)
    encryptor, decryptor, evaluator = kit.encryptor(), kit.decryptor(), kit.evaluator()
    integers, encoder = phe.BigintEncoderParams(), kit.bigint_encoder()
    values, factors = kit.array(inputs.values, integers), kit.array(inputs.factors, integers)
    sample = encryptor.encrypt(values)
    few = sample[list(range(inputs.sizes.few))]
    rows = sample[inputs.tile.tolist()]
    everybody = np.ones((1, inputs.sizes.rows), dtype=np.int8)
    buckets = np.ascontiguousarray(inputs.buckets)
    bins = inputs.sizes.bins

    def plain(array: object) -> list[int]:
        return [int(value) for value in array.to_numpy(encoder).ravel()]  # type: ignore[attr-defined]

    def read(array: object) -> list[int]:
        return plain(decryptor.decrypt(array))

    return {
        ENCRYPT: Operation(lambda: encryptor.encrypt(values), read),
        SUM: Operation(lambda: evaluator.sum(rows), lambda total: [int(decryptor.phe.decrypt(total))]),
        HISTOGRAM: Operation(lambda: evaluator.feature_wise_bucket_sum(rows, everybody, buckets, bins, False), read),
        SCALE: Operation(lambda: evaluator.mul(sample, factors), read),
        DECRYPT: Operation(lambda: decryptor.decrypt(few), plain),
    }


PEER = Peer(
    title="HEU",
    distribution="sf-heu",
    module="heu",
    install="pip install sf-heu==0.5.2b0",
    notes=(
        "schemes ZPaillier and OU of heu.numpy, whole arrays",
        "encrypts with the public key alone",
        "by its source OU's random exponents have 110 bits with keys of 2048, 128 with 3072; vfxgb's short ones 320",
    ),
    operations={scheme: partial(_operations, scheme) for scheme in SCHEMES},
)
