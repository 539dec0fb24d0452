"""`vfxgb bench ops`: the measurements. Their tables are in report.py.

Repeats are interleaved (every operation once, then every operation again), so that a busy moment of the machine
does not hit one operation only; phe runs inside the same loop with the same key.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from vfxgb.bench.ops import phe_peer
from vfxgb.bench.ops.argmaxes import ArgmaxOperation, argmax_operations
from vfxgb.bench.ops.transfers import TransferOperation, transfer_operations
from vfxgb.bench.progress import Progress
from vfxgb.crypto import CiphertextArray, PrivateKey, generate

# Slow operations run on a part of the batch: public encryption costs about ten times the owner's.
PUBLIC_SHARE = 5
DECRYPT_SHARE = 10
SCALE_SHARE = 5
FACTOR_BITS = 16
VALUE_BITS = 40
POOL_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class BenchSettings:
    """What to measure: key bits, ciphertexts per large batch, thread counts, schemes, repeats."""

    bits: int
    count: int
    threads: tuple[int, ...]
    schemes: tuple[str, ...]
    repeats: int


@dataclass
class Operation:
    """One line of the table.

    `run(threads)` does `count` operations; `prepare` and `finish` run outside the clock. `peer` names the operation
    of phe to compare with. `seconds` collects measurements per thread count.
    """

    scheme: str
    name: str
    count: int
    run: Callable[[int], object]
    peer: str | None = None
    prepare: Callable[[], None] | None = None
    finish: Callable[[], None] | None = None
    parallel: bool = True
    seconds: dict[int, list[float]] = field(default_factory=dict)

    def measure(self, threads: int, clock: Callable[[], float] = time.perf_counter) -> None:
        """Run once and record the time."""
        if self.prepare is not None:
            self.prepare()
        try:
            start = clock()
            self.run(threads)
            elapsed = clock() - start
        finally:
            if self.finish is not None:
                self.finish()
        self.seconds.setdefault(threads, []).append(elapsed)

    def microseconds(self, threads: int) -> float | None:
        """Median time of one operation in microseconds, or None if not measured with that many threads."""
        times = self.seconds.get(threads)
        return None if times is None else 1e6 * float(np.median(times)) / self.count


@dataclass(frozen=True)
class Memory:
    """Bytes one ciphertext takes in memory and on the wire, and the bytes of information in it."""

    scheme: str
    in_memory: float
    on_wire: int
    information: float


@dataclass(frozen=True)
class BenchResult:
    """All measurements of a run; `phe` is empty when phe is not installed."""

    settings: BenchSettings
    operations: list[Operation]
    phe: list[Operation]
    memory: list[Memory]
    transfers: list[TransferOperation]
    argmaxes: list[ArgmaxOperation]


def measure(settings: BenchSettings) -> BenchResult:
    """Make the keys, run everything, return the raw numbers. Raises KeySizeError for bits that are not allowed."""
    keys = {
        (scheme, randomness): generate(scheme, settings.bits, randomness)
        for scheme in settings.schemes
        for randomness in ("djn", "short")
    }
    operations: list[Operation] = []
    memory: list[Memory] = []
    for scheme in settings.schemes:
        operations += scheme_operations(keys[scheme, "djn"], keys[scheme, "short"], settings.count)
        memory.append(_memory(keys[scheme, "djn"]))
    peers: list[Operation] = []
    if phe_peer.is_installed():
        yardstick = keys.get(("paillier", "djn")) or generate("paillier", settings.bits)
        peers = [Operation("phe", *peer) for peer in phe_peer.operations(*yardstick.export_primes())]
    transfers = transfer_operations(settings.count)
    argmaxes = argmax_operations(settings.count)
    progress = Progress("measuring", settings.repeats * (len(operations) + len(peers) + 1))
    done = 0
    for _ in range(settings.repeats):
        for operation in [*operations, *peers]:
            counts = settings.threads if operation.parallel and operation.scheme != "phe" else settings.threads[:1]
            for threads in counts:
                operation.measure(threads)
            done += 1
            progress.update(done)
        for threads in settings.threads:
            for transfer in transfers:
                transfer.measure(threads)
            for argmax in argmaxes:
                argmax.measure(threads)
        done += 1
        progress.update(done)
    return BenchResult(settings, operations, peers, memory, transfers, argmaxes)


def scheme_operations(key: PrivateKey, short: PrivateKey, count: int) -> list[Operation]:
    """What is measured of a scheme: `key` has the randomness "djn", `short` the other."""
    generator = np.random.default_rng(1)
    values = generator.integers(-(1 << VALUE_BITS), 1 << VALUE_BITS, count)
    factors = generator.integers(1 << (FACTOR_BITS - 1), 1 << FACTOR_BITS, max(1, count // SCALE_SHARE))
    few = values[: max(1, count // PUBLIC_SHARE)]
    some = values[: max(1, count // DECRYPT_SHARE)]
    public = key.public_key
    a, b = key.encrypt(values), key.encrypt(values)
    a_few, a_some, a_factors = a.take(range(len(few))), a.take(range(len(some))), a.take(range(len(factors)))
    wire = a.to_bytes()
    s = key.scheme
    return [
        Operation(s, "encrypt, owner, djn", count, lambda t: key.encrypt(values, t), "encrypt"),
        Operation(s, "encrypt, owner, short", count, lambda t: short.encrypt(values, t), "encrypt"),
        Operation(s, "encrypt, public, djn", len(few), lambda t: public.encrypt(few, t), "encrypt"),
        Operation(
            s,
            "encrypt, owner, pool",
            len(few),
            lambda t: key.encrypt(few, t),
            "encrypt",
            prepare=lambda: _fill_pool(key, len(few)),
            finish=key.stop_pool,
            parallel=False,
        ),
        Operation(s, "add, in a long sum", count, lambda t: a.sum(threads=t), "add"),
        Operation(s, "add, element-wise", count, lambda t: a.add(b, t), "add"),
        Operation(s, f"times {FACTOR_BITS}-bit integer", len(factors), lambda t: a_factors.scale(factors, t), "scale"),
        Operation(s, "rerandomise", len(few), a_few.rerandomize, prepare=public.rerandomizer.make_table),
        Operation(s, "decrypt", len(some), lambda t: key.decrypt(a_some, t), "decrypt"),
        Operation(s, "to_bytes", count, a.to_bytes),
        Operation(s, "from_bytes, checked", count, lambda t: CiphertextArray.from_bytes(public, wire, t)),
    ]


def _fill_pool(key: PrivateKey, capacity: int) -> None:
    key.start_pool(capacity)
    deadline = time.monotonic() + POOL_TIMEOUT_SECONDS
    while key.pool_level < capacity and time.monotonic() < deadline:
        time.sleep(0.005)


def _memory(key: PrivateKey) -> Memory:
    sample = key.encrypt([0] * 1024)
    information = key.public_key.ciphertext_modulus.bit_length() / 8
    return Memory(key.scheme, sample.nbytes / len(sample), key.public_key.wire_bytes, information)
