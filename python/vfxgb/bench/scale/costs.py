"""The constants of the cost model (model.py), measured on this machine.

The operations are those of training itself, on some thousand rows: what they cost there holds for any number of rows.
Processor time is counted, with all cores at work, so that other programs on the machine do not count.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec
import numpy as np

from vfxgb import _native
from vfxgb.bench.datasets import ACTIVE, LABEL
from vfxgb.bench.scale.data import write_data
from vfxgb.bench.scale.model import KeyCosts, RowCosts
from vfxgb.bench.scale.results import Costs
from vfxgb.bench.train.costs import SLOW_SHARE, lane_for
from vfxgb.codec.exact import ExactCode
from vfxgb.crypto import generate
from vfxgb.data.parquet import ParquetSource
from vfxgb.engine import shard
from vfxgb.engine.local import LocalEngine
from vfxgb.engine.table import ShardedTable
from vfxgb.engine.target import ShardLabels, encode_pairs, make_gradients
from vfxgb.numeric.fixed_point import FixedPoint, fraction_bits
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.rows.values import encrypt

REPEATS = 3
FEATURES, BINS = 8, 32
ENGINE_BYTES = 1 << 30
ROOT, LEFT, RIGHT = (np.array([node], dtype=np.int32) for node in range(3))

# What is done, and how often by one call.
Operations = dict[str, tuple[int, Callable[[], object]]]
Constants = TypeVar("Constants", KeyCosts, RowCosts)


def key_costs(scheme: str, bits: int, count: int, threads: int, *, insecure: bool = False) -> KeyCosts:
    """Constants of a key, from batches of about `count` ciphertexts, by `threads` threads at once."""
    key = generate(scheme, bits, insecure=insecure)
    private, public = key.native, key.public_key.native
    lane = lane_for(key, count)
    rng = np.random.default_rng(5)
    most = 1 << fraction_bits(count)
    pairs = np.stack([rng.integers(-most, most, count), rng.integers(0, most, count)], axis=1)
    wire = encrypt(private, lane, [pairs], slice(None), threads)
    few = max(2, count // SLOW_SHARE)
    key.public_key.rerandomizer.make_table(threads)
    sample = public.from_wire(wire[: few * public.wire_bytes], threads)
    rows = _native.crypto.CipherRows(public, count)
    rows.fill(0, wire, threads)
    bins = _native.gbdt.Bins(count, [np.arange(1, BINS, dtype=np.float64)] * FEATURES)
    for feature in range(FEATURES):
        bins.fill(feature, rng.integers(0, BINS, count).astype(np.float32), 0, threads)
    partition, features = _native.gbdt.RowPartition(count, None), np.arange(FEATURES, dtype=np.int32)

    def sums() -> _native.he_sums.CipherSums:
        return _native.he_sums.cipher_histogram(rows, None, bins, partition, ROOT, None, features, False, threads)

    operations: Operations = {
        "encrypt": (count, lambda: encrypt(private, lane, [pairs], slice(None), threads)),
        "encrypt_public": (few, lambda: encrypt(public, lane, [pairs], slice(0, few), threads)),
        "read": (count, lambda: _native.crypto.CipherRows(public, count).fill(0, wire, threads)),
        "add": (sums().additions, sums),
        "pack": (
            max(1, few - lane.returned(few)),
            lambda: _native.he_sums.pack_sums(sample, lane.sums, lane.width, threads),
        ),
        "rerandomise": (few, lambda: sample.rerandomize(threads)),
        "decrypt": (few, lambda: private.decrypt(sample, threads)),
    }
    return KeyCosts(
        scheme=scheme,
        key_bits=bits,
        wire_bytes=public.wire_bytes,
        element_bytes=public.element_bytes,
        plaintext_bits=key.max_plaintext.bit_length(),
        **_seconds(operations),
    )


def row_costs(folder: Path, rows: int, threads: int) -> RowCosts:
    """Constants of work without ciphertexts, from a table of `rows` rows that is written to `folder`."""
    data = write_data(folder, rows, 2 * FEATURES)
    source = ParquetSource.open(data.bank, columns=[f"{ACTIVE}_{i}" for i in range(FEATURES)], party=ACTIVE)
    held = ShardLabels(source.values(LABEL, 0, rows).astype(np.float32), None, rows)
    objective = make_objective(TrainParams(objective="binary:logistic", n_jobs=threads))
    margins = np.zeros((rows, 1), dtype=np.float32)
    fixed = FixedPoint.for_rows(rows, 1.0, None)
    code = ExactCode(rows, fraction_bits(rows))
    engine = LocalEngine(ENGINE_BYTES, threads, folder)
    try:
        table = ShardedTable.of(source, rows, BINS, engine)
        cuts = [each.astype(np.float64) for each in table.bin(BINS, None).cuts]
        bins = shard.make_bins(source, 0, rows, cuts, str(engine.folder), threads)
        partition = _native.gbdt.RowPartition(rows, None)
        (pairs,) = encode_pairs(make_gradients(held, margins, objective), fixed, None, threads)

        def gradients() -> None:
            encoded = encode_pairs(make_gradients(held, margins, objective), fixed, None, threads)
            code.encode(encoded[0], fixed.step)

        def split() -> None:
            middle, left = np.array([BINS // 2], dtype=np.int32), np.array([False])
            bits = shard.left_bits(bins, partition, ROOT, ROOT, middle, left, threads)
            shard.split_rows(partition, bits, ROOT, LEFT, RIGHT, threads)

        operations: Operations = {
            "bin_cell": (rows * FEATURES, lambda: table.bin(BINS, None)),
            "sum_cell": (rows * FEATURES, lambda: shard.histogram(bins, partition, pairs, ROOT, None, threads)),
            "gradient": (rows, gradients),
            "split": (rows, split),
        }
        return RowCosts(**_seconds(operations))
    finally:
        engine.close()


def typical(measured: Sequence[Costs]) -> Costs:
    """Medians of what was measured at different times, constant by constant."""
    keys = [_medians(some) for some in zip(*(costs.keys for costs in measured), strict=True)]
    return Costs(keys, _medians([costs.rows for costs in measured]))


def _medians(constants: Sequence[Constants]) -> Constants:
    first = constants[0]
    times = [name for name in first.__struct_fields__ if isinstance(getattr(first, name), float)]
    return msgspec.structs.replace(
        first, **{name: median(getattr(measured, name) for measured in constants) for name in times}
    )


def _seconds(operations: Operations) -> dict[str, float]:
    """Processor seconds of one operation each: medians of repeats in turn, after a first time that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in operations}
    for _ in range(1 + REPEATS):
        for name, (count, run) in operations.items():
            start = time.process_time()
            run()
            seconds[name].append((time.process_time() - start) / count)
    return {name: median(times[1:]) for name, times in seconds.items()}
