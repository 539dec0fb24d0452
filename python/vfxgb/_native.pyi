"""The C++ core as Python sees it.

Integers cross this boundary as little-endian bytes of a fixed width, one after the other, so that a batch is
one buffer. Signed values are two's complement; widths are multiples of 8 bytes. Every method that takes
`threads` releases the GIL and can be interrupted. Callers check ranges and keys first (`vfxgb.crypto` does):
what this layer raises is ValueError, and means a caller's mistake.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

Buffer = bytes | bytearray | memoryview | NDArray[np.generic]

def default_path() -> str:
    """The arithmetic kernels new keys use: "avx2" or "portable". VFXGB_SIMD=portable forces the latter."""

def available_paths() -> list[str]:
    """All kernels this machine can run."""

def random_bytes(count: int) -> bytes:
    """Bytes from the process's CSPRNG (ChaCha20, seeded by the operating system)."""

def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """One ChaCha20 block (RFC 8439, section 2.3), for known-answer tests."""

def chacha20_keystream(key: bytes, blocks: int) -> bytes:
    """The first blocks of the ChaCha20 key stream with nonce 0, several at a time, for known-answer tests."""

def add_masks(keys: NDArray[np.uint8], signs: NDArray[np.int8], values: NDArray[np.uint64], threads: int = 1) -> None:
    """values[j] += sum over i of signs[i] * word j of the ChaCha20 key stream of keys[i] (uint8[k, 32]), modulo 2**64.

    In place; signs are 1 and -1.
    """

def wide_masks(
    keys: NDArray[np.uint8], signs: NDArray[np.int8], count: int, modulus: bytes, threads: int = 1
) -> NDArray[np.uint8]:
    """sum over i of signs[i] * piece j of the key stream of keys[i], modulo an odd modulus, for j < count.

    Pieces have the modulus' bits and 128 more, rounded up to whole 64-bit words, so that they are uniform for all that
    matters. uint8[count, w], w the bytes of the modulus.
    """

def shamir_share(
    prime: bytes,
    secrets: NDArray[np.uint8],
    threshold: int,
    points: NDArray[np.uint32],
    threads: int = 1,
    coefficients: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Shares uint8[k, n, w] of secrets uint8[k, w] at n points (cpp/crypto/shamir.h).

    Random polynomials, unless their coefficients uint8[k, threshold - 1, w] above the constant one are given, for
    known-answer tests.
    """

def shamir_reconstruct(
    prime: bytes, points: NDArray[np.uint32], shares: NDArray[np.uint8], threads: int = 1
) -> NDArray[np.uint8]:
    """Secrets uint8[k, w] from shares uint8[k, t, w] at t distinct points."""

def random_normals(count: int) -> NDArray[np.float64]:
    """Standard normal numbers from the CSPRNG (cpp/noise/normal.h)."""

def masked_noise(
    columns: NDArray[np.uint16],
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    cut: NDArray[np.int64],
    missing_left: NDArray[np.int64],
    shaped: NDArray[np.bool_],
    sigma1: float,
    sigma2: float,
    normals: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Noise vectors [k, rows] of MaskedXGBoost for k candidates (cpp/noise/masked_noise.h), from `normals` if given.

    Rows [start[i], start[i + 1]) are node i's; at candidate j a row goes left if its bin in columns[column[j]] is at
    most cut[j] or is missing_left[j] (-1 for none). Where not shaped[j, i], noise does not depend on who goes left.
    """

def add_noise(
    base: NDArray[np.float64],
    noise: NDArray[np.float64],
    start: NDArray[np.int64],
    factor: NDArray[np.float64],
    out: NDArray[np.float64],
    threads: int = 1,
) -> None:
    """out[j, v, row] = base[j, v, row] + factor[j, v, node of row] * noise[j, row]; `out` may be `base`.

    A two-dimensional base is that of every candidate j.
    """

def masked_sums(
    columns: NDArray[np.uint16],
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    cut: NDArray[np.int64],
    missing_left: NDArray[np.int64],
    masked: NDArray[np.float64],
    threads: int = 1,
) -> NDArray[np.float64]:
    """Sums [k, nodes, vectors] of masked [k, vectors, rows] over the rows that go left, rounded once."""

def perturb(mechanism: str, parameters: list[int], values: NDArray[np.int64], threads: int = 1) -> NDArray[np.int64]:
    """One exact draw of a mechanism of cpp/noise/mechanisms.h for each value; parameters in the order of its fields."""

def release_pairs(
    pairs: NDArray[np.int64],
    gradient: tuple[str, list[int], int, int, int],
    hessian: tuple[str, list[int], int, int, int],
    threads: int = 1,
) -> NDArray[np.int64]:
    """Columns of pairs, rescaled and perturbed as noise::Column says: (mechanism or "", parameters, coarser, centre,
    finer) for each.
    """

def perturb_replay(
    mechanism: str, parameters: list[int], values: NDArray[np.int64], words: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], int]:
    """The same draws from the given random words, and how many of them were used: for tests."""

@final
class Ring:
    """Batch arithmetic modulo M = modulus**degree (modulus odd, degree 1 or 2), for tests and benchmarks."""

    def __init__(self, modulus: bytes, degree: int = 1, path: str = "") -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def width(self) -> int:
        """Bytes of one integer modulo M."""
    @property
    def element_bytes(self) -> int:
        """Bytes of one element in kernel layout."""
    def mul(self, a: Buffer, b: Buffer, threads: int = 1) -> bytes: ...
    def square(self, a: Buffer, threads: int = 1) -> bytes: ...
    def product(self, a: Buffer, threads: int = 1) -> bytes: ...
    def power(self, a: Buffer, exponent: bytes, threads: int = 1) -> bytes:
        """Every a to one exponent."""
    def power_each(self, a: Buffer, exponents: Buffer, exponent_width: int, threads: int = 1) -> bytes:
        """a[i] to exponents[i]."""
    def fixed_power(
        self, base: bytes, exponents: Buffer, exponent_width: int, window: int = 0, threads: int = 1
    ) -> bytes:
        """base to exponents[i], by a table of windows of `window` bits (0: chosen by the size of the table)."""
    def digit_products(
        self, bases: Buffer, digits: Buffer, digit_width: int, windows: int, window: int, threads: int = 1
    ) -> bytes:
        """Products of powers of the bases, units, chosen by rows of `windows` digits (cpp/bigint/digit_products.h)."""
    def inverse(self, a: Buffer, threads: int = 1) -> bytes: ...

@final
class PublicKey:
    @staticmethod
    def paillier(n: bytes, h: bytes, exponent_bits: int, path: str = "") -> PublicKey:
        """Randomness is (h**n)**alpha mod n**2 with alpha of `exponent_bits` bits."""
    @staticmethod
    def okamoto_uchiyama(
        n: bytes, g: bytes, h: bytes, exponent_bits: int, plaintext_bits: int, path: str = ""
    ) -> PublicKey:
        """c = g**m h**alpha mod n; |m| < 2**plaintext_bits."""
    @property
    def path(self) -> str: ...
    @property
    def wire_bytes(self) -> int:
        """Bytes of one ciphertext on the wire."""
    @property
    def integer_bytes(self) -> int:
        """Bytes of one ciphertext as an integer."""
    @property
    def element_bytes(self) -> int:
        """Bytes of one ciphertext in memory."""
    def encrypt(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts: ...
    def check_wire(self, data: Buffer, threads: int = 1) -> int:
        """Index of the first ciphertext that is out of range or no unit, or -1."""
    def from_wire(self, data: Buffer, threads: int = 1) -> Ciphertexts: ...
    def check_integers(self, data: Buffer, threads: int = 1) -> int: ...
    def from_integers(self, data: Buffer, threads: int = 1) -> Ciphertexts: ...
    def start_pool(self, capacity: int, threads: int = 1) -> None:
        """Keep up to `capacity` fresh encryptions of zero, made in the background, for encrypt."""
    def stop_pool(self) -> None: ...
    def pool_level(self) -> int: ...
    @property
    def rerandomizer(self) -> Rerandomizer: ...

@final
class Rerandomizer:
    """Encryptions of zero for Ciphertexts.rerandomize (cpp/crypto/rerandomizer.h); belongs to a PublicKey."""

    @property
    def bases(self) -> int:
        """How many random n-th powers masks are products of once there is a table."""
    @property
    def entropy_bits(self) -> int:
        """Random bits that choose one such product."""
    @property
    def has_table(self) -> bool: ...
    @property
    def window(self) -> int:
        """Bits that choose one entry of the table; 0 while there is no table."""
    def plan(self, count: int, threads: int = 1) -> None:
        """Plan for `count` masks in all: makes the table that suits so many at once, if they are worth one."""
    def announce(self, count: int, threads: int = 1) -> None:
        """Announce `count` more masks: makes the table once it would have paid already."""
    def start_pool(self, capacity: int, threads: int = 1) -> None:
        """Keep up to `capacity` masks, made in the background, for rerandomize."""
    def stop_pool(self) -> None: ...
    def pool_level(self) -> int: ...

@final
class PrivateKey:
    """Holds the factors in memory that is wiped when freed."""

    @staticmethod
    def paillier(public: PublicKey, p: bytes, q: bytes, order_p: bytes, order_q: bytes) -> PrivateKey:
        """h has an order dividing order_p modulo p and order_q modulo q (p - 1 and q - 1 will do)."""
    @staticmethod
    def okamoto_uchiyama(public: PublicKey, p: bytes, q: bytes, order_p: bytes, order_q: bytes) -> PrivateKey: ...
    @property
    def plaintext_width(self) -> int:
        """Bytes of one decrypted value (two's complement)."""
    def encrypt(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts: ...
    def decrypt(self, ciphertexts: Ciphertexts, threads: int = 1) -> bytes: ...
    def secrets(self) -> tuple[bytes, bytes, bytes, bytes]:
        """p, q, order_p, order_q: for serialisation only."""
    def start_pool(self, capacity: int, threads: int = 1) -> None: ...
    def stop_pool(self) -> None: ...
    def pool_level(self) -> int: ...

@final
class Ciphertexts:
    """An immutable array of ciphertexts under one public key, in one buffer."""

    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def add(self, other: Ciphertexts, threads: int = 1) -> Ciphertexts:
        """Element by element; either side may have length 1."""
    def add_plain(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts:
        """Add public values without randomness; one value or one per ciphertext."""
    def take(self, rows: NDArray[np.int64]) -> Ciphertexts: ...
    def sum(self, rows: NDArray[np.int64] | None = None, threads: int = 1) -> Ciphertexts:
        """One ciphertext: the sum of all, or of the given rows. An empty sum is the (unrandomised) encryption of 0."""
    def scale(self, values: Buffer, width: int, threads: int = 1) -> Ciphertexts:
        """Times one signed value, or one per ciphertext."""
    def rerandomize(self, threads: int = 1) -> Ciphertexts: ...
    def concat(self, other: Ciphertexts) -> Ciphertexts: ...
    @staticmethod
    def combine(arrays: Sequence[Ciphertexts], values: Buffer, width: int, threads: int = 1) -> Ciphertexts:
        """The sums over k of arrays[k] times the signed values[k], entry by entry (cpp/bigint/multi_power.h)."""
    def to_wire(self, threads: int = 1) -> bytes: ...
    def to_integers(self, threads: int = 1) -> bytes: ...

@final
class BressonGroup:
    """Units modulo n**2 (cpp/crypto/bresson). An element is uint8[element_bytes]: its base-n digits, lower first."""

    def __init__(self, n: bytes, path: str = "") -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def element_bytes(self) -> int: ...
    def check(self, elements: NDArray[np.uint8], threads: int = 1) -> int:
        """Index of the first of elements[k, element_bytes] that is out of range or no unit, or -1."""
    def powers(
        self,
        base: NDArray[np.uint8],
        exponents: NDArray[np.uint8],
        messages: NDArray[np.uint8] | None = None,
        threads: int = 1,
    ) -> NDArray[np.uint8]:
        """base[1, element_bytes] to exponents[k, any], each times 1 + messages[k, bytes of n] n if given."""
    def open(
        self, exponent: bytes, c1: NDArray[np.uint8], c2: NDArray[np.uint8], threads: int = 1
    ) -> tuple[NDArray[np.uint8], int]:
        """(m, -1) with 1 + m n = c2 / c1**exponent, m uint8[k, bytes of n].

        Or the index of the first ciphertext of which the quotient is nothing like that in the place of -1.
        """

@final
class BressonBase:
    """An element, given as base[1, element_bytes], of which many powers are wanted: makes a table when it pays."""

    def __init__(self, group: BressonGroup, base: NDArray[np.uint8]) -> None: ...
    def powers(
        self, exponents: NDArray[np.uint8], messages: NDArray[np.uint8] | None = None, threads: int = 1
    ) -> NDArray[np.uint8]:
        """As BressonGroup.powers; exponents of no more bits than n."""

@final
class ElementProducts:
    """`count` running products of elements of a group, 1 in the beginning."""

    def __init__(self, group: BressonGroup, count: int) -> None: ...
    def multiply(self, factors: NDArray[np.uint8], threads: int = 1) -> int:
        """-1; or the index of the first factor that is out of range or no unit, and then nothing is multiplied."""
    def elements(self, threads: int = 1) -> NDArray[np.uint8]: ...

@final
class PowerProducts:
    """prod over u of base[u]**exponent[u, e] for e < count, bases coming as they like (cpp/bigint/power_products.h)."""

    def __init__(self, group: BressonGroup, count: int, exponent_bits: int, window: int = 0) -> None: ...
    def multiply(self, bases: NDArray[np.uint8], exponents: NDArray[np.uint8], threads: int = 1) -> None:
        """bases[k, element_bytes], exponents[k, count, any]."""
    def elements(self, threads: int = 1) -> NDArray[np.uint8]: ...

@final
class CipherRows:
    """`count` ciphertexts under one key in one buffer, filled piece by piece as they arrive.

    With `path` they are kept in a file there instead of in memory: see Bins.
    """

    def __init__(self, key: PublicKey, count: int, path: str | None = None) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """Bytes the ciphertexts take, in memory or in the file."""
    @property
    def filled(self) -> int:
        """How many of them have been filled."""
    def fill(self, first: int, wire: Buffer, threads: int = 1) -> int:
        """Check wire forms as check_wire does and keep them as ciphertexts first, first + 1, ...

        Returns -1, or the index in `wire` of the first that is out of range or no unit: the whole piece then counts as
        not filled.
        """
    def to_wire(self, first: int, count: int, threads: int = 1) -> bytes:
        """Wire forms of `count` ciphertexts from `first` on. ValueError if some have not been filled."""
    def drop(self) -> None:
        """See Bins.drop."""

# Slots (cpp/codec): several integers in one plaintext.

def encode_slots(values: NDArray[np.int64], offsets: NDArray[np.int32], width: int, threads: int = 1) -> bytes:
    """For each row of values[n, c] the integer sum_j values[i, j] << offsets[j], `width` bytes (what encrypt takes).

    0 <= offsets[j], in any order; values may be negative and slots may overlap. ValueError names the first row whose
    integer does not fit `width` bytes.
    """

def decode_slots(
    data: Buffer, width: int, bits: NDArray[np.int32], signed: NDArray[np.bool_], threads: int = 1
) -> NDArray[np.int64]:
    """The slots of integers of `width` bytes, int64[count, len(bits)], lowest slot first; slot j has bits[j] bits.

    A signed slot is the centred remainder, in [-2**(b - 1), 2**(b - 1)), an unsigned one lies in [0, 2**b);
    1 <= bits[j] <= 63. ValueError names the first integer of which something remains above the last slot.
    """

def quantise_shifted(
    values: NDArray[np.float64], shift: float, limit: float, alpha_max: float, bits: int
) -> NDArray[np.int64]:
    """rint((2**bits - 1) * clip(v - shift, 0, limit) / alpha_max), of the shape of `values`, in [0, 2**bits).

    0 < limit <= alpha_max, both finite, 1 <= bits <= 52. ValueError if a value is NaN.
    """

# Trees (cpp/gbdt). Whatever takes `threads` releases the GIL. Sums are int64 fixed point: exact, and the same for every
# thread count. Node ids are chosen by the caller; node 0 is the root. Arrays of another kind are a TypeError.

@final
class Bins:
    """The binned features of one party, row-major; uint8 per value where a feature needs at most 255 bins, else uint16.

    cuts[f] are strictly ascending, not NaN, at most 65533. A value x lies in bin b = number of cuts <= x, so
    x < cuts[f][b] if and only if its bin is <= b; feature f has n_bins[f] = len(cuts[f]) + 1 bins, and NaN is bin
    n_bins[f]. All rows are missing until they are filled. XGBoost's cuts (get_quantile_cut) begin below the lowest
    value and end above the highest: with them, and only then, "missing against all others" is a candidate split too.

    With `path` the bins are kept in a file that is mapped into memory, instead of in memory alone. The file is created
    new, for its owner alone, with room for all bins (OSError if there is none, or if the file exists), and its name is
    removed at once: nothing is left behind, however the process ends. What it held is not overwritten on the disk.
    """

    def __init__(self, n_rows: int, cuts: list[NDArray[np.float64]], path: str | None = None) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins per feature without the missing one, int32[n_features] (a copy)."""
    @property
    def nbytes(self) -> int:
        """Bytes the binned values take, in memory or in the file."""
    def fill(
        self, feature: int, values: NDArray[np.float64] | NDArray[np.float32], first_row: int = 0, threads: int = 1
    ) -> int:
        """Bins values into rows first_row, first_row + 1, ... of a feature; values may be strided.

        Returns how many are NaN. Not while another thread uses the object.
        """
    def column(self, feature: int) -> NDArray[np.uint16]:
        """The bins of one feature, uint16[n_rows] (a copy)."""
    def drop(self) -> None:
        """Give the memory that holds the file back: it is read again when wanted. Without a file: nothing."""
    def __getstate__(self) -> tuple[int, int, tuple[bytes, ...], bytes]:
        """For copies in a party's other processes: a version, rows, cuts, bins. A copy is in memory, without a file."""
    def __setstate__(self, state: tuple[int, int, tuple[bytes, ...], bytes], /) -> None:
        """ValueError if the sizes do not fit or something is no bin."""

@final
class RowPartition:
    """Which node each row is in, while a tree grows. At first all rows are in node 0.

    `sampled`, ascending, are the rows whose gradients count (subsampling; not eval rows); None means all. The others
    travel along, so that their leaf is known, but are in no sum. A node's rows are its sampled rows, ascending,
    followed by its other rows, ascending.
    """

    def __init__(self, n_rows: int, sampled: NDArray[np.int32] | None = None) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_sampled(self) -> int: ...
    def nodes(self) -> NDArray[np.int32]:
        """The nodes that have not been split, ascending."""
    def has(self, nodes: NDArray[np.int32]) -> bool:
        """Whether every node exists and has not been split."""
    def counts(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """int64[len(nodes), 2]: sampled rows and other rows of each node."""
    def rows(self, node: int) -> NDArray[np.int32]:
        """The sampled rows of a node (a copy)."""
    def other_rows(self, node: int) -> NDArray[np.int32]:
        """The other rows of a node (a copy)."""
    def left_bits_size(self, nodes: NDArray[np.int32]) -> int:
        """Bytes of left bits for these nodes."""
    def split(
        self,
        nodes: NDArray[np.int32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        bits: Buffer,
        threads: int = 1,
    ) -> None:
        """Replaces each node by its children left[i] and right[i] (new ids, all distinct).

        `bits` as left_bits() makes them: node after node, bit j (lowest bit of a byte first) says that the j-th sampled
        row goes left; then, starting on a new byte, the same for the other rows; each node starts on a new byte and
        spare bits are 0. Nothing changes when the arguments are refused.
        """
    def leaves(self, threads: int = 1) -> NDArray[np.int32]:
        """The node of every row, int32[n_rows]."""
    def add_values(self, values: NDArray[np.float32], out: NDArray[np.float32], column: int, threads: int = 1) -> None:
        """out[row, column] += values[node of the row]. `out`: float32[n_rows, K], C-ordered, changed in place."""
    def copy(self) -> RowPartition:
        """A partition of its own: splits of one do not change the other."""
    def __getstate__(self) -> tuple[int, bytes, bytes]:
        """For copies in a party's other processes: a version, the nodes with their numbers of rows, all rows."""
    def __setstate__(self, state: tuple[int, bytes, bytes], /) -> None:
        """ValueError unless every row is in one node, and a node's rows ascend."""

# Rows in shards: contiguous ascending ranges of rows, each with a partition of its own. A node's sampled rows are those
# of shard 0, then those of shard 1, ...; so are its other rows.

def split_left_bits(bits: Buffer, counts: NDArray[np.int64]) -> tuple[list[bytes], NDArray[np.int64]]:
    """The left bits of each shard, and how many rows go left, int64[m, S, 2], out of left bits of all rows.

    counts int64[m, S, 2]: sampled and other rows of each of m nodes in each of S shards. Bits are laid out as
    RowPartition.split says. ValueError if the number of bytes does not fit or a spare bit is set.
    """

def join_left_bits(parts: Sequence[Buffer], counts: NDArray[np.int64]) -> bytes:
    """The left bits of all rows out of those of each shard: the inverse of split_left_bits, and refuses the same."""

def logistic(
    margins: NDArray[np.float32],
    labels: NDArray[np.float32],
    weights: NDArray[np.float32] | None = None,
    threads: int = 1,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(g, h) of binary:logistic, float32[n] each, in XGBoost's arithmetic."""

def encode_pairs(
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating],
    scale: float,
    step: float,
    rows: NDArray[np.int32] | None,
    out: NDArray[np.int64],
    threads: int = 1,
) -> bool:
    """Writes the integers next to gradients / step and hessians / step to `out`, int64[n, 2], for `rows` or all.

    Both float32[n] or both float64[n], possibly strided. False, with `out` undefined, when a magnitude is above scale.
    """

def left_bits(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    features: NDArray[np.int32],
    split_bins: NDArray[np.int32],
    default_left: NDArray[np.bool_],
    threads: int = 1,
) -> bytes:
    """Who goes left when nodes[i] is split: bin of features[i] <= split_bins[i], or missing and default_left[i].

    For RowPartition.split, which documents the layout. 0 <= split_bins[i] < n_bins (the cut's index).
    """

def histogram(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    gh: NDArray[np.int64],
    features: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Gradient sums per node and bin over sampled rows, int64[len(nodes), total_bins, 2].

    gh is int64[m, 2] with m > every sampled row. Bins of the given features (ascending ids; None means all) follow each
    other; total_bins = sum of their n_bins. The missing bin is left out: it is the node's sum minus the rest.
    """

def survey_keys(column: NDArray[np.float32]) -> tuple[int, tuple[int, int], tuple[int, int], NDArray[np.int64]]:
    """Of a column, float32[n], contiguous, without NaN: (numbers, (smallest key, rows), (largest, rows), counts).

    counts: int64[65536], keys (vfxgb.binning.keys) by their upper 16 bits.
    """

def refine_keys(column: NDArray[np.float32], prefixes: NDArray[np.uint32], level: int) -> NDArray[np.int64]:
    """How keys that begin with `prefixes`, ascending, go on: int64[len(prefixes), 256], by their next 8 bits.

    `level`: 1 for prefixes of 16 bits, 2 for 24. Raises ValueError for others.
    """

def histogram_counts(
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    features: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Sampled rows per node and bin, int64[len(nodes), total_bins]."""

def node_sums(
    partition: RowPartition, nodes: NDArray[np.int32], gh: NDArray[np.int64], threads: int = 1
) -> NDArray[np.int64]:
    """Gradient sums over the sampled rows of each node, int64[len(nodes), 2]."""

def left_node_sums(
    partition: RowPartition, nodes: NDArray[np.int32], bits: Buffer, gh: NDArray[np.int64], threads: int = 1
) -> NDArray[np.int64]:
    """Gradient sums over the sampled rows of each node that go left, by `bits` of left_bits(), int64[len(nodes), 2]."""

def candidates(
    n_bins: NDArray[np.int32], has_missing: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The candidate splits in XGBoost's order: feature, bin (index of the cut), default_left, one entry each.

    Per feature (index into n_bins): cuts ascending with missing right; then, if has_missing, cuts descending with
    missing left. A feature of n bins has n - 1 cuts.
    """

def left_sums(
    histograms: NDArray[np.int64],
    totals: NDArray[np.int64],
    n_bins: NDArray[np.int32],
    has_missing: NDArray[np.bool_],
    order: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Sums left of each candidate, int64[m, c, 2], from histograms int64[m, sum(n_bins), 2] and totals int64[m, 2].

    out[:, j] belongs to candidate j of candidates(n_bins, has_missing), or to candidate order[j] (a permutation).
    """

def complete_sums(
    built: NDArray[np.int64],
    build: NDArray[np.int64],
    sibling: NDArray[np.int64],
    parent: NDArray[np.int64],
    previous: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Sums int64[m, c, 2] of all nodes of a level: built[i] for node build[i]; elsewhere (sibling[k] >= 0)
    previous[parent[k]] minus those of node sibling[k]."""

def select_tokens(
    start: NDArray[np.int64], tokens: NDArray[np.int64], positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(start, tokens) of the lists at `positions` alone; list i is tokens[start[i]:start[i + 1]]."""

def first_tokens(
    start: NDArray[np.int64], tokens: NDArray[np.int64], order: NDArray[np.int64] | None, count: int
) -> NDArray[np.int64]:
    """Of each list the token that stands first in true order, order[token] (None: the token itself).

    ValueError for a list that is empty or has a token twice, and for a token that is not below `count`.
    """

@final
class CipherSums:
    """Encrypted gradient sums per node, feature and bin (missing values included): what cipher_histogram makes.

    A bucket may have been left out: it is *absent*, and is the node's total minus the feature's other buckets. Sums of
    shards, made with cipher_histogram(absent=...), are joined, and given the totals of all rows then.
    """

    @staticmethod
    def join(parts: Sequence[CipherSums], threads: int = 1) -> CipherSums:
        """The sums over the rows of all parts, bucket by bucket.

        Key, number of nodes and features must be the same, and parts have no totals. A bucket that is absent in a part
        is absent in the result, and what others have of it is dropped. ValueError also if parts lack different buckets
        of a feature in a node. `additions` and `rows_additions` add up, with the additions made here.
        """
    def with_totals(self, totals: Ciphertexts) -> CipherSums:
        """These sums (a copy) with the encrypted sum of each node, from which absent buckets follow."""
    def to_bytes(self, threads: int = 1) -> bytes:
        """For a party's own machines, whatever their kernels; totals and the counts of additions included."""
    @staticmethod
    def from_bytes(key: PublicKey, data: Buffer, threads: int = 1) -> CipherSums:
        """What to_bytes made. ValueError for anything else; that ciphertexts are units is not checked."""

    @property
    def nodes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def additions(self) -> int:
        """Homomorphic additions so far, exactly: rows, marginals, left sums; an inversion counts as its 3 products."""
    @property
    def rows_additions(self) -> int:
        """What one addition per row and feature would be: rows of the nodes times features."""
    def left_sums(
        self,
        has_missing: NDArray[np.bool_],
        order: NDArray[np.int64] | None = None,
        available: NDArray[np.bool_] | None = None,
        threads: int = 1,
    ) -> Ciphertexts:
        """Sums left of each candidate, nodes * c ciphertexts, node by node: left_sums() of the encrypted histogram.

        has_missing: of the features summed. Position j belongs to candidate order[j] (a permutation; None: j).
        available bool[nodes, c], by *candidate* and not by position: where False, the position holds an encryption of
        zero. Nothing here is randomised: rerandomize() before anything leaves. ValueError if a bucket is absent and
        there are no totals.
        """
    def buckets(self, threads: int = 1) -> Ciphertexts:
        """All bucket sums: per node and feature n_bins + 1 ciphertexts, the last of missing values. For tests.

        ValueError as left_sums.
        """

@final
class RootSums:
    """The encrypted sums of a tree's root, added up while the ciphertexts arrive.

    place[row] is the position in `rows` of the ciphertext of a sampled row (None: the row's own number); `sampled`
    ascending, None for all rows of `bins`; no two sampled rows may have one position.
    """

    def __init__(
        self,
        rows: CipherRows,
        bins: Bins,
        place: NDArray[np.int32] | None,
        sampled: NDArray[np.int32] | None,
        features: NDArray[np.int32],
        joint: bool,
    ) -> None: ...
    def add(self, first: int, count: int, threads: int = 1) -> None:
        """Adds ciphertexts first .. first + count - 1 of `rows`, which have been filled and not been added."""
    def finish(self, totals: Ciphertexts | None, threads: int = 1) -> CipherSums:
        """After every sampled row's ciphertext has been added, once. `totals`: see cipher_histogram; length 1."""

def cipher_histogram(
    rows: CipherRows,
    place: NDArray[np.int32] | None,
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    totals: Ciphertexts | None,
    features: NDArray[np.int32],
    joint: bool,
    threads: int = 1,
    absent: NDArray[np.int32] | None = None,
) -> CipherSums:
    """Encrypted sums over the sampled rows of each node, for the features given (ascending ids).

    place[row] is the position in `rows` of the row's ciphertext (None: the row's own number). totals: the encrypted sum
    of each node; where it saves additions, a largest bucket is the total minus the others. None: every row is added.
    joint: sum into joint buckets of groups of features first where that takes fewer additions. `rows` must be full.

    absent, for shards, whose totals nobody has (totals is None then): of each feature given, the bin whose bucket need
    not be summed (n_bins for missing values, -1 for none), the same for all shards. Where it saves additions, a group
    of features leaves out the rows that lie in that bin of each of them, and these buckets are absent in the node.
    """

def pack_sums(x: Ciphertexts, per: int, shift_bits: int, threads: int = 1) -> Ciphertexts:
    """Ciphertext i holds the sum over j < per of x[i * per + j] << (shift_bits * j); the last may hold fewer."""

@final
class SplitRule:
    """How splits are scored: XGBoost's parameters, and scale, the value of the integer 1 in a gradient sum.

    All finite and not negative, scale positive. With float32=True every term is rounded as XGBoost's hist rounds it
    (parameters, weights, the gains of children and parent, the loss change), so that near-ties are decided alike: from
    equal sums the gains are XGBoost's to the last bit. With False everything is double. With first_order=True hessians
    play no part in scores: the loss change is -2 G_left G_right / reg_lambda, never 0; weights are the same.
    """

    def __init__(
        self,
        scale: float,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        min_child_weight: float = 1.0,
        max_delta_step: float = 0.0,
        float32: bool = True,
        first_order: bool = False,
    ) -> None: ...
    def score(
        self,
        left: NDArray[np.int64],
        totals: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None = None,
        constraint: NDArray[np.int8] | None = None,
        bounds: NDArray[np.float64] | None = None,
        threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """The best loss change (XGBoost's loss_chg) of each of m nodes over c candidates, and who reaches it.

        left int64[m, c, 2], totals int64[m, 2]; allowed bool[m, c]; constraint int8[c], the monotone direction (-1, 0,
        1) of the candidate's feature; bounds float64[m, 2], lower and upper limit of the node's weight (give both or
        neither: XGBoost scores differently once any feature is constrained).
        Returns gain float64[m]; start int64[m + 1]; tied int64[start[m]]: node i's best candidates are
        tied[start[i]:start[i + 1]], ascending. A candidate counts if both children have hessian >= min_child_weight and
        > 0 and its gain is > 0 (finite); with none, the gain is 0 and nothing is tied. The caller still has to refuse
        gain <= 1e-6 (XGBoost's kRtEps) and gain < gamma.
        """
    def weights(self, totals: NDArray[np.int64], bounds: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Optimal weight of each node before the learning rate, float64[m], within bounds float64[m, 2] if given."""

@final
class Forest:
    """Trees over raw features, for local prediction with a pooled model.

    Nodes of tree t are tree_start[t]:tree_start[t + 1], the root first; feature < 0 marks a leaf; left and right count
    from the tree's root and are greater than the node's own number; x < threshold goes left, NaN by default_left.
    """

    def __init__(
        self,
        tree_start: NDArray[np.int64],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        default_left: NDArray[np.bool_],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        n_features: int,
    ) -> None: ...
    @property
    def n_trees(self) -> int: ...
    def leaves(
        self, X: NDArray[np.float64] | NDArray[np.float32], first_tree: int = 0, n_trees: int = -1, threads: int = 1
    ) -> NDArray[np.int32]:
        """The leaf of every row in the trees, int32[n_rows, n_trees], numbers within the tree. X may be strided."""
    def margins(
        self,
        X: NDArray[np.float64] | NDArray[np.float32],
        values: NDArray[np.float64],
        group: NDArray[np.int32],
        n_groups: int,
        first_tree: int = 0,
        n_trees: int = -1,
        threads: int = 1,
    ) -> NDArray[np.float64]:
        """Sums of values[node] over the leaves of each group[tree], in tree order, float64[n_rows, n_groups]."""

# Secure matrix multiplication (cpp/smm). `bins` uint16[F, n]: the bins of a node's rows, feature by feature, where
# n_bins[f] means missing; feature f has n_bins[f] + 1 cells. B: the n x C matrix of the cells' indicators, features one
# after the other, the missing cell of each last. Vectors are rows. ValueError for a bin that does not exist.

def cell_sums(
    bins: NDArray[np.uint16], n_bins: NDArray[np.int32], vectors: NDArray[np.float64], threads: int = 1
) -> NDArray[np.float64]:
    """Sums of the vectors, float64[r, n], over each cell: B^T vectors^T, float64[C, r]. The same for all threads."""

def subtract_cells(
    bins: NDArray[np.uint16],
    n_bins: NDArray[np.int32],
    weights: NDArray[np.float64],
    vectors: NDArray[np.float64],
    threads: int = 1,
) -> None:
    """vectors -= (B weights)^T, in place; weights float64[C, r], vectors float64[r, n], C-ordered."""

def cell_pairs(bins: NDArray[np.uint16], n_bins: NDArray[np.int32], threads: int = 1) -> NDArray[np.int64]:
    """B^T B, int64[C, C]: rows that lie in both cells."""

def add_left(
    bins: NDArray[np.uint16],
    n_bins: NDArray[np.int32],
    features: NDArray[np.int32],
    split_bins: NDArray[np.int32],
    default_left: NDArray[np.bool_],
    out: NDArray[np.float64],
    threads: int = 1,
) -> None:
    """out[j, i] += 1 where row i goes left at split j: its bin is <= split_bins[j], or missing and default_left[j].

    `features` count from 0 over the rows of `bins`; out float64[k, n], C-ordered, changed in place.
    """

def inner_products(a: NDArray[np.float64], b: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]:
    """a b^T, float64[m, k], of float64[m, n] and float64[k, n]; both may be some columns of a larger array.

    The same for all threads and processors; the error of a long sum is about that of a sum of its square root's length.
    """

def combine(
    weights: NDArray[np.float64],
    vectors: NDArray[np.float64],
    out: NDArray[np.float64],
    add: bool = False,
    threads: int = 1,
) -> None:
    """out = weights vectors, or out += weights vectors, in place: float64[m, k] times float64[k, n].

    `vectors` and `out` may be some columns of larger arrays, and the same array unless `add`.
    """

def independent_columns(
    gram: NDArray[np.float64], zero: float, threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Independent columns of a matrix, by its Gram matrix float64[m, m]: (chosen int64[k], X float64[k, k]).

    Chosen by diagonal pivoting until no column is further than sqrt(zero) from their span. X is lower triangular, and
    X^T X the inverse of the Gram matrix of the chosen columns.
    """

def keyed_normals(key: bytes, first: int, count: int, threads: int = 1) -> NDArray[np.float64]:
    """Numbers first .. first + count - 1 of the standard normal numbers that belong to a key of 32 bytes."""

# Oblivious transfer (cpp/ot). A block is 16 bytes. `session` (32 bytes), `domain` and `block` name the public key of
# the hash (cpp/ot/hash.h): both parties use the same. `leaves` int32[s]: trees of so many leaves, `rows` of each.
# Trees, transfers, corrections and co-paths stand shape by shape, row by row, level by level (cpp/ot/ggm.h). T: the
# levels of a row's trees together, sum of max(1, ceil(log2 leaves)). `holes` uint16[s, rows]: each tree's secret leaf.

def aes_path() -> str:
    """The AES in use: "vaes", "aesni" or "portable". VFXGB_SIMD=portable forces the last."""

def aes_encrypt(key: bytes, blocks: Buffer) -> NDArray[np.uint8]:
    """AES-128 of each block, uint8[n, 16], for known-answer tests."""

def ot_hash(session: bytes, domain: int, block: int, level: int, blocks: Buffer) -> NDArray[np.uint8]:
    """The hash of each block with the tweak cut_tweak(level), uint8[n, 16], for known-answer tests."""

@final
class OtSender:
    """Sender of correlated transfers by extension: q = t ^ choice Delta (cpp/ot/iknp.h).

    seeds uint8[128, 16]: of each pair, the one that bit i of delta names.
    """

    def __init__(self, delta: bytes, seeds: NDArray[np.uint8]) -> None: ...
    def extend(self, first_group: int, u: Buffer, threads: int = 1) -> NDArray[np.uint8]:
        """q uint8[128 groups, 16] from the receiver's 2048 bytes a group. Never use a group's number twice."""

@final
class OtReceiver:
    """Receiver of correlated transfers by extension; seeds uint8[128, 2, 16]."""

    def __init__(self, seeds: NDArray[np.uint8]) -> None: ...
    def extend(self, first_group: int, choices: Buffer, threads: int = 1) -> tuple[bytes, NDArray[np.uint8]]:
        """(u to send, t uint8[128 groups, 16]) for 16 bytes of choices a group, lowest bit first."""

def weighted_sum(key: bytes, rows: Buffer, threads: int = 1) -> bytes:
    """The sum in GF(2^128) of AES(key, j) times row j (cpp/ot/consistency.h)."""

def weighted_choices(key: bytes, choices: Buffer) -> bytes:
    """The sum of AES(key, j) over the bits j that are set."""

def field_product(a: bytes, b: bytes) -> bytes:
    """A product in GF(2^128)."""

def tree_choices(leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
    """Choices of rows * T transfers for OtReceiver.extend, then zeros. ValueError for a hole that is no leaf."""

def tree_corrections(
    session: bytes,
    domain: int,
    block: int,
    delta: bytes,
    leaves: NDArray[np.int32],
    rows: int,
    q: Buffer,
    threads: int = 1,
) -> tuple[NDArray[np.uint8], bytes]:
    """Owner: (roots uint8[s, rows, 16] to keep, rows * (T - s) corrections to send) from rows * T transfers q."""

def tree_copaths(
    session: bytes,
    domain: int,
    block: int,
    leaves: NDArray[np.int32],
    holes: NDArray[np.uint16],
    t: Buffer,
    corrections: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """Other party: co-paths uint8[rows * T, 16] to keep, from rows * T transfers t and the owner's corrections."""

def tree_leaves(
    session: bytes,
    domain: int,
    block: int,
    delta: bytes,
    leaves: NDArray[np.int32],
    roots: NDArray[np.uint8],
    threads: int = 1,
) -> NDArray[np.uint8]:
    """The leaves of every tree and, where they are no power of two, the sum of the nodes cut off, uint8[n, 16]."""

def tree_leaves_punctured(
    session: bytes,
    domain: int,
    block: int,
    leaves: NDArray[np.int32],
    holes: NDArray[np.uint16],
    copaths: Buffer,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """The same from the co-paths; 0 in place of the secret leaves."""

# Shares of gradient sums (cpp/ot_shares/slot_trees.h). A pair is two numbers modulo 2^64, uint64[..., 2]. `leaves`
# int32[s]: of the trees of each feature slot. `counter` and `run` make the tweak of a tree of boosting: never use both
# twice with one set of trees. `slots` int32[k]: ascending; cells: the leaves of these slots together.

TREES_DOMAIN: int

@final
class OwnedTrees:
    """The active party's trees of masks: `rows` for every slot, a key of the hash for each block of `block_rows`."""

    def __init__(self, session: bytes, delta: bytes, leaves: NDArray[np.int32], rows: int, block_rows: int) -> None: ...
    def fill(self, block: int, roots: Buffer) -> None:
        """The roots of a block of rows, as tree_corrections gives them for domain TREES_DOMAIN and this block."""
    def cache(self, threads: int = 1) -> None:
        """Keep all leaves, 16 bytes each, instead of growing them anew for each sum. No fill after it."""
    def cover(
        self,
        counter: int,
        run: int,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        pairs: NDArray[np.int64],
        threads: int = 1,
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(d uint64[k, len(rows), 2]: pairs[row] plus all masks of its tree; uint64[cells, 2]: masks summed over rows).

        `rows`: ascending.
        """
    def sums(
        self,
        counter: int,
        run: int,
        partition: RowPartition,
        nodes: NDArray[np.int32],
        slots: NDArray[np.int32],
        threads: int = 1,
    ) -> NDArray[np.uint64]:
        """Masks summed over the sampled rows of each node, uint64[nodes, cells, 2]."""

@final
class HeldTrees:
    """The passive party's: the same trees punctured at holes uint16[s, rows], the bins of its rows."""

    def __init__(
        self, session: bytes, leaves: NDArray[np.int32], holes: NDArray[np.uint16], block_rows: int
    ) -> None: ...
    def fill(self, block: int, copaths: Buffer) -> None:
        """The co-paths of a block of rows, as tree_copaths gives them."""
    def cache(self, threads: int = 1) -> None:
        """As OwnedTrees.cache."""
    def row_sums(
        self,
        counter: int,
        run: int,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        d: NDArray[np.uint64],
        place: NDArray[np.int32] | None = None,
        threads: int = 1,
    ) -> NDArray[np.uint64]:
        """Shares summed over ascending `rows`, uint64[cells, 2].

        d: uint64[k, places, 2], that of row i at place[i], or at i where `place` is None.
        """
    def sums(
        self,
        counter: int,
        run: int,
        partition: RowPartition,
        nodes: NDArray[np.int32],
        slots: NDArray[np.int32],
        d: NDArray[np.uint64],
        place: NDArray[np.int32] | None = None,
        threads: int = 1,
    ) -> NDArray[np.uint64]:
        """Shares summed over the sampled rows of each node, uint64[nodes, cells, 2]."""

def pack_pairs(pairs: NDArray[np.uint64], g_bits: int, h_bits: int, threads: int = 1) -> bytes:
    """The low bits of all pairs, one after the other without gaps (cpp/ot_shares/pair_bits.h)."""

def unpack_pairs(data: Buffer, count: int, g_bits: int, h_bits: int, threads: int = 1) -> NDArray[np.uint64]:
    """The reverse, uint64[count, 2]. ValueError for another number of bytes or a spare bit set."""

def left_shares(cells: NDArray[np.uint64], n_bins: NDArray[np.int32], missing: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Left sums of all candidates, uint64[m, c, 2], from sums per leaf, uint64[m, n_bins.sum() + missing.sum(), 2]."""

def cuckoo_table(ids: NDArray[np.uint8], key: bytes, bins: int, threads: int = 1) -> NDArray[np.uint32] | None:
    """The entry 3 id + hash in each bin, 2^32 - 1 in an empty one; None if ids uint8[n, 16] found no place."""

def bin_order(
    ids: NDArray[np.uint8], key: bytes, bins: int, threads: int = 1
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(all 3 n entries bin by bin, uint32[bins + 1] where each bin begins)."""

@final
class OprfReceiver:
    """Receiver of an OPRF in every bin (cpp/psi/oprf.h); session 32 bytes, seeds uint8[512, 2, 16]."""

    def __init__(self, session: bytes, seeds: NDArray[np.uint8]) -> None: ...
    def mask(
        self, first_group: int, ids: NDArray[np.uint8], entries: NDArray[np.uint32], threads: int = 1
    ) -> tuple[bytes, NDArray[np.uint64]]:
        """(8192 bytes a group for the sender, the values) of whole groups of 128 bins, which hold `entries`.

        Values of empty bins mean nothing. Never use a group's number twice.
        """

@final
class OprfSender:
    """Sender of an OPRF in every bin; choices 64 bytes, seeds uint8[512, 16]: of each pair, the one a bit names."""

    def __init__(self, session: bytes, choices: bytes, seeds: NDArray[np.uint8]) -> None: ...
    def evaluate(
        self,
        first_group: int,
        u: Buffer,
        ids: NDArray[np.uint8],
        order: NDArray[np.uint32],
        offsets: NDArray[np.uint32],
        values: NDArray[np.uint64],
        threads: int = 1,
    ) -> None:
        """Write the values of the entries in the bins of some groups to values uint64[3 n], in place, by entry.

        u: the receiver's bytes for them; order and offsets: as bin_order made them for all bins.
        """

def store_size(keys: int) -> int:
    """Numbers in an oblivious key-value store (cpp/psi/store.h) of so many keys."""

def store_encode(
    seed: bytes, ids: NDArray[np.uint8], values: NDArray[np.uint64], threads: int = 1
) -> NDArray[np.uint64] | None:
    """The store of values uint64[3 n] by entry, under a seed of 16 bytes; None if the seed does not serve."""

def store_decode(
    seed: bytes,
    ids: NDArray[np.uint8],
    entries: NDArray[np.uint32],
    keys: int,
    store: NDArray[np.uint64],
    threads: int = 1,
) -> NDArray[np.uint64]:
    """The values of entries uint32[k], 3 id + hash, in a store of so many keys."""
