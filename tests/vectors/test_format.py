"""Bytes written once and kept: a change of the format must show here and raise its version."""

import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.wire import dump_private, dump_public, load_private, load_public

PAILLIER = PublicParameters("paillier", 143, (139,), 4, 7)
OKAMOTO_UCHIYAMA = PublicParameters("ou", 1573, (1456, 3), 8, 2)
SECRET = PrivateParameters(PAILLIER, 11, 13, 10, 12)

GOLDEN_PAILLIER = "9376667867620d0a010001010e000000000000000400000007000000010000008f8b8ddad332632cf49002573d469d70a0d9"
GOLDEN_OU = (
    "9376667867620d0a0100010212000000000000000800000002000000020000002506b0050300068c64e070c9d5941cdcfa80fb849e68"
)
GOLDEN_SECRET = (
    "9376667867620d0a010002011600000000000000040000000700000001000000"
    "8f8b010000000b0d0a0cf24fdcead169d23a3ceca4468ae6da61"
)


@pytest.mark.parametrize(("public", "golden"), [(PAILLIER, GOLDEN_PAILLIER), (OKAMOTO_UCHIYAMA, GOLDEN_OU)])
def test_public_key_bytes(public: PublicParameters, golden: str) -> None:
    assert dump_public(public).hex() == golden
    assert load_public(bytes.fromhex(golden)) == public


def test_private_key_bytes() -> None:
    assert dump_private(SECRET).hex() == GOLDEN_SECRET
    assert load_private(bytes.fromhex(GOLDEN_SECRET)) == SECRET


def test_keys_from_kept_bytes_work() -> None:
    public = PublicKey.from_bytes(bytes.fromhex(GOLDEN_PAILLIER), insecure=True)
    private = PrivateKey.from_bytes(bytes.fromhex(GOLDEN_SECRET), insecure=True)
    assert public == private.public_key
    assert public.fingerprint == "d9663869040bee010c82d48ce6f3c119f72a07677af11fbb345b97e5bd006b4f"
    moved = CiphertextArray.from_bytes(private.public_key, public.encrypt([42, -71]).to_bytes())
    assert private.decrypt(moved) == [42, -71]
