"""The processes of the demo: a shop that serves until it is told to stop, and the bank's commands."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vfxgb.demo.data import BINS
from vfxgb.errors import PeerError

START_SECONDS = 30.0
STOP_SECONDS = 15.0
POLL_SECONDS = 0.05

TLS = """\
party = "{party}"
role = "{role}"
folder = "{party}-folder"
{more}
[tls]
certificate = "certs/{party}.pem"
key = "certs/{party}.key"

[peers.{peer}]
certificate = "certs/{peer}.pem"
"""
BANK = """\
address = "{address}"

[data]
train = "bank.csv"
label = "label"
normalise = ["strip"]

[train]
objective = "binary:logistic"
n_estimators = {trees}
max_depth = 3
max_bin = {bins}
learning_rate = 0.3
eval_metric = "auc"

[protocol]
name = "{protocol}"
"""
SHOP = """\

[data]
train = "shop.csv"
normalise = ["strip"]

[consent]
protocols = ["{protocol}"]
purposes = ["demo"]
max_trees = {trees}
min_common_rows = 100
"""


def write_configs(folder: Path, protocol: str, trees: int) -> None:
    """shop.toml; the bank's follows when the shop's port is known."""
    text = TLS.format(party="shop", role="passive", peer="bank", more='listen = "127.0.0.1:0"\n')
    text += SHOP.format(protocol=protocol, trees=trees)
    (folder / "shop.toml").write_text(text, encoding="utf-8")


def write_bank(folder: Path, address: str, protocol: str, trees: int) -> None:
    """bank.toml, which dials the shop at `address`."""
    text = TLS.format(party="bank", role="active", peer="shop", more='purpose = "demo"\n')
    text += BANK.format(address=address, protocol=protocol, trees=trees, bins=BINS)
    (folder / "bank.toml").write_text(text, encoding="utf-8")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The shop as a process; gives its address, and ends it whatever happens."""
    with (folder / "shop.out").open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-m", "vfxgb", "serve", str(folder / "shop.toml"), "--quiet"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _address(process, folder)
    finally:
        process.terminate()
        _await_end(process)


def command(*arguments: str) -> None:
    """One command of the bank, in a process of its own that shows its progress here. Raises PeerError if it fails."""
    process = subprocess.Popen([sys.executable, "-m", "vfxgb", *arguments], stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        code = process.wait()
    except BaseException:
        # ctrl-C reaches the whole group: the bank tells the shop and ends by itself.
        _await_end(process)
        raise
    if code:
        raise PeerError(f"the demo: `vfxgb {' '.join(arguments)}` ended with code {code}; its words are above")


def _await_end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process that is about to end, and end it if that takes too long."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _address(process: "subprocess.Popen[bytes]", folder: Path) -> str:
    log = folder / "shop-folder" / "log.jsonl"
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        # The last line may be half written.
        written = log.read_text(encoding="utf-8").rpartition("\n")[0] if log.exists() else ""
        for line in written.splitlines():
            event = json.loads(line)
            if event["event"] == "listening":
                return str(event["address"])
        time.sleep(POLL_SECONDS)
    said = (folder / "shop.out").read_text(encoding="utf-8", errors="replace").strip()
    raise PeerError(f"the demo: the shop does not serve: {said or 'it said nothing'}")
