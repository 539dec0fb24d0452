"""vfxgb itself, through its public API; histograms through the call that training makes."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from peers.adapter import (
    ANY_KEY,
    DECRYPT,
    ENCRYPT,
    ENCRYPT_PUBLIC,
    ENCRYPT_PUBLIC_SHORT,
    ENCRYPT_PUBLIC_WEAK,
    ENCRYPT_SHORT,
    HISTOGRAM,
    OU,
    PAILLIER,
    SCALE,
    SUM,
    Clock,
    Cost,
    Operation,
    Peer,
    Task,
    Trained,
    Trainer,
    middle,
)
from peers.inputs import Inputs

# Encryptions by the public key alone that tables are made for before anything is timed.
PREPARED = 100_000


def _operations(scheme: str, inputs: Inputs) -> Mapping[str, Operation]:
    from vfxgb import _native
    from vfxgb.crypto import CiphertextArray, generate

    key, short = generate(scheme, inputs.bits), generate(scheme, inputs.bits, "short")
    public = key.public_key
    for prepared in (public, short.public_key):
        prepared.prepare(PREPARED, 1)
    values, factors = inputs.values, inputs.factors
    sample = key.encrypt(values, 1)
    few, rows = sample.take(range(inputs.sizes.few)), sample.take(inputs.tile)
    sizes = inputs.sizes
    bins = _native.gbdt.Bins(sizes.rows, [np.arange(1.0, sizes.bins)] * sizes.features)
    for feature in range(sizes.features):
        bins.fill(feature, inputs.buckets[:, feature].astype(np.float64))
    held = _native.crypto.CipherRows(public.native, sizes.rows)
    held.fill(0, rows.native_under(public, 1).to_wire(1), 1)
    features, root = np.arange(sizes.features, dtype=np.int32), np.zeros(1, dtype=np.int32)

    def histogram() -> CiphertextArray:
        partition = _native.gbdt.RowPartition(sizes.rows)
        sums = _native.he_sums.cipher_histogram(held, None, bins, partition, root, None, features, True, 1)
        return CiphertextArray(public, sums.buckets(1))

    def without_missing(sums: CiphertextArray) -> list[int]:
        """Every feature has a bin more, of missing values, which here are none."""
        opened = np.array(key.decrypt(sums, 1)).reshape(sizes.features, sizes.bins + 1)
        return [int(value) for value in opened[:, :-1].ravel()]

    def read(array: CiphertextArray) -> list[int]:
        return key.decrypt(array, 1)

    def read_short(array: CiphertextArray) -> list[int]:
        return short.decrypt(array, 1)

    operations = {
        ENCRYPT: Operation(lambda: key.encrypt(values, 1), read),
        ENCRYPT_SHORT: Operation(lambda: short.encrypt(values, 1), read_short),
        ENCRYPT_PUBLIC: Operation(lambda: public.encrypt(values, 1), read),
        ENCRYPT_PUBLIC_SHORT: Operation(lambda: short.public_key.encrypt(values, 1), read_short),
        SUM: Operation(lambda: rows.sum(threads=1), read),
        HISTOGRAM: Operation(histogram, without_missing),
        SCALE: Operation(lambda: sample.scale(factors, 1), read),
        DECRYPT: Operation(lambda: key.decrypt(few, 1), list),
    }
    if scheme == OU:
        weak = generate(scheme, inputs.bits, "weak", insecure=True)
        weak.public_key.prepare(PREPARED, 1)
        operations[ENCRYPT_PUBLIC_WEAK] = Operation(
            lambda: weak.public_key.encrypt(values, 1), lambda array: weak.decrypt(array, 1)
        )
    return operations


def _train(protocol: str, params: dict[str, Any], task: Task) -> Trained:
    from vfxgb import VFXGBClassifier
    from vfxgb.bench.datasets import ACTIVE
    from vfxgb.bench.real_trees import assert_real_trees
    from vfxgb.train.callbacks import TrainingCallback, TrainingState

    class Rounds(TrainingCallback):
        """The cost of each round."""

        def before_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
            self.clock, self.costs = Clock(), list[Cost]()

        def after_iteration(self, state: TrainingState) -> bool:  # noqa: ARG002 - a hook
            self.costs.append(self.clock.lap())
            return False

    if task.key_bits:
        params = {**params, "key_bits": task.key_bits, "insecure": task.key_bits < 2048}
    rounds, data = Rounds(), task.data
    model = VFXGBClassifier(
        n_estimators=task.rounds,
        max_depth=task.depth,
        max_bin=task.bins,
        n_jobs=1,
        parties=data.parties,
        active=ACTIVE,
        protocol=protocol,
        protocol_params=params,
    ).fit(data.X, data.y, callbacks=[rounds], verbose=False)
    assert_real_trees(model.model_.active_share, f"{protocol} {params}")
    return Trained(middle(rounds.costs), model.predict_proba(data.X)[:, 1])


PEER = Peer(
    title="vfxgb",
    distribution="vfxgb",
    module="vfxgb",
    install="pip install .",
    notes=(
        "encrypts as the owner of the key, as the active party does, with full randomness, unless a line says else",
        f"encrypts by the public key alone with tables for {PREPARED:,} ciphertexts",
        "weak randomness is as short as HEU's, which 2^55 products break with keys of 2048 bits and 2^64 with 3072",
        "histograms through joint buckets of several features where that pays, as in training",
        "batch_he ou trains with short randomness, batch_he paillier with full",
    ),
    operations={scheme: partial(_operations, scheme) for scheme in (PAILLIER, OU)},
    trainers={
        "plain": Trainer(partial(_train, "plain", {})),
        "ot_shares": Trainer(partial(_train, "ot_shares", {})),
        "batch_he ou": Trainer(partial(_train, "batch_he", {"scheme": "ou", "randomness": "short"}), ANY_KEY),
        "batch_he paillier": Trainer(partial(_train, "batch_he", {"scheme": "paillier"}), ANY_KEY),
    },
)
