"""A hundred clients at once at the scoring endpoint: whether all are answered, rightly, and how long that takes.

    python bench/e2e/scoring.py [--clients 100] [--requests 20] [--trees 50] [--json docs/results/scoring.json]

Bank and shop are processes of their own on this machine, `vfxgb predict --serve` and `vfxgb serve`, which talk over
loopback with mutual TLS. The clients are threads of this process. First each opens a connection and asks at the same
moment as all the others; then each asks one question after the other over the connection that it keeps. A question is
about one row. Every answer is compared with the model that both shares make together; the script fails if one is
missing, is not 200, or is wrong. Milliseconds are those of whole requests, as clients see them; with a hundred threads
of Python asking, a part of them is the clients' own.
"""

import argparse
import csv
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from vfxgb.bench.machine import machine_facts
from vfxgb.errors import BenchmarkError
from vfxgb.model.file import load_share
from vfxgb.model.pooled import PooledModel
from vfxgb.party.config import ConsentSection
from vfxgb.party.folder import PartyFolder
from vfxgb.transport.network.certificates import issue, make_authority

ROWS, COLUMNS, DEPTH = 4000, 10, 6
SECONDS = 60.0
COMMON = """\
party = "{party}"
role = "{role}"
folder = "{party}-folder"
threads = 1
{top}
[tls]
certificate = "{party}.pem"
key = "{party}.key"
[peers.{peer}]
certificate = "{peer}.pem"
{address}
[data]
train = "{party}.csv"
{rest}
"""


class Parties:
    """A bank and a shop: tables, configurations, processes. `ids`, `columns`: what the bank knows of each person."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(7)
        values = rng.normal(size=(ROWS, 2 * COLUMNS)).round(4)
        labels = (values[:, 0] * values[:, -1] + values[:, 1] + values[:, -2] > 0).astype(int)
        self.values = values
        self.ids = [f"person {row}" for row in range(ROWS)]
        self.bank = [f"b{place}" for place in range(COLUMNS)]
        self.shop = [f"s{place}" for place in range(COLUMNS)]
        authority = make_authority(folder)
        for party in ("bank", "shop"):
            issue(authority, party, (), 7, folder)
        self._table("bank", [*self.bank, "label"], np.column_stack([values[:, :COLUMNS], labels]))
        self._table("shop", self.shop, values[:, COLUMNS:])
        consent = "[consent]\ninsecure = true\nprotocols = ['plain']"
        if "lookup" in ConsentSection.__struct_fields__:
            consent += "\nlookup = true"
        texts = {"party": "shop", "role": "passive", "peer": "bank", "address": "", "rest": consent}
        (folder / "shop.toml").write_text(COMMON.format(**texts, top='listen = "127.0.0.1:0"'))
        self._processes: list[subprocess.Popen[bytes]] = []

    def train(self, trees: int) -> None:
        """Start the shop and train; `end` ends what was started."""
        address = self._start("serve", "shop.toml", seen=r"listening address=(\S+)")
        train = f"[train]\nobjective = 'binary:logistic'\nn_estimators = {trees}\nmax_depth = {DEPTH}\nmax_bin = 32"
        rest = f"label = 'label'\n{train}\n[protocol]\nname = 'plain'"
        texts = {"party": "bank", "role": "active", "peer": "shop", "top": "", "rest": rest}
        (self.folder / "bank.toml").write_text(COMMON.format(**texts, address=f"address = '{address}'"))
        arguments = [sys.executable, "-m", "vfxgb", "train", "bank.toml"]
        subprocess.run(arguments, cwd=self.folder, check=True, capture_output=True, timeout=10 * SECONDS)

    def _table(self, party: str, names: list[str], rows: Any) -> None:
        with (self.folder / f"{party}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *names])
            writer.writerows([id_, *row] for id_, row in zip(self.ids, rows.tolist(), strict=True))

    def _start(self, *arguments: str, seen: str) -> str:
        """Start a command; returns what the pattern finds in its output."""
        log = self.folder / f"{arguments[0]}.out"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "vfxgb", *arguments], cwd=self.folder, stdout=file, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and process.poll() is None:
            match = re.search(seen, log.read_text())
            if match:
                return match.group(1)
            time.sleep(0.02)
        raise BenchmarkError(f"starting vfxgb {arguments[0]}: {log.read_text()}")

    def serve_scores(self) -> str:
        """Start the endpoint; returns host:port."""
        return self._start("predict", "bank.toml", "--serve", "--port", "0", seen=r"http://(\S+)/score")

    def wanted(self) -> tuple[str, Any]:
        """The run, and the scores of all rows by the model that both shares make."""
        run = PartyFolder(self.folder / "bank-folder").find("latest").run
        shares = [
            load_share(self.folder / f"{party}-folder" / "runs" / run / "share.json") for party in ("bank", "shop")
        ]
        pooled = PooledModel(shares[0], {"shop": shares[1]})
        names = [*self.bank, *self.shop]
        matrix = np.column_stack([self.values[:, names.index(name)] for name in pooled.feature_names])
        return run, 1 / (1 + np.exp(-pooled.margins(matrix.astype(np.float32))[:, 0]))

    def end(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)


class Client:
    """One of many: a connection, and the times and scores of its questions."""

    def __init__(self, parties: Parties, address: str, number: int, clients: int) -> None:
        self._parties = parties
        self._connection = http.client.HTTPConnection(address, timeout=SECONDS)
        self._rows = np.arange(number, ROWS, clients)
        self.seconds: list[float] = []
        self.answers: list[tuple[int, int, Any]] = []

    def ask(self, count: int) -> None:
        """Ask so many questions, one after the other."""
        for _ in range(count):
            row = int(self._rows[len(self.answers) % len(self._rows)])
            features = dict(zip(self._parties.bank, self._parties.values[row, :COLUMNS].tolist(), strict=True))
            body = json.dumps({"rows": [{"id": self._parties.ids[row], "features": features}]})
            begin = time.perf_counter()
            self._connection.request("POST", "/score", body, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            document = json.loads(answer.read())
            self.seconds.append(time.perf_counter() - begin)
            self.answers.append((row, answer.status, document))

    def close(self) -> None:
        self._connection.close()


def measure(parties: Parties, clients: int, requests: int) -> dict[str, Any]:
    """Ask, and compare all answers. Raises BenchmarkError for one that is lost or wrong."""
    run, wanted = parties.wanted()
    address = parties.serve_scores()
    together = threading.Barrier(clients)

    def work(client: Client, count: int) -> None:
        together.wait(SECONDS)
        client.ask(count)

    everybody = [Client(parties, address, number, clients) for number in range(clients)]
    phases = {}
    try:
        for phase, count in (("first", 1), ("kept", requests)):
            already = [len(client.seconds) for client in everybody]
            begin = time.perf_counter()
            with ThreadPoolExecutor(clients) as pool:
                # An error of a client is a request that was lost.
                list(pool.map(work, everybody, [count] * clients))
            elapsed = time.perf_counter() - begin
            times = [
                1000 * seconds
                for client, before in zip(everybody, already, strict=True)
                for seconds in client.seconds[before:]
            ]
            phases[phase] = summary(times, elapsed)
    finally:
        for client in everybody:
            client.close()
    answers = [answer for client in everybody for answer in client.answers]
    check(answers, clients * (1 + requests), run, wanted)
    return {"answers": len(answers), "lost": 0, "wrong": 0, **phases}


def summary(milliseconds: list[float], elapsed: float) -> dict[str, float]:
    """The times of the requests of one phase, in milliseconds, and how many there were a second."""
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return {
        "requests": len(milliseconds),
        "p50_ms": round(cuts[49], 2),
        "p99_ms": round(cuts[98], 2),
        "max_ms": round(max(milliseconds), 2),
        "requests_per_second": round(len(milliseconds) / elapsed, 1),
    }


def check(answers: list[tuple[int, int, Any]], wanted_count: int, run: str, wanted: Any) -> None:
    """Raise BenchmarkError unless all requests were answered with the scores of this run's model."""
    if len(answers) != wanted_count:
        raise BenchmarkError(f"found {len(answers)} answers, wanted {wanted_count}: requests were lost")
    for row, status, document in answers:
        if status != 200 or document["model"] != run:
            raise BenchmarkError(f"row {row}: found {status} {document}, wanted a score of run {run}")
        if not np.isclose(document["scores"][0], wanted[row], rtol=1e-6, atol=0):
            raise BenchmarkError(f"row {row}: found {document['scores'][0]}, wanted {wanted[row]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--requests", type=int, default=20, help="of each client over its connection")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parties = Parties(Path(folder))
        try:
            parties.train(args.trees)
            measured = measure(parties, args.clients, args.requests)
        finally:
            parties.end()
    result = {
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "clients": args.clients,
        "trees": args.trees,
        "depth": DEPTH,
        "columns": 2 * COLUMNS,
        **measured,
    }
    text = json.dumps(result, indent=2, default=str)
    print(text)
    if args.json is not None:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
