"""Time, bytes and memory of an alignment, both (or all) parties in one process over memory channels.

    python bench/e2e/psi.py [--ids 100000 1000000] [--passives 1] [--method auto] [--threads 2] [--repeats 3]
                            [--json FILE]

Half of the ids are common. Time is that of align_active and align_passive together, from the first message to the last,
with ids already read; reading (normalising and hashing text) is timed apart. Memory is the peak of the process beyond
what it held before. Goals on two idle cores: 100,000 x 100,000 in at most 3 s, 1,000,000 x 1,000,000 in at most 40 s
and 2 GiB; the load average is printed with the result.
"""

import argparse
import json
import os
import statistics
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from vfxgb.align import ALIGN_MESSAGES, AlignParams, Ids, align_active, align_passive, make_ids
from vfxgb.bench.machine import machine_facts
from vfxgb.transport.channel import memory_channels
from vfxgb.transport.messages import Catalogue

GOALS = {100_000: 3.0, 1_000_000: 40.0}
MEMORY_GOAL = 2 << 30


def make_parties(count: int, passives: int) -> tuple[list[Ids], float]:
    """Ids of the active and the passive parties, and seconds that reading one list took."""
    start = time.perf_counter()
    parties = []
    for place in range(passives + 1):
        # The first half is common, in another order at each party; the second half is the party's own.
        numbers = [*range(count // 2), *range((place + 1) * count, (place + 1) * count + count - count // 2)]
        shift = place * count // (passives + 2)
        parties.append(
            make_ids([f"customer {number:012d}" for number in numbers[shift:] + numbers[:shift]], f"{place}")
        )
    return parties, (time.perf_counter() - start) / (passives + 1)


def align(parties: list[Ids], params: AlignParams, threads: int) -> tuple[float, int]:
    """Seconds, and bytes in both directions."""
    active, *others = parties
    pairs = {ids.party: memory_channels("0", ids.party, Catalogue(ALIGN_MESSAGES), bytes(16)) for ids in others}
    channels = {party: channel for party, (channel, _) in pairs.items()}
    workers = [
        threading.Thread(target=align_passive, args=(ids.party, ids, pairs[ids.party][1], params, threads))
        for ids in others
    ]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    alignment = align_active("0", [active], channels, params, threads)
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - start
    if alignment.sizes != (len(active) // 2,):
        raise SystemExit(f"found {alignment.sizes} common ids, wanted {len(active) // 2}")
    return seconds, sum(channel.traffic.sent_bytes + channel.traffic.received_bytes for channel in channels.values())


def resident(field: str) -> int:
    """A field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise KeyError(field)


def measure(count: int, passives: int, args: argparse.Namespace) -> dict[str, Any]:
    """Seconds of each repeat, bytes and memory of alignments of so many ids at each party."""
    load = os.getloadavg()[0]
    parties, reading = make_parties(count, passives)
    measurable = Path("/proc/self/clear_refs").exists()
    if measurable:
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to what is resident now
    before = resident("VmRSS") if measurable else 0
    runs = [align(parties, AlignParams(method=args.method), args.threads) for _ in range(args.repeats)]
    return {
        "ids": count,
        "parties": passives + 1,
        "method": args.method,
        "threads": args.threads,
        "seconds": [run[0] for run in runs],
        "bytes": runs[0][1],
        "peak_bytes": resident("VmHWM") - before if measurable else None,
        "reading_seconds": reading,
        "load": load,
    }


def line(alignment: dict[str, Any]) -> str:
    """One measurement in words, next to its goals."""
    count, seconds, peak = alignment["ids"], alignment["seconds"], alignment["peak_bytes"]
    goal = f" (goal: at most {GOALS[count]:g} s)" if count in GOALS and alignment["parties"] == 2 else ""
    memory = "unknown" if peak is None else f"{peak / 2**20:.0f} MiB"
    return (
        f"{count} ids at {alignment['parties']} parties, {alignment['method']}, {alignment['threads']} threads: "
        f"{statistics.median(seconds):.2f} s{goal}, from {min(seconds):.2f} to {max(seconds):.2f}; "
        f"{alignment['bytes'] / 1e6:.1f} MB; peak {memory} (goal: {MEMORY_GOAL >> 20}); reading ids "
        f"{alignment['reading_seconds']:.2f} s a party; load average before {alignment['load']:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--passives", type=int, nargs="+", default=[1])
    parser.add_argument("--method", choices=["auto", "kkrt", "ecdh"], default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file too")
    args = parser.parse_args()
    measured = []
    for passives in args.passives:
        for count in args.ids:
            # A process each: memory that an earlier measurement has freed would hide what this one takes.
            with ProcessPoolExecutor(1, get_context("spawn")) as child:
                measured.append(child.submit(measure, count, passives, args).result())
            print(line(measured[-1]), flush=True)
    facts = machine_facts()
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    if args.json is not None:
        args.json.write_text(json.dumps({"machine": facts, "alignments": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
