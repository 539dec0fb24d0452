"""Time and bytes of base transfers, both parties in one process, one step after the other.

    python bench/e2e/base_transfers.py [--count 128] [--bits 3072] [--threads 1] [--repeats 9] [--json FILE]

Each step is the median of its repeats, in milliseconds of the clock; `processor` is the processor time of all steps.
The goal for 128 transfers is 0.2 s on an idle core. The parts of ML-KEM alone are timed in the same run.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vfxgb.bench.machine import machine_facts
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import modp_group
from vfxgb.ot.kem_transfers import KemReceiver, encapsulate_pairs

T = TypeVar("T")


def timed(times: dict[str, list[float]], name: str, work: Callable[..., T], *arguments: Any) -> T:
    """The result of `work`; its milliseconds are added to times[name]."""
    start = time.perf_counter()
    result = work(*arguments)
    times.setdefault(name, []).append(1000 * (time.perf_counter() - start))
    return result


def measure(count: int, bits: int, threads: int, repeats: int) -> dict[str, Any]:
    """Medians of all steps, and what travels."""
    group, step = modp_group(bits), "base transfers"
    times: dict[str, list[float]] = {}
    choices = np.arange(count, dtype=np.uint8) % 2
    for _ in range(repeats + 1):
        start = time.process_time()
        receiver = timed(times, "greeting", BaseReceiver, group, threads, count)
        sender = timed(times, "offer", BaseSender, receiver.greeting, group, threads, step, count)
        reply = timed(times, "reply", receiver.reply, sender.offer, step)
        timed(times, "finish", sender.finish, reply, step)
        times.setdefault("processor", []).append(1000 * (time.process_time() - start))
        kem = timed(times, "kem: keys", KemReceiver, choices, bytes(32))
        _, texts = timed(times, "kem: ciphertexts", encapsulate_pairs, kem.message, bytes(32), step)
        timed(times, "kem: opening", kem.secrets, texts)
    # The first one warms up.
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    sizes = {"greeting": len(receiver.greeting), "offer": len(sender.offer), "reply": len(reply)}
    settings = {"count": count, "bits": bits, "threads": threads, "repeats": repeats}
    return {**settings, "milliseconds": medians, "bytes": sizes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=128)
    parser.add_argument("--bits", type=int, default=3072)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = {**measure(given.count, given.bits, given.threads, given.repeats), "load": os.getloadavg()[0]}
    result["machine"] = machine_facts()
    spent = result["milliseconds"]
    for name, value in spent.items():
        print(f"{name:17} {value:8.1f} ms")
    total = sum(spent[name] for name in ("greeting", "offer", "reply", "finish"))
    print(f"{'all steps':17} {total:8.1f} ms, {sum(result['bytes'].values()):,} bytes {result['bytes']}")
    print(f"load average {result['load']:.1f}, threads {given.threads}")
    if given.json is not None:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
