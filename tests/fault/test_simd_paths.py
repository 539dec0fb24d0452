"""VFXGB_SIMD=portable selects the portable kernels, and they give the same bytes."""

import json
import os
import subprocess
import sys

import pytest

from vfxgb import _native
from vfxgb.crypto import CiphertextArray, PrivateKey

SCRIPT = """
import json, sys
from vfxgb import _native
from vfxgb.crypto import CiphertextArray, PrivateKey

given = json.load(sys.stdin)
key = PrivateKey.from_bytes(bytes.fromhex(given["key"]), insecure=True)
a = CiphertextArray.from_bytes(key.public_key, bytes.fromhex(given["a"]))
results = [a + a, a.sum(), a.sum([0, 2, 2]), a.scale(given["factors"]), a.add_plain(given["values"]), a.take([3, 1])]
print(json.dumps({
    "path": _native.bigint.default_path(),
    "key path": key.public_key.native.path,
    "bytes": [result.to_bytes().hex() for result in results],
    "numbers": [[str(number) for number in result.tolist()] for result in results],
    "plain": [[str(value) for value in key.decrypt(result)] for result in results],
    "fresh": key.encrypt(given["values"]).to_bytes().hex(),
}))
"""


def run(path: str | None, given: dict[str, object]) -> dict[str, object]:
    environment = {name: value for name, value in os.environ.items() if name != "VFXGB_SIMD"}
    if path is not None:
        environment["VFXGB_SIMD"] = path
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_paths_are_known() -> None:
    assert "portable" in _native.bigint.available_paths()
    assert set(_native.bigint.available_paths()) <= {"avx2", "portable"}
    assert _native.bigint.default_path() in _native.bigint.available_paths()


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
def test_same_bytes(make_key, scheme: str) -> None:
    key: PrivateKey = make_key(scheme, 1024)
    values = [1, -2, 3, 2**60]
    given = {
        "key": key.to_bytes().hex(),
        "a": key.encrypt(values).to_bytes().hex(),
        "factors": [3, -1, 0, 12345],
        "values": values,
    }
    portable, default = run("portable", given), run(None, given)
    assert portable["path"] == portable["key path"] == "portable"
    assert default["path"] == default["key path"]
    for field in ("bytes", "numbers", "plain"):
        assert portable[field] == default[field]
    # Fresh ciphertexts of either path are read by this process.
    for result in (portable, default):
        fresh = CiphertextArray.from_bytes(key.public_key, bytes.fromhex(str(result["fresh"])))
        assert key.decrypt(fresh) == values
