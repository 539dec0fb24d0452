"""The encrypted protocols beyond conformance: schemes, switches, what travels, what the active party can tell from it.

Known answers 12 to 14 and 23 of ERRATA section 4.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb import _native
from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import Disclosed, PassiveContext, PassiveLevel, PassiveNodes, PassiveTree
from vfxgb.crypto import CiphertextArray, PrivateKey
from vfxgb.data.table import Table
from vfxgb.errors import CapacityError, KeySizeError, ProtocolParameterError
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.he.messages import HeGradients, HeKey, HeSums, HeTotals, TreeSums, TreeTotals
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.train.simulate import FitResult
from vfxgb.transport.channel import memory_channels
from vfxgb.transport.messages import Catalogue, Message, pack_bytes

N_TRAIN, N_ROWS = 220, 300
BOTH = ("secureboost", "batch_he")
Train = Callable[..., FitResult]


@pytest.fixture
def encrypted() -> Train:
    """encrypted(problem, protocol, parties, **protocol_params over the quick ones)."""

    def run(problem: Any, protocol: str, n_parties: int = 2, **params: Any) -> FitResult:
        return fit_tables(
            problem.tables(n_parties),
            "p0",
            problem.y,
            problem.weight,
            N_TRAIN,
            problem.params,
            protocol=protocol,
            protocol_params={**protocol_by_name(protocol).quick_params, **params},
            evals=[("valid", slice(N_TRAIN, N_ROWS))],
        )

    return run


@pytest.fixture
def messages(monkeypatch) -> list[Message]:
    """Every message of the runs that follow, in the order in which the active party saw them."""
    seen: list[Message] = []
    record = Ledger.record
    monkeypatch.setattr(Ledger, "record", lambda self, *entry: (seen.append(entry[2]), record(self, *entry))[1])
    return seen


# 12: the same model as plain.


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
@pytest.mark.parametrize("he", BOTH)
@pytest.mark.parametrize(
    ("name", "passive"),
    [("binary", 1), ("missing multiclass", 2), ("regression", 3), ("weights", 2), ("goss", 3), ("goss multiclass", 1)],
)
def test_schemes(he, scheme, name, passive, make_problem, train, encrypted, model_of) -> None:
    problem = make_problem(name, n_estimators=2)
    bits = {"paillier": 256, "ou": 448}[scheme]
    found = encrypted(problem, he, passive + 1, scheme=scheme, key_bits=bits)
    assert model_of(found) == model_of(train(problem, "plain", 1))


@pytest.mark.parametrize("switch", ["joint_buckets", "pack_sums", "subtract", "pool", "stream"])
@pytest.mark.parametrize("he", BOTH)
def test_switches_change_no_model(he, switch, make_problem, train, encrypted, model_of) -> None:
    problem = make_problem("missing multiclass", n_estimators=3)
    expected = model_of(train(problem, "plain", 1))
    assert model_of(encrypted(problem, he, 3, **{switch: False})) == expected


@pytest.mark.parametrize("he", BOTH)
def test_all_switched_off(he, make_problem, train, encrypted, model_of) -> None:
    off = dict.fromkeys(["joint_buckets", "pack_sums", "subtract", "pool", "stream"], False)
    problem = make_problem("min bucket rows", n_estimators=3)
    assert model_of(encrypted(problem, he, **off)) == model_of(train(problem, "plain", 1))


@pytest.mark.parametrize("he", BOTH)
@pytest.mark.parametrize("bits", [1, 12, 40])
def test_fewer_bits(he, bits, make_problem, encrypted, model_of) -> None:
    """Coarser gradients make another model, and the one that plain makes of them."""
    problem = make_problem("binary")
    plain = fit_tables(
        problem.tables(2),
        "p0",
        problem.y,
        None,
        N_TRAIN,
        problem.params,
        protocol_params={"precision_bits": bits},
        evals=[("valid", slice(N_TRAIN, N_ROWS))],
    )
    assert model_of(encrypted(problem, he, precision_bits=bits)) == model_of(plain)


@pytest.mark.parametrize("chunk_rows", [1, 7, 219, 220, 4096])
def test_chunks_change_no_model(chunk_rows, make_problem, train, encrypted, model_of, messages) -> None:
    problem = make_problem("missing", n_estimators=2)
    found = encrypted(problem, "batch_he", chunk_rows=chunk_rows)
    pieces = [message for message in messages if isinstance(message, HeGradients)]
    assert len(pieces) == 2 * -(-N_TRAIN // chunk_rows)
    assert model_of(found) == model_of(train(problem, "plain", 1))


def test_lanes_of_many_classes(make_problem, train, encrypted, model_of, messages) -> None:
    """Three pairs of 97 bits: one lane in 400 bits, two in 250 and three in 150."""
    problem = make_problem("multiclass", n_estimators=2)
    expected = model_of(train(problem, "plain", 1))
    for bits, lanes in ((400, 1), (250, 2), (150, 3)):
        messages.clear()
        result = encrypted(problem, "batch_he", key_bits=bits)
        assert model_of(result) == expected
        assert {message.lane for message in messages if isinstance(message, HeGradients)} == set(range(lanes))
        # The ledger counts the other classes' sums in the same ciphertexts, too.
        shown = [tree.n_pairs for message in messages if isinstance(message, HeSums) for tree in message.trees]
        assert set(shown) == {400: {3}, 250: {1, 2}, 150: {1}}[bits]
        opened = sum(
            tree.n_candidates * tree.n_nodes * tree.n_pairs
            for message in messages
            if isinstance(message, HeSums)
            for tree in message.trees
        )
        (entry,) = [entry for entry in result.ledger.entries if entry.message == "he-sums"]
        assert entry.amount == opened


def test_fewer_classes_in_a_ciphertext(make_problem, train, encrypted, model_of, messages) -> None:
    problem = make_problem("multiclass", n_estimators=2)
    found = encrypted(problem, "batch_he", key_bits=400, most_pairs=1)
    assert model_of(found) == model_of(train(problem, "plain", 1))
    assert {message.lane for message in messages if isinstance(message, HeGradients)} == {0, 1, 2}


# Capacity: before anything is encrypted.


@pytest.mark.parametrize(("he", "scheme", "bits"), [("secureboost", "ou", 126), ("batch_he", "paillier", 90)])
def test_a_key_without_room(he, scheme, bits, make_problem, encrypted, messages) -> None:
    with pytest.raises(CapacityError, match=r"planning slots: a .* use a larger key"):
        encrypted(make_problem("binary"), he, scheme=scheme, key_bits=bits)
    assert not any(isinstance(message, HeGradients) for message in messages)
    # Fewer bits of precision make room.
    assert encrypted(make_problem("stump"), he, scheme=scheme, key_bits=bits, precision_bits=16).ledger.entries


@pytest.mark.parametrize("he", BOTH)
def test_small_keys_are_refused(he, make_problem, encrypted, messages) -> None:
    with pytest.raises(KeySizeError, match="insecure=True"):
        encrypted(make_problem("binary"), he, insecure=False)
    assert not any(isinstance(message, HeKey) for message in messages)


# 13: nothing comes back as it was sent.


class Asked:
    """A passive role asked by hand, in the true order of its candidates. One feature, one bin per value."""

    def __init__(self, key: PrivateKey, feature: np.ndarray, protocol: str = "secureboost", **params: Any) -> None:
        spec = protocol_by_name(protocol)
        self.key, self.n = key, len(feature)
        table = Table.read(feature.reshape(-1, 1).astype(np.float32), names=["x"], party="shop")
        binned = BinnedTable.build(table, self.n, 256)
        self.own, theirs = memory_channels("bank", "shop", Catalogue(spec.messages), bytes(16))
        chosen = {"key_bits": key.bits, "insecure": True, "scheme": key.scheme, "chunk_rows": self.n, **params}
        self.rows = binned.rows
        self.role = spec.passive(
            PassiveContext(
                party="shop",
                channel=theirs,
                params=make_protocol_params(spec, chosen),
                rows=binned.rows,
                has_missing=binned.has_missing,
                constraints=None,
                n_train=self.n,
                n_outputs=1,
                min_bucket_rows=1,
                threads=1,
                timings=Timings(),
                disclosed=Disclosed(),
                random=lambda count: np.arange(count // 8, dtype="<u8").tobytes(),
            )
        )

    def begin(self, lanes: list[bytes]) -> None:
        fingerprint = self.key.public_key.fingerprint_bytes
        self.own.send(HeKey(public_key=pack_bytes(self.key.public_key.to_bytes())))
        for lane, data in enumerate(lanes):
            self.own.send(
                HeGradients(round=0, lane=lane, first=0, count=self.n, key=fingerprint, ciphertexts=pack_bytes(data))
            )
        tree = PassiveTree(0, np.zeros(1, dtype=np.int32), self.rows.partition(None))
        self.role.begin_tree(0, None, [tree])

    def root(self, totals: list[bytes]) -> TreeSums:
        fingerprint = self.key.public_key.fingerprint_bytes
        trees = [TreeTotals(tree=0, lanes=[pack_bytes(data) for data in totals])]
        self.own.send(HeTotals(round=0, depth=0, key=fingerprint, count=len(totals), trees=trees))
        none = np.full(1, -1, dtype=np.int32)
        nodes = PassiveNodes(0, np.zeros(1, dtype=np.int32), none, np.zeros(1, dtype=np.int64), None)
        self.role.open_level(PassiveLevel(0, 0, [nodes]))
        (answer,) = self.own.recv(HeSums).trees
        return answer

    def numbers(self, data: Any) -> list[int]:
        """Ciphertexts as integers."""
        native = self.key.public_key.native
        return CiphertextArray(self.key.public_key, native.from_wire(data)).tolist()


def raw(key: PrivateKey, ciphertexts: CiphertextArray) -> bytes:
    return ciphertexts.native_under(key.public_key, 1).to_wire()


def primes() -> Iterator[int]:
    found: list[int] = []
    number = 2
    while True:
        if all(number % p for p in found):
            found.append(number)
            yield number
        number += 1


@pytest.mark.parametrize("stream", [True, False])
def test_two_requests_two_answers(stream, make_key) -> None:
    key = make_key("paillier", 512)
    rng = np.random.default_rng(0)
    asked = Asked(key, rng.integers(0, 6, 50), "batch_he", stream=stream)
    values = rng.integers(0, 1000, 50)
    asked.begin([raw(key, key.encrypt(values))])
    total = raw(key, key.encrypt([int(values.sum())]))
    one, two = (asked.root([total]) for _ in range(2))
    assert bytes(one.lanes[0]) != bytes(two.lanes[0])
    # Every single ciphertext differs, and all say the same.
    first, second = (asked.numbers(answer.lanes[0]) for answer in (one, two))
    assert not set(first) & set(second)
    opened = [key.decrypt(CiphertextArray.from_ints(key.public_key, numbers)) for numbers in (first, second)]
    assert opened[0] == opened[1]


def test_randomness_of_sums_tells_nothing(make_key, monkeypatch) -> None:
    """E61: an active party that encrypts with small primes as randomness, and factors the randomness of what returns.

    It reads every row's side off sums that are sent back as they are, and nothing off what the role sends.
    """
    key = make_key("paillier", 512)
    n, rows = key.public_key.n, 40
    p, q = key.export_primes()
    root = pow(n, -1, (p - 1) * (q - 1))
    small = [prime for prime, _ in zip(primes(), range(rows), strict=False)]
    rng = np.random.default_rng(0)
    feature = rng.integers(0, 5, rows)
    values = rng.integers(0, 100, rows)

    def seal(value: int, randomness: int) -> int:
        return (1 + value * n) * pow(randomness, n, n * n) % (n * n)

    def attack(answer: TreeSums, asked: Asked) -> list[set[int]]:
        """Per candidate the rows whose primes divide the randomness; none where something else is left in it."""
        found = []
        for ciphertext in asked.numbers(answer.lanes[0]):
            randomness = pow(ciphertext % n, root, n)
            inside = {row for row, prime in enumerate(small) if randomness % prime == 0}
            found.append(inside if randomness == prod(small[row] for row in inside) else set())
        return found

    def ask() -> tuple[TreeSums, Asked]:
        asked = Asked(key, feature, "batch_he", pack_sums=False)
        ciphertexts = [seal(int(v), r) for v, r in zip(values, small, strict=True)]
        asked.begin([raw(key, CiphertextArray.from_ints(key.public_key, ciphertexts))])
        total = seal(int(values.sum()), prod(small) % n)
        return asked.root([raw(key, CiphertextArray.from_ints(key.public_key, [total]))]), asked

    truth = [set(np.flatnonzero(feature <= cut).tolist()) for cut in range(4)]
    safe = ask()
    with monkeypatch.context() as careless:
        careless.setattr(_native.crypto.Ciphertexts, "rerandomize", lambda self, threads=1: self)
        leaky = ask()
    assert attack(*leaky) == truth
    assert attack(*safe) == [set()] * 4
    for answer, asked in (safe, leaky):
        opened = key.decrypt(CiphertextArray.from_ints(key.public_key, asked.numbers(answer.lanes[0])))
        assert len(opened) == 4


def test_equal_gradients_do_not_look_equal(make_problem, encrypted, messages) -> None:
    """In the first round there are two different pairs; 220 different ciphertexts leave."""
    encrypted(make_problem("binary", n_estimators=1), "batch_he", chunk_rows=4096)
    (chunk,) = [message for message in messages if isinstance(message, HeGradients)]
    width = len(chunk.ciphertexts) // chunk.count
    parts = {bytes(chunk.ciphertexts[i : i + width]) for i in range(0, len(chunk.ciphertexts), width)}
    assert len(parts) == chunk.count == N_TRAIN


# 14: on the wire.


@pytest.mark.parametrize("he", BOTH)
def test_lengths_depend_on_counts_alone(he, make_problem, encrypted, messages) -> None:
    problem = make_problem("missing", n_estimators=2)
    result = encrypted(problem, he)
    (key,) = {message.public_key.nbytes for message in messages if isinstance(message, HeKey)}
    width = 256 // 4  # a ciphertext is a number modulo n**2
    assert key < 1000
    for message in messages:
        if isinstance(message, HeGradients):
            assert len(message.ciphertexts) == message.count * width
        if isinstance(message, HeTotals):
            assert sum(len(lane) for tree in message.trees for lane in tree.lanes) == message.count * width
        if isinstance(message, HeSums):
            for tree in message.trees:
                assert all(len(lane) % width == 0 for lane in tree.lanes)
                assert len(tree.counts) == len(tree.constraint) == 0
    sent = sum(message.count for message in messages if isinstance(message, HeGradients))
    assert sent == 2 * N_TRAIN * {"secureboost": 2, "batch_he": 1}[he]
    # What travels is ciphertexts: the rest of a gradient message is less than 150 bytes.
    (entry,) = [entry for entry in result.ledger.entries if entry.message == "he-gradients"]
    assert entry.bytes - sent * width < 150 * entry.messages


def test_no_field_for_exponents_or_names() -> None:
    fields = {
        kind: set(kind.__struct_fields__) for kind in (HeKey, HeGradients, HeTotals, TreeTotals, HeSums, TreeSums)
    }
    assert fields == {
        HeKey: {"public_key"},
        HeGradients: {"round", "lane", "first", "count", "key", "ciphertexts"},
        HeTotals: {"round", "depth", "key", "count", "trees"},
        TreeTotals: {"tree", "lanes"},
        HeSums: {"round", "depth", "key", "trees"},
        TreeSums: {"n_candidates", "n_nodes", "n_pairs", "lanes", "counts", "constraint"},
    }


# 23: the first tree stays at home.


@pytest.mark.parametrize("he", BOTH)
def test_reduced_leakage_sends_no_ciphertext_of_the_first_round(he, make_problem, encrypted, messages) -> None:
    result = encrypted(make_problem("binary", reduced_leakage=True, n_estimators=3), he, 3)
    rounds = [message.round for message in messages if isinstance(message, (HeGradients, HeTotals))]
    assert set(rounds) == {1, 2}
    assert sum(isinstance(message, HeKey) for message in messages) == 2
    assert set(result.active_share.trees[0].party.tolist()) <= {-1, 0}


def test_one_round_under_reduced_leakage_needs_no_key(make_problem, encrypted, messages) -> None:
    encrypted(make_problem("binary", reduced_leakage=True, n_estimators=1), "batch_he")
    assert not any(message.TAG.startswith("he-") for message in messages)


# Operations.


def test_operations_are_counted(make_problem, encrypted, messages) -> None:
    problem = make_problem("binary", n_estimators=2)
    result = encrypted(problem, "batch_he", 3)
    own = result.timings.operations
    theirs = [party.operations for party in result.timings.parties.values()]
    gradients = 2 * N_TRAIN
    totals = sum(message.count for message in messages if isinstance(message, HeTotals)) // 2
    assert own["encryptions"] == gradients + totals
    assert own["decryptions"] == sum(their["rerandomisations"] for their in theirs)
    for their in theirs:
        assert their["additions"] > 0
        assert their["row additions"] >= gradients
        assert their["packing"] >= their["rerandomisations"]
    assert {"encrypt", "send gradients", "decrypt", "wait"} <= set(result.timings.seconds)
    for party in result.timings.parties.values():
        assert {"read gradients", "sums", "left sums", "pack", "wait"} <= set(party.seconds)


def test_batching_halves_what_secureboost_takes(make_problem, encrypted) -> None:
    """The claim of papers/004, in operations: ciphertexts made, sent and added."""
    problem = make_problem("binary", n_estimators=2)
    off = {"joint_buckets": False, "pack_sums": False, "subtract": False, "pool": False, "key_bits": 512}
    apart, together = (encrypted(problem, protocol, **off) for protocol in BOTH)
    for name in ("encryptions", "decryptions"):
        assert 2 * together.timings.operations[name] == apart.timings.operations[name]
    theirs = [result.timings.parties["p1"].operations for result in (apart, together)]
    for name in ("additions", "rerandomisations"):
        assert 2 * theirs[1][name] == theirs[0][name]
    assert together.traffic["p1"].total_bytes < 0.55 * apart.traffic["p1"].total_bytes


# The paper's encoding, which is not exact, and the one it improves on, which does not work.


@pytest.mark.parametrize("name", ["binary", "missing", "goss", "min bucket rows"])
def test_shift_comes_close(name, make_problem, train, encrypted, messages) -> None:
    problem = make_problem(name)
    plain = train(problem, "plain", 1).evals_result["valid"]["logloss"][-1]
    # The paper's 30 bits over a range of a million leave 10 of a gradient; these leave 23.
    fine = encrypted(problem, "batch_he", encoding="shift", s=-4.0, alpha=8.0, alpha_max=8192.0, r=36)
    assert fine.evals_result["valid"]["logloss"][-1] == pytest.approx(plain, abs=5e-3)
    coarse = encrypted(problem, "batch_he", encoding="shift")
    assert coarse.evals_result["valid"]["logloss"][-1] == pytest.approx(plain, abs=0.05)
    # Counts travel in this mode, and must.
    counts = [len(tree.counts) for message in messages if isinstance(message, HeSums) for tree in message.trees]
    assert min(counts) > 0


def test_shift_that_overflows_is_refused_before_encryption(make_problem, encrypted, messages) -> None:
    with pytest.raises(CapacityError, match=r"the sum over all rows needs .* raise padding or alpha_max"):
        encrypted(make_problem("binary"), "batch_he", encoding="shift", alpha_max=20.0)
    assert not any(isinstance(message, HeGradients) for message in messages)


def test_shift_flags_padding(make_problem, encrypted) -> None:
    """A sum over all rows between three and four times 2**r: in its slot, and flagged."""
    with pytest.raises(CapacityError, match=r"overflow bits of .* read 11"):
        encrypted(make_problem("stump"), "batch_he", encoding="shift", alpha_max=N_TRAIN * 10 / 3.2)


def test_batchcrypt_does_not_work(make_problem, encrypted) -> None:
    with pytest.raises(CapacityError, match=r"read 11|left its slot"):
        encrypted(make_problem("binary"), "batch_he", encoding="batchcrypt", alpha_max=1000.0)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"encoding": "batchcrypt"}, "pass insecure=True"),
        ({"alpha": 30.0, "alpha_max": 20.0}, "above alpha_max"),
        ({"encoding": "rot13"}, "encoding"),
        ({"key_bits": 2049}, "key_bits"),
        ({"key_bits": 8192}, "key_bits"),
        ({"scheme": "rsa"}, "scheme"),
        ({"chunk_rows": 0}, "chunk_rows"),
        ({"precision_bits": 41}, "precision_bits"),
        ({"r": 60}, r"\br\b"),
        ({"padding": 0}, "padding"),
    ],
)
def test_parameters_that_make_no_sense(given, match) -> None:
    with pytest.raises(ProtocolParameterError, match=match):
        make_protocol_params(protocol_by_name("batch_he"), given)


def test_secureboost_has_no_encodings() -> None:
    with pytest.raises(ProtocolParameterError, match="encoding"):
        make_protocol_params(protocol_by_name("secureboost"), {"encoding": "exact"})


def test_no_protocol_has_weak_randomness() -> None:
    """Not even with consent: the owner of the key encrypts, and would gain nothing."""
    for name in BOTH:
        with pytest.raises(ProtocolParameterError, match="randomness"):
            make_protocol_params(protocol_by_name(name), {"scheme": "ou", "randomness": "weak", "insecure": True})


def test_defaults_are_safe() -> None:
    for name in BOTH:
        params = make_protocol_params(protocol_by_name(name), {})
        assert (params.scheme, params.key_bits, params.randomness, params.insecure) == ("paillier", 3072, "djn", False)
        assert protocol_by_name(name).security == "semi-honest"
        assert len(protocol_by_name(name).attacks) >= 4
