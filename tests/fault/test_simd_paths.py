"""VFXGB_SIMD selects the kernels by name, and all of them give the same bytes."""

import json
import os
import subprocess
import sys

import pytest

from vfxgb import _native
from vfxgb.crypto import CiphertextArray, PrivateKey

PATHS = ["portable", "avx2", "ifma"]

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


def start(script: str, path: str | None, given: dict[str, object]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "VFXGB_SIMD"}
    if path is not None:
        environment["VFXGB_SIMD"] = path
    return subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


def run(path: str | None, given: dict[str, object]) -> dict[str, object]:
    done = start(SCRIPT, path, given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_paths_are_known() -> None:
    assert "portable" in _native.bigint.available_paths()
    assert set(_native.bigint.available_paths()) <= set(PATHS)
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
    available = _native.bigint.available_paths()
    results = {path: run(path, given) for path in available}
    for path, result in results.items():
        assert result["path"] == result["key path"] == path
        for field in ("bytes", "numbers", "plain"):
            assert result[field] == results["portable"][field]
        # Fresh ciphertexts of any path are read by this process.
        fresh = CiphertextArray.from_bytes(key.public_key, bytes.fromhex(str(result["fresh"])))
        assert key.decrypt(fresh) == values
    default = run(None, given)
    assert default["path"] == default["key path"] == available[-1]


@pytest.mark.parametrize("path", [*PATHS, "mmx"])
def test_paths_this_machine_lacks_are_refused(path: str) -> None:
    """By name, with the sets there are."""
    available = _native.paths.instruction_sets()
    if path in available:
        pytest.skip(f"this machine can run {path}")
    done = start("from vfxgb import _native; _native.bigint.default_path()", path, {})
    assert done.returncode != 0
    assert f"VFXGB_SIMD is '{path}'" in done.stderr
    assert f"this machine can run: {', '.join(available)}" in done.stderr
