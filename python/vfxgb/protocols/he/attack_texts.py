"""What both protocols say about themselves: messages, known attacks, quick settings for tests."""

from collections.abc import Mapping
from typing import Any

from vfxgb.protocols.he.messages import HeGradients, HeKey, HeSums, HeTotals
from vfxgb.transport.messages import Message

MESSAGES: tuple[type[Message], ...] = (HeKey, HeGradients, HeTotals, HeSums)

SOLVED_TABLE = (
    "solved table: every node whose sums are opened gives the active party two linear equations about which rows go "
    "left at each cut; from about 2 x nodes x trees = rows on, the passive party's binned table can be computed, and "
    "a part of it before (E62); the ledger counts the equations, and the audit attack `solve` solves them"
)
SMALL_BUCKETS = (
    "small buckets: the active party sees the sum of every bucket, and a sum over a handful of rows can be solved for "
    "the rows in it, however it was encrypted; min_bucket_rows, fewer bins or fewer precision_bits make it harder "
    "(E62), and the ledger counts the sums over fewer than 20 rows"
)
NODE_SETS = (
    "rows that share a node: a passive party learns which rows are together in a node; rows of one leaf mostly share "
    "a label, so a few known labels spread to the others (E64); the ledger says how pure the known leaves of the "
    "first tree are (E58), and with reduced_leakage passive parties see nothing of that tree"
)
MARKED_ROWS = (
    "marked rows: a dishonest active party can mark rows in the unused bits of their plaintexts and read off the "
    "sums which bucket they are in; passive parties are protected only from an active party that follows the "
    "protocol (E63)"
)
TELLING_RANDOMNESS = (
    "countered, telling randomness: if a sum were sent back as it is, its randomness would tell which ciphertexts "
    "are in it; the passive party rerandomises everything it sends (E61), with randomness of its own that does not "
    "depend on the key's h, so that a key made as a trapdoor does not help (crypto/README.md)"
)
ATTACKS: tuple[str, ...] = (SOLVED_TABLE, SMALL_BUCKETS, NODE_SETS, MARKED_ROWS, TELLING_RANDOMNESS)

# Fast rather than safe: for the tests that run over every protocol. Small chunks, so that there are several.
QUICK: Mapping[str, Any] = {"key_bits": 256, "randomness": "short", "insecure": True, "chunk_rows": 64}
