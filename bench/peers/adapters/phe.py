"""phe (python-paillier), at its raw level: no encoding of floats, plain integers, gmpy2 where phe finds it."""

from collections.abc import Mapping

from peers.adapter import DECRYPT, ENCRYPT, HISTOGRAM, PAILLIER, SCALE, SUM, Operation, Peer
from peers.inputs import Inputs

MOST = 64  # ciphertexts: it makes them one by one


def _paillier(inputs: Inputs) -> Mapping[str, Operation]:
    import phe
    from phe.util import mulmod, powmod

    public, private = phe.generate_paillier_keypair(n_length=inputs.bits)
    modulus = public.nsquare
    values, factors = inputs.values.tolist(), inputs.factors.tolist()
    sample = [public.raw_encrypt(value) for value in values]
    rows = [sample[place] for place in inputs.tile]
    buckets = inputs.buckets.T.tolist()

    def long_sum() -> list[int]:
        total = rows[0]
        for row in rows[1:]:
            total = mulmod(total, row, modulus)
        return [total]

    def histogram() -> list[int]:
        totals = []
        for places in buckets:
            sums = [1] * inputs.sizes.bins
            for row, place in zip(rows, places, strict=True):
                sums[place] = mulmod(sums[place], row, modulus)
            totals += sums
        return totals

    def decrypt(ciphertexts: list[int]) -> list[int]:
        return [private.raw_decrypt(ciphertext) for ciphertext in ciphertexts]

    return {
        ENCRYPT: Operation(lambda: [public.raw_encrypt(value) for value in values], decrypt),
        SUM: Operation(long_sum, decrypt),
        HISTOGRAM: Operation(histogram, decrypt),
        SCALE: Operation(lambda: [powmod(c, f, modulus) for c, f in zip(sample, factors, strict=True)], decrypt),
        DECRYPT: Operation(lambda: decrypt(sample[: inputs.sizes.few]), list),
    }


PEER = Peer(
    title="phe",
    distribution="phe",
    module="phe",
    install="pip install phe==1.5.0 gmpy2",
    notes=("at its raw level, without its encoding of floats",),
    most=MOST,
    operations={PAILLIER: _paillier},
)
