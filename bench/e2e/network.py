"""What a link over loopback with mutual TLS costs: throughput, latency, and training against memory links in one run.

    python bench/e2e/network.py [--protocol batch_he] [--data default_credit] [--trees 4] [--repeats 3] [--json FILE]

Throughput: frames of 64 MiB of random bytes one way, both ends in this process and so on its processors. Latency:
frames of 100 bytes there and back. Training: both parties in this process, once over memory links and once over TLS,
taking turns, keys not counted; the ratio is that of the medians. Goal: at most 1.15 for batch_he on default_credit.
`cpu_ratio` is that of processor time, keys included, and bears a busy machine better; the load average is printed with
the result. Prediction: 100,000 rows, 50 trees of depth 6, two parties that hold ten columns each; the rows are aligned
already. Goal: 5 s and depth + 2 round trips. Set VFXGB_DATA to the folder of the data sets; without it a made-up table
of the same shape is used.
"""

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import load
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.bench.train.job import ONCE_PHASES
from vfxgb.data.table import Table
from vfxgb.errors import BenchmarkError
from vfxgb.predict.messages import PREDICTION_MESSAGES
from vfxgb.predict.sides import follow_prediction, lead_prediction
from vfxgb.train import simulate
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Catalogue
from vfxgb.transport.network import Identity, Limits, Listener, NetworkLink, Peer, dial
from vfxgb.transport.network.certificates import issue, make_authority

GOAL = 1.15
PREDICTED_ROWS, PREDICTED_TREES, DEPTH, COLUMNS = 100_000, 50, 6, 20
LARGE, FRAMES, ROUND_TRIPS = 64 << 20, 8, 2000
SECONDS = 600.0


class Loopback:
    """Certificates of the two parties of a run, and links between them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        authority = make_authority(folder)
        self._parties: dict[str, Identity] = {name: issue(authority, name, (), 7, folder) for name in ("bank", "shop")}
        self._stack = stack

    def links(self) -> tuple[NetworkLink, NetworkLink]:
        bank, shop = self._parties["bank"], self._parties["shop"]
        limits = Limits()
        listener = self._stack.enter_context(
            Listener(shop, {"bank": Peer("bank", bank.certificate)}, "127.0.0.1:0", limits)
        )
        near = self._stack.enter_context(dial(bank, Peer("shop", shop.certificate, listener.address), limits))
        return near, listener.accept(SECONDS).link

    def channels(
        self,
        active: str,
        passive: str,
        catalogue: Any,
        _: bytes,
        observer: Any = None,
        timeout: float | None = None,
        taps: Any = (None, None),
    ) -> tuple[Channel, Channel]:
        """In place of vfxgb.transport.channel.memory_channels."""
        near, other = self.links()
        return (
            Channel(active, passive, near, catalogue, near.session, observer, timeout, tap=taps[0]),
            Channel(passive, active, other, catalogue, other.session, None, timeout, tap=taps[1]),
        )


def throughput(loopback: Loopback) -> float:
    """Bytes per second, one way."""
    near, other = loopback.links()
    payload = os.urandom(LARGE)

    def read() -> None:
        for _ in range(FRAMES):
            other.get(SECONDS)

    reader = threading.Thread(target=read)
    begin = time.perf_counter()
    reader.start()
    for _ in range(FRAMES):
        near.put((b"frame", payload))
    reader.join()
    return LARGE * FRAMES / (time.perf_counter() - begin)


def latency(loopback: Loopback) -> list[float]:
    """Seconds of round trips, sorted."""
    near, other = loopback.links()

    def echo() -> None:
        for _ in range(ROUND_TRIPS):
            other.put(other.get(SECONDS))

    answering = threading.Thread(target=echo)
    answering.start()
    laps = []
    for _ in range(ROUND_TRIPS):
        begin = time.perf_counter()
        near.put((b"frame", bytes(100)))
        near.get(SECONDS)
        laps.append(time.perf_counter() - begin)
    answering.join()
    return sorted(laps)


def train(args: argparse.Namespace, loopback: Loopback | None) -> tuple[float, float]:
    """Seconds of a fit over TLS or over memory links, without those of making keys, which are a matter of luck; and
    processor seconds of all threads.
    """
    data = load(args.data, args.rows, None)
    model = VFXGBClassifier(
        n_estimators=args.trees,
        max_depth=6,
        max_bin=32,
        n_jobs=args.threads,
        parties=data.parties,
        active="bank",
        protocol=args.protocol,
    )
    with ExitStack() as stack:
        if loopback is not None:
            stack.enter_context(mock.patch.object(simulate, "memory_channels", loopback.channels))
        begin, used = time.perf_counter(), time.process_time()
        model.fit(data.X, data.y, verbose=False)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    assert_real_trees(model.model_.active_share, f"training with {args.protocol} on {data.source}")
    once = sum(model.timings_.seconds.get(phase, 0.0) for phase in ONCE_PHASES)
    return seconds - once, cpu


def predict(loopback: Loopback, repeats: int) -> dict[str, Any]:
    """Seconds, round trips and bytes of joint predictions over TLS."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(PREDICTED_ROWS, COLUMNS)).astype(np.float32)
    y = (X[:, 0] * X[:, COLUMNS - 1] + X[:, 3] * X[:, 12] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    parties = {"bank": list(range(COLUMNS // 2)), "shop": list(range(COLUMNS // 2, COLUMNS))}
    model = VFXGBClassifier(
        n_estimators=PREDICTED_TREES, max_depth=DEPTH, max_bin=64, parties=parties, active="bank", protocol="plain"
    )
    fitted = model.fit(X[:20_000], y[:20_000], verbose=False).model_
    assert_real_trees(model.model_.active_share, "the model that predicts")
    names = [f"f{place}" for place in range(COLUMNS)]
    bank, shop = (Table.read(X[:, columns], names=[names[c] for c in columns]) for columns in parties.values())
    seconds = []
    for _ in range(repeats):
        own, other = loopback.channels("bank", "shop", Catalogue(PREDICTION_MESSAGES), b"")
        answering = threading.Thread(target=follow_prediction, args=(fitted.passive_shares["shop"], shop, other))
        begin = time.perf_counter()
        answering.start()
        margins = lead_prediction(fitted.active_share, bank, {"shop": own})
        answering.join()
        seconds.append(time.perf_counter() - begin)
        if not np.array_equal(margins, fitted.pooled.margins(X)):
            raise BenchmarkError("joint prediction: found other margins than those of the pooled model")
    return {
        "rows": PREDICTED_ROWS,
        "trees": PREDICTED_TREES,
        "depth": DEPTH,
        "seconds": seconds,
        "round_trips": own.traffic.round_trips,
        "sent_bytes": own.traffic.sent_bytes,
        "received_bytes": own.traffic.received_bytes,
        "equal_to_pooled": True,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", default="batch_he")
    parser.add_argument("--data", default="default_credit")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--trees", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        loopback = Loopback(Path(folder), stack)
        rate = max(throughput(loopback) for _ in range(3))
        trips = latency(loopback)
        predicted = predict(loopback, args.repeats)
        memory, network = [], []
        for _ in range(args.repeats):
            memory.append(train(args, None))
            network.append(train(args, loopback))
    ratio, cpu_ratio = (
        statistics.median(run[i] for run in network) / statistics.median(run[i] for run in memory) for i in (0, 1)
    )
    result = {
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "megabytes_per_second": rate / 1e6,
        "round_trip_microseconds": {"median": 1e6 * trips[len(trips) // 2], "p99": 1e6 * trips[-len(trips) // 100]},
        "protocol": args.protocol,
        "data": args.data,
        "trees": args.trees,
        "memory_seconds": [seconds for seconds, _ in memory],
        "network_seconds": [seconds for seconds, _ in network],
        "ratio": ratio,
        "cpu_ratio": cpu_ratio,
        "goal": GOAL,
        "prediction": predicted,
    }
    text = json.dumps(result, indent=2, default=str)
    print(text)
    if args.json is not None:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
