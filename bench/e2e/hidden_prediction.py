"""What hidden routing and hidden prediction cost, next to open prediction in the same run.

    python bench/e2e/hidden_prediction.py [--rows 150000] [--splits 1 1 2 4 8 16] [--predicted 100000] [--trees 50]
        [--depth 6] [--delay-ms 10] [--mbit 100] [--batches 300 1000 3000] [--repeats 3]
        [--json docs/results/hidden_prediction.json]

Routing: `--rows` rows through one tree of which the passive party owns `--splits` splits, level by level. Both parties
in one process on one thread; seconds are processor time of both together, without those of the base transfers and of
comparing values with thresholds. Goal: at most 6.5 MB and .2 s.

Prediction: `--predicted` rows by `--trees` trees of `--depth` levels, two parties that hold ten columns each and talk
over loopback with mutual TLS; the rows are aligned already. Set-up (base transfers) is measured apart. Every result is
compared with the pooled model, bit by bit.

Single rows: the same model over a line that holds every byte back for `--delay-ms` each way (thin_lines.py), each row
looked up by its id first, as `vfxgb predict --serve` does. Goal: at most 300 ms a row.

Batches: `--batches` rows over the same line, with the transfers of a level sent while the answers of the level before
are on their way, and with every question bringing its own. The two take turns.
"""

import argparse
import copy
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from network import Loopback
from thin_lines import ShapedLoopback

from vfxgb import VFXGBClassifier
from vfxgb.align import ALIGN_MESSAGES, Answerer, Asker, make_ids
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.data.table import Table
from vfxgb.errors import BenchmarkError
from vfxgb.model.fitted import FittedModel
from vfxgb.predict import hidden_line
from vfxgb.predict.hidden_answers import HiddenSide, connect_hidden_side
from vfxgb.predict.hidden_line import HiddenLines, connect_hidden
from vfxgb.predict.messages import HIDDEN_PREDICTION_MESSAGES, PREDICTION_MESSAGES
from vfxgb.predict.sides import follow_prediction, lead_prediction
from vfxgb.routing import ROUTING_MESSAGES, Level, RoutingReceiver, RoutingSender, RoutingSettings
from vfxgb.routing.setup import ROUTING_TRANSFER_BITS, connect_receivers, connect_sender
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue

COLUMNS = 20
STOCK_ROWS = 64
SINGLE_ROWS = 25


def beside(work: Callable[[], Any], lead: Callable[[], Any]) -> Any:
    """What `lead` returns while the other party is at `work`."""
    answering = threading.Thread(target=work)
    answering.start()
    found = lead()
    answering.join()
    return found


def routing_pair(transfer_bits: int) -> tuple[RoutingReceiver, RoutingSender]:
    own, other = memory_channels("bank", "shop", Catalogue(ROUTING_MESSAGES), bytes(16))
    senders: list[RoutingSender] = []
    settings = RoutingSettings(transfer_bits=transfer_bits, threads=1)
    receivers = beside(
        lambda: senders.append(connect_sender(other, 1)), lambda: connect_receivers({"shop": own}, settings)
    )
    return receivers["shop"], senders[0]


def route(rows: int, splits: list[int], transfer_bits: int, repeats: int) -> dict[str, Any]:
    """Processor seconds of both parties and bytes of all levels of a tree."""
    receiver, sender = routing_pair(transfer_bits)
    rng = np.random.default_rng(1)
    times, size = [], 0
    for _ in range(repeats):
        seconds, size = 0.0, 0
        for count in splits:
            level = Level(np.array([count], dtype=np.int32))
            wanted = rng.integers(0, count + 1, (1, rows)).astype(np.uint16)
            bits = rng.integers(0, 2, (count, rows), dtype=np.uint8)
            lines = np.packbits(bits, axis=1, bitorder="little")
            begin = time.process_time()
            question, asked = receiver.ask(level, wanted)
            sent = sender.answer(level, rows, question, lines)
            taken = asked.read(sent)
            seconds += time.process_time() - begin
            size += len(question.transfers) + len(question.corrections) + len(sent)
            truth = np.where(wanted[0] > 0, bits[np.maximum(wanted[0], 1) - 1, np.arange(rows)], 0)
            if not np.array_equal(taken[0, 0], truth):
                raise BenchmarkError("hidden routing: found other bits than those that were wanted")
        times.append(seconds)
    return {"transfer_bits": transfer_bits, "cpu_seconds": times, "bytes": size}


class Model:
    """A trained model, the rows that it predicts, and who holds what of them."""

    def __init__(self, rows: int, trees: int, depth: int) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, COLUMNS)).astype(np.float32)
        y = (X[:, 0] * X[:, COLUMNS - 1] + X[:, 3] * X[:, 12] + 0.5 * rng.normal(size=rows) > 0).astype(int)
        parties = {"bank": list(range(COLUMNS // 2)), "shop": list(range(COLUMNS // 2, COLUMNS))}
        model = VFXGBClassifier(
            n_estimators=trees, max_depth=depth, max_bin=64, parties=parties, active="bank", protocol="plain"
        )
        self.fitted: FittedModel = model.fit(X[:20_000], y[:20_000], verbose=False).model_
        assert_real_trees(self.fitted.active_share, "the model that predicts")
        self.wanted = self.fitted.pooled.margins(X)
        names = [f"f{place}" for place in range(COLUMNS)]
        self.bank, self.shop = (
            Table.read(X[:, columns], names=[names[c] for c in columns]) for columns in parties.values()
        )

    def first_rows(self, count: int) -> "Model":
        """The same model with fewer rows."""
        part, rows = copy.copy(self), np.arange(count)
        part.bank, part.shop, part.wanted = self.bank.take(rows), self.shop.take(rows), self.wanted[:count]
        return part

    def check(self, margins: Any, rows: slice) -> None:
        if not np.array_equal(margins, self.wanted[rows]):
            raise BenchmarkError("joint prediction: found other margins than those of the pooled model")


def predict(model: Model, line: Loopback, settings: RoutingSettings | None, repeats: int) -> dict[str, Any]:
    """Seconds, processor seconds of both parties, bytes and round trips of a prediction; of its set-up, too."""
    share, passive = model.fitted.active_share, model.fitted.passive_shares["shop"]
    runs, setups, size, trips = [], [], {}, 0
    for _ in range(repeats):
        catalogue = Catalogue(PREDICTION_MESSAGES if settings is None else HIDDEN_PREDICTION_MESSAGES)
        own, other = line.channels("bank", "shop", catalogue, b"")
        sides: list[HiddenSide] = []
        begin = (time.perf_counter(), time.process_time())
        lines: HiddenLines | None = None
        if settings is not None:
            lines = beside(
                lambda o=other, s=sides: s.append(connect_hidden_side(o, 1)),
                lambda c=own: connect_hidden(share, {"shop": c}, settings),
            )
        middle, set_up = (time.perf_counter(), time.process_time()), own.traffic.total_bytes
        before = own.traffic.round_trips
        hidden = sides[0] if sides else None
        margins = beside(
            lambda o=other, h=hidden: follow_prediction(passive, model.shop, o, hidden=h),
            lambda c=own, h=lines: lead_prediction(share, model.bank, {"shop": c}, hidden=h),
        )
        end = (time.perf_counter(), time.process_time())
        model.check(margins, slice(None))
        runs.append([end[0] - middle[0], end[1] - middle[1]])
        setups.append([middle[0] - begin[0], middle[1] - begin[1]])
        size = {"bytes": own.traffic.total_bytes - set_up, "set_up_bytes": set_up}
        trips = own.traffic.round_trips - before
    return {
        "kind": "open" if settings is None else f"hidden, {settings.kind}",
        "transfer_bits": None if settings is None else settings.transfer_bits,
        "seconds": [seconds for seconds, _ in runs],
        "cpu_seconds": [cpu for _, cpu in runs],
        "set_up_seconds": [seconds for seconds, _ in setups],
        "round_trips": trips,
        **size,
    }


def predict_batches(model: Model, line: Loopback, rows: int, repeats: int) -> dict[str, Any]:
    """Seconds of predictions of so many rows with and without transfers that are sent ahead."""
    part, settings = model.first_rows(rows), RoutingSettings(threads=1)
    most = hidden_line.AHEAD_TRANSFERS
    seconds: dict[str, list[float]] = {"ahead": [], "with each question": []}
    for _ in range(repeats):
        for how, found in seconds.items():
            hidden_line.AHEAD_TRANSFERS = most if how == "ahead" else 0
            try:
                found.extend(predict(part, line, settings, 1)["seconds"])
            finally:
                hidden_line.AHEAD_TRANSFERS = most
    return {"rows": rows, "seconds": seconds}


def score_singly(model: Model, line: Loopback, hidden: bool) -> dict[str, Any]:
    """Milliseconds of single rows, one after the other, as the endpoint asks for them."""
    share, passive = model.fitted.active_share, model.fitted.passive_shares["shop"]
    messages = HIDDEN_PREDICTION_MESSAGES if hidden else PREDICTION_MESSAGES
    own, other = line.channels("bank", "shop", Catalogue((*ALIGN_MESSAGES, *messages)), b"")
    ids = make_ids([f"person {row}" for row in range(SINGLE_ROWS)], "bank")

    def answer(channel: Channel) -> None:
        side = connect_hidden_side(channel, 1) if hidden else None

        def follow(rows: Any) -> None:
            follow_prediction(passive, model.shop.take(rows), channel, hidden=side)

        Answerer("shop", ids, channel).serve(follow)

    def ask() -> tuple[float, list[float]]:
        begin = time.perf_counter()
        settings = RoutingSettings(threads=1)
        lines = connect_hidden(share, {"shop": own}, settings, STOCK_ROWS) if hidden else None
        asker = Asker("bank", {"shop": own}, ())
        set_up, laps = time.perf_counter() - begin, []
        for row in range(SINGLE_ROWS):
            begin = time.perf_counter()
            asker.ask(make_ids([f"person {row}"], "bank"))
            table = model.bank.take(np.array([row]))
            margins = lead_prediction(share, table, {"shop": own}, hidden=lines)
            laps.append(1000 * (time.perf_counter() - begin))
            model.check(margins, slice(row, row + 1))
        asker.close()
        return set_up, laps

    set_up, laps = beside(lambda: answer(other), ask)
    return {
        "kind": "hidden" if hidden else "open",
        "set_up_seconds": set_up,
        "milliseconds": {"median": statistics.median(laps), "worst": max(laps)},
        "bytes_a_row": (own.traffic.total_bytes) / SINGLE_ROWS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--splits", type=int, nargs="+", default=[1, 1, 2, 4, 8, 16])
    parser.add_argument("--predicted", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--delay-ms", type=float, default=10.0)
    parser.add_argument("--mbit", type=float, default=100.0)
    parser.add_argument("--batches", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file too")
    args = parser.parse_args()
    routing = [route(args.rows, args.splits, bits, args.repeats) for bits in (6, 7, 8)]
    model = Model(args.predicted, args.trees, args.depth)
    soft = [RoutingSettings("soft", bits, threads=1) for bits in (ROUTING_TRANSFER_BITS, 8)]
    ways = [None, *soft, RoutingSettings("silent", threads=1)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        loopback = Loopback(Path(folder), stack)
        predicted = [predict(model, loopback, way, args.repeats) for way in ways]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        shaped = ShapedLoopback(Path(folder), stack, args.mbit, args.delay_ms / 1000)
        single = [score_singly(model, shaped, hidden) for hidden in (False, True)]
        batches = [predict_batches(model, shaped, rows, args.repeats) for rows in args.batches]
    records = model.fitted.passive_shares["shop"].records
    result = {
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "routing": {"rows": args.rows, "splits": args.splits, "runs": routing},
        "prediction": {
            "rows": args.predicted,
            "trees": args.trees,
            "depth": args.depth,
            "passive_splits": len(records),
            "runs": predicted,
        },
        "single_rows": {"delay_ms": args.delay_ms, "mbit": args.mbit, "runs": single},
        "batches": {"delay_ms": args.delay_ms, "mbit": args.mbit, "runs": batches},
    }
    text = json.dumps(result, indent=2, default=str)
    print(text)
    if args.json is not None:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
