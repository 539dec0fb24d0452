"""After fork, parent and child must not share randomness, with or without a running pool."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# A process of its own: forking one that has run threads is what Python 3.12 warns about, and what is tested here.
SCRIPT = """
import json, os, sys
from vfxgb import _native
from vfxgb.crypto import generate

mode = sys.argv[1]
key = generate("paillier", 512, insecure=True)
encryptor = key.public_key if "public" in mode else key
_native.rand.random_bytes(32)
encryptor.encrypt([1] * 4, threads=2)
if "pool" in mode:
    import time
    encryptor.start_pool(64, threads=2)
    while encryptor.pool_level < 64:
        time.sleep(0.002)

def work():
    c = encryptor.encrypt([1] * 32, threads=2)
    assert key.decrypt(c, threads=2) == [1] * 32
    return {"bytes": [_native.rand.random_bytes(16).hex() for _ in range(8)], "numbers": [str(n) for n in c.tolist()]}

read, write = os.pipe()
child = os.fork()
if child == 0:
    with os.fdopen(write, "w") as pipe:
        json.dump(work(), pipe)
        pipe.flush()
    os._exit(0)
os.close(write)
mine = work()
with os.fdopen(read) as pipe:
    theirs = json.load(pipe)
_, status = os.waitpid(child, 0)
print(json.dumps({"parent": mine, "child": theirs, "status": status}))
"""


@pytest.mark.parametrize("mode", ["owner", "public", "owner pool", "public pool"])
def test_parent_and_child_differ(mode: str) -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT, mode], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["status"] == 0
    for kind in ("bytes", "numbers"):
        together = found["parent"][kind] + found["child"][kind]
        assert len(set(together)) == len(together)
