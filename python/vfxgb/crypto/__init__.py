"""Additively homomorphic encryption in batches: Paillier and Okamoto-Uchiyama behind one interface.

    key = generate("paillier", bits=3072)
    c = key.public_key.encrypt([3, -5, 7])
    key.decrypt(c.sum()) == [5]

Formulas, parameters, assumptions and caveats: README.md in this folder.
"""

from vfxgb.crypto.ciphertexts import CiphertextArray
from vfxgb.crypto.keys import PrivateKey, PublicKey, generate
from vfxgb.crypto.schemes import scheme_names
from vfxgb.crypto.selftest import self_test

__all__ = ["CiphertextArray", "PrivateKey", "PublicKey", "generate", "scheme_names", "self_test"]
