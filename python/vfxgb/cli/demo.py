"""`vfxgb demo`: encrypted bucket sums of real gradients, checked against plain ones.

The bank holds labels and the key; the partner holds a feature. The bank encrypts its gradients, the partner sums
them per bucket of its feature without reading them and rerandomises, the bank decrypts. This is the inner step of
SecureBoost-like training; everything else of training comes later.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from vfxgb.cli.loan_table import LoanTable, load_loan_table
from vfxgb.cli.parser import Commands, positive_int
from vfxgb.cli.progress import Progress
from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import Lane, plan_slots
from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey, generate, scheme_names
from vfxgb.crypto.ints import pack_signed, unpack_signed
from vfxgb.tree.fixed_point import FixedPoint

DEFAULT_ROWS = 4000
BUCKETS = 8
SCORE_STEPS = 8
ENCRYPT_CHUNKS = 20


@dataclass(frozen=True)
class DemoSettings:
    """What the user asked for; `threads` None means all cores."""

    rows: int
    bits: int
    scheme: str
    threads: int | None


@dataclass(frozen=True)
class Bucket:
    """A bucket of the partner's feature and its rows."""

    name: str
    rows: NDArray[np.int64]


@dataclass
class Stopwatch:
    """Seconds and number of operations per step, in order."""

    steps: dict[str, tuple[float, int]] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, operations: int) -> Iterator[None]:
        """Time a `with` block that does `operations` operations."""
        start = time.perf_counter()
        yield
        self.steps[name] = (time.perf_counter() - start, operations)


def add(commands: Commands) -> None:
    """Add `demo` to the commands."""
    parser = commands.add_parser(
        "demo",
        help="encrypt, sum and decrypt the gradients of a loan table",
        description="Two parties in one process: gradients of a loan table are encrypted, summed per bucket by a "
        "party that cannot read them, decrypted, and compared with the plain sums. Uses give_credit.csv.gz of the "
        "folder VFXGB_DATA, or else a generated table.",
    )
    parser.add_argument("--rows", type=positive_int, default=DEFAULT_ROWS, help="rows of the table (%(default)s)")
    parser.add_argument("--bits", type=positive_int, choices=(2048, 3072), default=3072, help="key bits (%(default)s)")
    parser.add_argument("--scheme", choices=scheme_names(), default="paillier", help="(%(default)s)")
    parser.add_argument("--threads", type=positive_int, default=None, help="threads (all cores)")
    parser.set_defaults(run=_run_demo)


def _run_demo(arguments: argparse.Namespace) -> int:
    return run(DemoSettings(arguments.rows, arguments.bits, arguments.scheme, arguments.threads))


def run(settings: DemoSettings) -> int:
    """Run the demo and print it; 0 if the encrypted sums equal the plain ones, else 1."""
    table = load_loan_table(settings.rows)
    g, h = gradients(table)
    buckets = make_buckets(table)
    watch = Stopwatch()
    print(f"data     {table.source}")
    print(f"key      drawing primes of a {settings.bits}-bit {settings.scheme} key ...", flush=True)
    with watch.step("make and self-test the key", 1):
        key = generate(settings.scheme, bits=settings.bits)
    fixed = FixedPoint.for_rows(g.size, 1.0)
    pairs = fixed.encode_pairs(g, h)
    code = ExactCode(g.size, fixed.bits)
    (lane,) = plan_slots(code.widths, 1, key.max_plaintext.bit_length(), together=True).lanes
    print(f"         {key!r}")
    bits = f"gradient {code.widths.g_bits} + hessian {code.widths.h_bits} bits"
    print(f"packing  {fixed.bits} fractional bits; {bits}\n", flush=True)

    plaintexts = unpack_signed(lane.encode([pairs], slice(None)), lane.plaintext_bytes)
    ciphertexts = _encrypt(key, plaintexts, settings.threads, watch)
    with watch.step("bank: write", g.size):
        message = ciphertexts.to_bytes(settings.threads)
    partner_key = PublicKey.from_bytes(key.public_key.to_bytes())
    with watch.step("partner: read and check", g.size):
        received = CiphertextArray.from_bytes(partner_key, message, settings.threads)
    with watch.step("partner: add", g.size):
        sums = [received.sum(bucket.rows, settings.threads) for bucket in buckets]
    with watch.step("partner: rerandomise", len(buckets)):
        answer = [c.rerandomize(settings.threads).to_bytes() for c in sums]
    with watch.step("bank: decrypt", len(buckets)):
        opened = [key.decrypt(CiphertextArray.from_bytes(key.public_key, data), settings.threads)[0] for data in answer]

    identical = _print_sums(buckets, unpack_pairs(lane, opened), pairs, fixed)
    _print_speed(watch)
    _print_view(message, received, code.widths.pair_bits, len(np.unique(pairs, axis=0)))
    return 0 if identical else 1


def gradients(table: LoanTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """g = p - y and h = p(1 - p) of logistic loss after a first model: base rate plus a step of the score."""
    score = np.nan_to_num(table.score, nan=0.0)
    rank = score.argsort(kind="stable").argsort(kind="stable") / score.size
    step = np.floor(SCORE_STEPS * rank) / SCORE_STEPS
    rate = float(np.clip(table.labels.mean(), 1e-3, 1 - 1e-3))
    p = 1 / (1 + np.exp(-(log(rate / (1 - rate)) + 2.0 * (step - 0.5))))
    return p - table.labels, p * (1 - p)


def make_buckets(table: LoanTable) -> list[Bucket]:
    """Quantile buckets of the partner's feature, empty ones left out, missing values last."""
    feature = table.feature
    present = feature[~np.isnan(feature)]
    cuts = np.unique(np.quantile(present, np.arange(1, BUCKETS) / BUCKETS)) if present.size else np.empty(0)
    index = np.where(np.isnan(feature), cuts.size + 1, np.searchsorted(cuts, feature, side="right"))
    edges = ["-inf", *(f"{cut:g}" for cut in cuts), "inf"]
    names = [f"{low} <= {table.feature_name} < {high}" for low, high in pairwise(edges)]
    names.append(f"{table.feature_name} missing")
    found = [Bucket(name, np.flatnonzero(index == i)) for i, name in enumerate(names)]
    return [bucket for bucket in found if bucket.rows.size]


def _encrypt(key: PrivateKey, values: list[int], threads: int | None, watch: Stopwatch) -> CiphertextArray:
    chunk = -(-len(values) // ENCRYPT_CHUNKS)
    progress = Progress("encrypting", len(values))
    with watch.step("bank: encrypt", len(values)):
        ciphertexts = key.encrypt(values[:chunk], threads)
        for start in range(chunk, len(values), chunk):
            progress.update(start)
            ciphertexts = ciphertexts.concat(key.encrypt(values[start : start + chunk], threads))
    return ciphertexts


def unpack_pairs(lane: Lane, opened: list[int]) -> NDArray[np.int64]:
    """(G, H) of each opened sum, int64[len(opened), 2]."""
    packed = pack_signed(opened, 1 << (lane.width - 1), "unpacking sums")
    slots = lane.decode(bytes(packed.data), packed.width, len(opened), sums=1)
    return slots[:, np.argsort(lane.channels)]


def _print_sums(buckets: list[Bucket], opened: NDArray[np.int64], pairs: NDArray[np.int64], fixed: FixedPoint) -> bool:
    width = max(len(bucket.name) for bucket in buckets)
    print(f"{'bucket':<{width}} {'rows':>7} {'G':>14} {'H':>14}")
    equal = 0
    for bucket, found in zip(buckets, opened, strict=True):
        same = np.array_equal(found, pairs[bucket.rows].sum(axis=0))
        equal += same
        G, H = found * fixed.step
        note = "" if same else "  DIFFERS from the plain sum"
        print(f"{bucket.name:<{width}} {bucket.rows.size:>7} {G:>14.6f} {H:>14.6f}{note}")
    identical = equal == len(buckets)
    verdict = "identical to" if identical else "DIFFERENT from"
    print(f"\nencrypted sums are {verdict} the plain integer sums ({equal} of {len(buckets)} buckets)\n")
    return identical


def _print_speed(watch: Stopwatch) -> None:
    print(f"{'step':<28} {'operations':>10} {'us per operation':>17} {'seconds':>9}")
    for name, (seconds, operations) in watch.steps.items():
        print(f"{name:<28} {operations:>10} {1e6 * seconds / operations:>17,.1f} {seconds:>9.3f}")


def _print_view(message: bytes, received: CiphertextArray, pair_bits: int, pairs: int) -> None:
    numbers = received.tolist()
    print(
        f"\nA curious partner saw {len(message):,} bytes: {len(numbers)} ciphertexts of "
        f"{received.public_key.wire_bytes} bytes each, {len(set(numbers))} of them distinct,\n"
        f"while there are {pairs} distinct gradient pairs of "
        f"{pair_bits} bits. The first ciphertext begins {f'{numbers[0]:x}'[:32]}.\n"
        "It learnt how many rows there are, and the public key. The bank learnt one (G, H) per bucket."
    )
