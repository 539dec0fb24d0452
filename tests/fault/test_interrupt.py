"""Ctrl-C ends a long native call within seconds, with exit code 130 and one line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from interrupts import interruptible

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

PATIENCE_SECONDS = 30.0

NATIVE_CALL = """
import sys
import numpy as np
from vfxgb import _native
from vfxgb.crypto import generate

key = generate("paillier", 1024, insecure=True)
c = key.encrypt([1]).take(np.zeros(200_000, dtype=np.int64))
bins = _native.gbdt.Bins(200_000, [np.array([])] * 60)
rows = _native.crypto.CipherRows(key.public_key.native, 200_000)
rows.fill(0, c._native.to_wire(2), 2)
print("ready", flush=True)
try:
    if sys.argv[1] == "encrypt":
        key.encrypt(np.arange(400_000), threads=2)
    elif sys.argv[1] == "decrypt":
        key.decrypt(c, threads=1)
    elif sys.argv[1] == "pack":
        _native.he_sums.pack_sums(c._native, 10, 1000, 2)
    elif sys.argv[1] == "sums":
        features = np.arange(60, dtype=np.int32)
        root, nodes = _native.gbdt.RowPartition(200_000), np.array([0], dtype=np.int32)
        _native.he_sums.cipher_histogram(rows, None, bins, root, nodes, None, features, False, 2)
    elif sys.argv[1] == "normals":
        _native.smm.keyed_normals(bytes(32), 0, 200_000_000, 1)
    elif sys.argv[1] == "products":
        many = np.ones((200, 300_000))
        while True:
            _native.smm.inner_products(many, many, 1)
    else:
        c.scale(key.max_plaintext, threads=2)
except KeyboardInterrupt:
    # The key must still work.
    assert key.decrypt(key.encrypt([5])) == [5]
    sys.exit(130)
"""


def interrupt(arguments: list[str], ready: str, delay: float) -> tuple[int, str]:
    """Start Python with `arguments`, wait for a line that starts with `ready` and `delay` seconds, send SIGINT.

    Returns exit code and stderr.
    """
    environment = {name: value for name, value in os.environ.items() if name != "VFXGB_DATA"}
    process = subprocess.Popen(
        interruptible(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        assert any(line.startswith(ready) for line in process.stdout), f"it never was ready: {process.communicate()[1]}"
        time.sleep(delay)
        assert process.poll() is None, f"it ended before it could be interrupted: {process.communicate()[1]}"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.communicate()
    return process.returncode, stderr


@pytest.mark.parametrize("operation", ["encrypt", "decrypt", "scale", "sums", "pack", "normals", "products"])
def test_native_call(operation: str) -> None:
    code, stderr = interrupt(["-c", NATIVE_CALL, operation], "ready", 0.7)
    assert code == 130, stderr
    assert "Traceback" not in stderr


def test_demo_leaves_nothing_running(tmp_path: Path) -> None:
    code, stderr = interrupt(["-u", "-m", "vfxgb", "demo", "--out", str(tmp_path / "demo")], "parties", 1.0)
    assert code == 130
    assert stderr.splitlines()[-1].startswith("vfxgb: interrupted")
    assert "Traceback" not in stderr
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(one.info["cmdline"] or ())]
