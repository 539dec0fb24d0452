"""Ctrl-C ends a long native call, and a command with all its processes: exit code 130 and one line."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from interrupts import interruptible
from processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

PATIENCE_SECONDS = 120.0

# The call is repeated until it is interrupted, so that the signal always meets it.
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
features = np.arange(60, dtype=np.int32)
root, nodes = _native.gbdt.RowPartition(200_000), np.array([0], dtype=np.int32)
many = np.ones((200, 300_000))
calls = {
    "encrypt": lambda: key.encrypt(np.arange(400_000), threads=2),
    "decrypt": lambda: key.decrypt(c, threads=1),
    "scale": lambda: c.scale(key.max_plaintext, threads=2),
    "sums": lambda: _native.he_sums.cipher_histogram(rows, None, bins, root, nodes, None, features, False, 2),
    "pack": lambda: _native.he_sums.pack_sums(c._native, 10, 1000, 2),
    "normals": lambda: _native.smm.keyed_normals(bytes(32), 0, 200_000_000, 1),
    "products": lambda: _native.smm.inner_products(many, many, 1),
}
call = calls[sys.argv[1]]
try:
    print("ready", flush=True)
    while True:
        call()
except KeyboardInterrupt:
    # The key must still work.
    assert key.decrypt(key.encrypt([5])) == [5]
    sys.exit(130)
"""


def started(output: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Python with `arguments` in a process group of its own; what it and its children say goes to `output`."""
    environment = {name: value for name, value in os.environ.items() if name != "VFXGB_DATA"}
    with output.open("wb") as file:
        return subprocess.Popen(
            interruptible(*arguments), stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )


def interrupted(process: "subprocess.Popen[bytes]", output: Path, ready: str, delay: float = 0.0) -> tuple[int, str]:
    """Press ctrl-C, which reaches the whole group, `delay` seconds after `ready` was said; exit code and output."""
    try:
        wait_until(lambda: re.search(ready, output.read_text()) or process.poll() is not None)
        time.sleep(delay)
        assert process.poll() is None, f"it ended before it could be interrupted: {output.read_text()}"
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(PATIENCE_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
    return code, output.read_text()


@pytest.mark.parametrize("operation", ["encrypt", "decrypt", "scale", "sums", "pack", "normals", "products"])
def test_native_call(operation: str, tmp_path: Path) -> None:
    """Half a second later the call is under way; before that the interrupt is seen, too."""
    output = tmp_path / "out"
    code, said = interrupted(started(output, "-c", NATIVE_CALL, operation), output, "ready", 0.5)
    assert code == 130, said
    assert said == "ready\n"


def test_demo_leaves_nothing_running(tmp_path: Path) -> None:
    """More trees than anybody waits for: the bank is at work when it is interrupted."""
    output = tmp_path / "out"
    demo = started(output, "-u", "-m", "vfxgb", "demo", "--trees", "100000", "--out", str(tmp_path / "demo"))
    code, said = interrupted(demo, output, r"round \d+/100000")
    assert code == 130, said
    assert said.splitlines()[-1].startswith("vfxgb: interrupted")
    assert "Traceback" not in said
    left = [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(one.info["cmdline"] or ())]
    for process in left:
        process.kill()
    assert not left
