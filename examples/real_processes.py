"""Two companies as two processes with mutual TLS: certificates, configurations, serve, check, train, predict, report.

What each side runs is the `vfxgb` command; this script plays both on one machine, in a temporary folder. Between real
machines the parties exchange nothing but their certificates, and the shop's address is not on loopback.
"""

import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BANK = """\
party = "bank"
role = "active"
folder = "bank-folder"
purpose = "credit scoring"
[tls]
certificate = "certs/bank.pem"
key = "certs/bank.key"
[peers.shop]
certificate = "certs/shop.pem"
address = "{address}"
[data]
train = "bank.csv"
id = "customer"
label = "default"
[train]
objective = "binary:logistic"
n_estimators = 3
max_depth = 3
[protocol]
name = "sealed"
"""
SHOP = """\
party = "shop"
role = "passive"
folder = "shop-folder"
listen = "127.0.0.1:0"       # any free port; a real shop names one
[tls]
certificate = "certs/shop.pem"
key = "certs/shop.key"
[peers.bank]
certificate = "certs/bank.pem"
[data]
train = "shop.csv"
id = "customer"
[consent]
protocols = ["sealed"]
purposes = ["credit scoring"]
max_trees = 50
min_common_rows = 100
"""


def vfxgb(*arguments: str, folder: Path) -> str:
    """One command; what it printed. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", "vfxgb", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def make_tables(folder: Path) -> None:
    """Each company has customers that the other does not have, in an order of its own."""
    rng = np.random.default_rng(9)
    n = 600
    age, income, returns = rng.integers(18, 80, n), rng.normal(2800, 700, n).round(), rng.poisson(1.0, n)
    default = (returns - 0.001 * (income - 2800) + rng.logistic(size=n) > 1).astype(int)
    tables = {
        "bank.csv": (range(500), {"age": age, "income": income, "default": default}),
        "new.csv": (range(500, 560), {"age": age, "income": income}),
        "shop.csv": (rng.permutation(np.arange(50, n)).tolist(), {"returns": returns}),
    }
    for name, (rows, columns) in tables.items():
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["customer", *columns])
            writer.writerows([f"C{row:04d}", *(column[row] for column in columns.values())] for row in rows)


def address_of(folder: Path, shop: "subprocess.Popen[bytes]") -> str:
    """Where the shop listens, from its log."""
    log = folder / "shop-folder" / "log.jsonl"
    for _ in range(600):
        for line in log.read_text().splitlines() if log.exists() else ():
            event = json.loads(line)
            if event["event"] == "listening":
                return str(event["address"])
        if shop.poll() is not None:
            break
        time.sleep(0.05)
    raise SystemExit("the shop does not serve")


def main() -> None:
    """From nothing to scores."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tables(folder)
        vfxgb("certs", "bank", "shop", "--out", "certs", folder=folder)
        (folder / "shop.toml").write_text(SHOP)
        shop = subprocess.Popen([sys.executable, "-m", "vfxgb", "serve", "shop.toml", "--quiet"], cwd=folder)
        try:
            (folder / "bank.toml").write_text(BANK.format(address=address_of(folder, shop)))
            vfxgb("train", "bank.toml", folder=folder)
            vfxgb("predict", "bank.toml", "new.csv", "scores.csv", folder=folder)
            print(vfxgb("report", "bank-folder", folder=folder))
        finally:
            shop.terminate()
            shop.wait(15)
        scores = list(csv.DictReader((folder / "scores.csv").read_text().splitlines()))
    print("first scores:", scores[:3])
    assert len(scores) == 60
    assert all(0 < float(row[column]) < 1 for row in scores for column in list(row)[1:2])


if __name__ == "__main__":
    main()
