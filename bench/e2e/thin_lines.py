"""What a tree costs over a line of given bandwidth and delay: seconds, megabytes, and those of the set-up.

    python bench/e2e/thin_lines.py [--protocols ot_shares] [--mbit 100] [--delay-ms 10] [--rows 284807]
        [--features 15 15] [--bins 32] [--depth 5] [--trees 3] [--precision-bits 31 8] [--untold] [--counted]
        [--json FILE]

Both parties run in this process and talk over mutual TLS. Between them stands a shaper, a process of its own on the
loopback address: in each direction it passes `--mbit` megabits a second and holds every byte back for `--delay-ms`. A
training of one tree and one of 1 + `--trees` trees are timed; what the second takes beyond the first is the cost of
`--trees` trees, and the first without it is the set-up and the first tree. Precisions below 31 bits are rounded at
random (rounding="stochastic"); 0 stands for the protocol's own default. The parties know their line (network_mbit,
network_delay_ms) unless it is `--untold`. Every training must have trees with splits.

With `--counted` the line is one of counted_line.py: seconds are the processor time of each party's one thread, and what
the line takes, without TLS. Other work on the machine shows less then. line_seconds are what the line takes alone.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from counted_line import CountedLine, Times
from network import Loopback

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import Loaded, load
from vfxgb.bench.field.shaper import HOST, Line, ShapedLine
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.train import simulate
from vfxgb.transport import channel
from vfxgb.transport.network import Limits, Listener, NetworkLink, Peer, dial

SECONDS = 3600.0
EXACT_BITS = 31


class ShapedLoopback(Loopback):
    """Links through a shaper."""

    def __init__(self, folder: Path, stack: ExitStack, line: Line) -> None:
        super().__init__(folder, stack)
        self._line = line

    def links(self) -> tuple[NetworkLink, NetworkLink]:
        bank, shop = self._parties["bank"], self._parties["shop"]
        limits = Limits()
        peers = {"bank": Peer("bank", bank.certificate)}
        listener = self._stack.enter_context(Listener(shop, peers, "127.0.0.1:0", limits))
        _, _, port = listener.address.rpartition(":")
        line = self._stack.enter_context(ShapedLine(self._line, [(int(port), "there")]))
        address = f"{HOST}:{line.ports[0]}"
        dialled = self._stack.enter_context(dial(bank, Peer("shop", shop.certificate, address), limits))
        return dialled, listener.accept(SECONDS).link


def wall_time() -> Times:
    """The time by the clock on the wall."""
    return Times(time.perf_counter())


def train(args: argparse.Namespace, data: Loaded, protocol: str, bits: int, trees: int) -> dict[str, float]:
    """Seconds, bytes and round trips of one training over a line of its own."""
    exact = bits in (0, EXACT_BITS)
    model = VFXGBClassifier(
        n_estimators=trees,
        max_depth=args.depth,
        max_bin=args.bins,
        n_jobs=1 if args.counted else args.threads,
        parties=data.parties,
        active="bank",
        protocol=protocol,
        protocol_params={"precision_bits": bits} if bits else {},
        rounding="nearest" if exact else "stochastic",
        network_mbit=None if args.untold else args.mbit,
        network_delay_ms=None if args.untold else args.delay_ms,
    )
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        clock: Callable[[], Times]
        if args.counted:
            counted = CountedLine(args.mbit, args.delay_ms / 1000)
            stack.enter_context(mock.patch.object(channel, "memory_links", counted.links))
            clock = counted.clock.now
        else:
            line = ShapedLoopback(Path(folder), stack, Line("thin", args.mbit, 2 * args.delay_ms))
            stack.enter_context(mock.patch.object(simulate, "memory_channels", line.channels))
            clock = wall_time
        begin = clock()
        model.fit(data.X, data.y, verbose=False)
        end = clock()
    assert_real_trees(model.model_.active_share, f"training with {protocol} on {data.source}")
    traffic = model.traffic_["shop"]
    return {
        "seconds": end.computed - begin.computed,
        **({"line_seconds": end.line - begin.line} if args.counted else {}),
        "bytes": float(traffic.sent_bytes + traffic.received_bytes),
        "round_trips": float(traffic.round_trips),
        "messages": float(traffic.sent_messages + traffic.received_messages),
    }


def measure(args: argparse.Namespace, data: Loaded, protocol: str, bits: int) -> dict[str, Any]:
    """Cost of the set-up with the first tree, and of each further tree."""
    first, whole = (train(args, data, protocol, bits, trees) for trees in (1, 1 + args.trees))
    a_tree = {name: (whole[name] - first[name]) / args.trees for name in first}
    return {
        "protocol": protocol,
        "precision_bits": bits,
        "tree": a_tree,
        "setup": {name: first[name] - a_tree[name] for name in first},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", default="ot_shares", help="names, separated by commas")
    parser.add_argument("--mbit", type=float, default=100.0)
    parser.add_argument("--delay-ms", type=float, default=10.0)
    parser.add_argument("--rows", type=int, default=284_807)
    parser.add_argument("--features", type=int, nargs=2, default=(15, 15))
    parser.add_argument("--bins", type=int, default=32)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision-bits", type=int, nargs="+", default=[EXACT_BITS, 8])
    parser.add_argument("--counted", action="store_true", help="count seconds of processors and line, do not wait")
    parser.add_argument("--untold", action="store_true", help="the parties do not know their line")
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file too")
    args = parser.parse_args()
    data = load("synthetic", args.rows, tuple(args.features))
    results = [
        measure(args, data, protocol, bits) for protocol in args.protocols.split(",") for bits in args.precision_bits
    ]
    result = {
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "line": {"mbit": args.mbit, "delay_ms": args.delay_ms, "told": not args.untold, "counted": args.counted},
        "rows": args.rows,
        "features": args.features,
        "bins": args.bins,
        "depth": args.depth,
        "trees": args.trees,
        "results": results,
    }
    text = json.dumps(result, indent=2, default=str)
    print(text)
    if args.json is not None:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
