"""How often padded slots overflow, and how many of these the '11' check misses (ERRATA E25).

    [VFXGB_DATA=<folder>] python bench/e2e/overflow.py [--trials 2000] [--out docs/results]

Gradients of default_credit (a generated table without VFXGB_DATA) in the first round and after ten trees are encoded
as `batch_he` encodes them, summed over random rows, two sums to a plaintext, and decoded. Nothing is encrypted: a
ciphertext holds the same integers. Parameters are the paper's: alpha 20, alpha_max 10^6, r 30, two bits of padding.

    batchcrypt   every negative number carries out of its slot
    shift        sums too large for r bits (alpha_max 20: no headroom), which the codec refuses before encrypting
                 unless it is bypassed, as here

    left         sums of a gradient or hessian that have left their slot: the neighbour's number is wrong
    missed       those of them whose padding does not read '11'
    false alarm  plaintexts refused although no sum has left its slot
    silent       plaintexts that decode to wrong numbers although no padding in them reads '11'

writes overflow.md and overflow.json.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, load
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.codec.batchcrypt import BatchCryptCode
from vfxgb.codec.code import PairCode
from vfxgb.codec.plan import Lane, plan_slots
from vfxgb.codec.shift import ShiftCode
from vfxgb.crypto.ints import pack_signed
from vfxgb.errors import CapacityError
from vfxgb.numeric.fixed_point import FixedPoint

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = (2, 3, 4, 5, 8, 16, 64, 256, 1024)
LATER_TREES = 10
CAPACITY = 511
PER_PLAINTEXT = 2
R, PADDING = 30, 2


@dataclass(frozen=True)
class Outcome:
    """Shares, see the module. missed: None if no sum has left its slot."""

    left: float
    missed: float | None
    false_alarm: float
    silent: float


def gradients(margin: NDArray[np.float64], y: NDArray[np.float32]) -> tuple[NDArray[np.int64], float]:
    """Fixed-point pairs of logistic loss, and their unit."""
    p = 1 / (1 + np.exp(-margin))
    fixed = FixedPoint.for_rows(len(y), 1.0)
    return fixed.encode_pairs(p - y, p * (1 - p)), fixed.step


def outcome(code: PairCode, lane: Lane, pairs: NDArray[np.int64], step: float, size: int, trials: int) -> Outcome:
    """Sums of `size` random rows."""
    rng = np.random.default_rng(size)
    slots = code.encode(pairs, step)
    left = missed = false_alarm = silent = 0
    for _ in range(trials):
        rows = rng.integers(0, len(pairs), (PER_PLAINTEXT, size))
        sums = np.zeros((lane.sums, 2), dtype=np.int64)
        sums[:PER_PLAINTEXT] = slots[rows].sum(axis=1)
        truth = np.zeros((lane.sums, 2), dtype=np.int64)
        truth[:PER_PLAINTEXT] = _exact(code, slots[rows].sum(axis=1), slots[rows], size, step)
        counts = np.zeros(lane.sums, dtype=np.int64)
        counts[:PER_PLAINTEXT] = size
        read = _through_plaintext(lane, sums)
        overflown = sums >= 1 << lane.bits[0]
        left += int(overflown.sum())
        missed += int((overflown & (read >> R != (1 << PADDING) - 1)).sum())
        try:
            decoded = code.decode(read, counts, step)
        except CapacityError:
            false_alarm += not overflown.any()
        else:
            silent += not np.array_equal(decoded, truth)
    slots_used = 2 * PER_PLAINTEXT * trials
    return Outcome(left / slots_used, missed / left if left else None, false_alarm / trials, silent / trials)


def _exact(
    code: PairCode, sums: NDArray[np.int64], slots: NDArray[np.int64], size: int, step: float
) -> NDArray[np.int64]:
    """What decoding should give: the sums of the quantised values, without slots."""
    if isinstance(code, BatchCryptCode):
        signed = np.where(slots >> (code.r - 1) == 1, slots - (1 << code.r), slots)
        return np.rint(signed.sum(axis=1) * (code.resolution / step)).astype(np.int64)
    assert isinstance(code, ShiftCode)
    return np.rint((sums * code.resolution + size * code.s) / step).astype(np.int64)


def _through_plaintext(lane: Lane, sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Slots as they are read out of one plaintext that holds all the sums."""
    z = 0
    for place, pair in enumerate(sums.tolist()):
        for channel, offset in zip(lane.channels, lane.offsets.tolist(), strict=True):
            z += pair[channel] << (lane.width * place + offset)
    packed = pack_signed([z], 1 << (CAPACITY - 1), "overflow")
    return lane.decode(bytes(packed.data), packed.width, lane.sums)[:, np.argsort(lane.channels)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results")
    args = parser.parse_args()
    data = load("default_credit")
    rate = float(data.y.mean())
    first = np.full(len(data.y), np.log(rate / (1 - rate)))
    model = VFXGBClassifier(
        n_estimators=LATER_TREES, max_depth=3, max_bin=32, parties=data.parties, active=ACTIVE, protocol="plain"
    ).fit(data.X, data.y, verbose=False)
    assert_real_trees(model.model_.active_share, "overflow: default_credit")
    p = model.predict_proba(data.X)[:, 1]
    rounds = {"first round": first, f"after {LATER_TREES} trees": np.log(p / (1 - p))}
    codes: dict[str, PairCode] = {
        "batchcrypt": BatchCryptCode(len(data.y), r=R, padding=PADDING),
        "shift, alpha_max 20": ShiftCode(len(data.y), alpha_max=20.0, r=R, padding=PADDING),
    }
    results: dict[str, dict[str, dict[str, float | None]]] = {}
    about = (
        f"Written by bench/e2e/overflow.py: {data.source}; {args.trials:,} plaintexts of two pairs of sums each. left: "
        "sums that have left their slot, so that the neighbour is wrong; missed: those of them whose padding does not "
        "read '11'; false alarm: plaintexts refused although no sum has left its slot; silent: plaintexts that decode "
        "to wrong numbers without an alarm. Raw numbers: [overflow.json](overflow.json)."
    )
    lines = ["# Padded slots: overflows, and what the '11' check misses", "", about]
    for name, code in codes.items():
        (lane,) = plan_slots(code.widths, 1, CAPACITY, together=True).lanes
        for when, margin in rounds.items():
            pairs, step = gradients(margin, data.y)
            title = f"{name}, {when}"
            results[title] = {}
            lines += [
                "",
                f"## {title}",
                "",
                "| rows in a sum | left | missed | false alarm | silent |",
                "|" + 5 * "---:|",
            ]
            for size in SIZES:
                counted = outcome(code, lane, pairs, step, size, args.trials)
                results[title][str(size)] = vars(counted)
                missed = "" if counted.missed is None else f"{counted.missed:.1%}"
                lines.append(
                    f"| {size:,} | {counted.left:.1%} | {missed} | {counted.false_alarm:.1%} | {counted.silent:.1%} |"
                )
    text = "\n".join(lines) + "\n"
    print(text)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "overflow.md").write_text(text, encoding="utf-8")
    document = {"source": data.source, "trials": args.trials, "results": results}
    (args.out / "overflow.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
