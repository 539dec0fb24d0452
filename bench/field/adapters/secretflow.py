"""SecretFlow's SGB (SecureBoost over HEU), in its production mode: a Ray cluster for each party, rayfed between them.

Each party dials the other one at the port that leads over the line. Both processes run the same program, as SecretFlow
wants it: what belongs to the other party is skipped there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from field.adapter import ACTIVE, PASSIVE, Entrant, Job, Peer, Reporter

KEY_BITS = 2048
SCHEMAS = {"SGB-ou": "ou", "SGB-paillier": "zpaillier"}
LEARNS = (
    "the label holder decrypts the sums of gradients of every bucket, which come in a shuffled order; the other party "
    "is told which rows are in a node"
)
# For Ray's scheduler alone, which starts so many processes ahead. Processors are set by affinity.
RAY_CPUS = 4
STORE_BYTES = 2 << 30
MESSAGE_BYTES = 2_000_000_000
TIMEOUT_MS = 3_600_000


def _entrants() -> Mapping[str, Entrant]:
    # In its second tree it still starts processes and compiles functions.
    return {name: Entrant("sums", LEARNS, key_bits=KEY_BITS, warm_trees=2) for name in SCHEMAS}


def _load(path: str) -> Any:
    return np.load(path)


def _load_column(path: str) -> Any:
    return np.load(path).reshape(-1, 1)


def _encryption(job: Job) -> Any:
    """The device that encrypts: the active party has the key, the passive one computes."""
    import secretflow as sf
    import spu

    keys = {"schema": SCHEMAS[job.entrant], "key_pair": {"generate": {"bit_size": KEY_BITS}}}
    config = {
        "sk_keeper": {"party": ACTIVE},
        "evaluators": [{"party": PASSIVE}],
        "mode": "PHEU",
        "he_parameters": keys,
    }
    return sf.HEU(config, spu.spu_pb2.FM128)


def _connect(job: Job) -> None:
    import secretflow as sf

    parties = {
        party: {"address": f"127.0.0.1:{job.dial[party]}", "listen_addr": f"127.0.0.1:{job.listen[party]}"}
        for party in (ACTIVE, PASSIVE)
    }
    sf.init(
        address="local",
        num_cpus=RAY_CPUS,
        object_store_memory=STORE_BYTES,
        log_to_driver=False,
        logging_level="warning",
        cluster_config={"parties": parties, "self_party": job.role},
        cross_silo_comm_options={"messages_max_size_in_bytes": MESSAGE_BYTES, "timeout_in_ms": TIMEOUT_MS},
    )


def _play(job: Job, reporter: Reporter) -> None:
    import secretflow as sf
    from secretflow.data import FedNdarray, PartitionWay
    from secretflow.ml.boost.core.callback import TrainingCallback
    from secretflow.ml.boost.sgb_v.factory import SGBFactory

    class Trees(TrainingCallback):  # type: ignore[misc] - the interface of SecretFlow
        """Tells when a tree is done."""

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002 - a hook
            reporter.tree()
            return False

    reporter.ready()
    _connect(job)
    devices = {party: sf.PYU(party) for party in (ACTIVE, PASSIVE)}
    tables = {devices[party]: devices[party](_load)(str(job.path / f"{party}.npy")) for party in devices}
    rows = FedNdarray(partitions=tables, partition_way=PartitionWay.VERTICAL)
    label = devices[ACTIVE](_load_column)(str(job.path / "label.npy"))
    labels = FedNdarray(partitions={devices[ACTIVE]: label}, partition_way=PartitionWay.VERTICAL)
    sf.wait([*tables.values(), label])
    reporter.begin()
    factory = SGBFactory()
    factory.set_params(
        {
            "num_boost_round": job.trees,
            "max_depth": job.depth,
            "sketch_eps": 1 / job.bins,
            "reg_lambda": 1.0,
            "learning_rate": 0.3,
            "gamma": 0.0,
            "objective": "logistic",
            "tree_growing_method": "level",
            "first_tree_with_label_holder_feature": False,
        }
    )
    factory.set_heu(_encryption(job))
    # `fit` of the factory is this, without a place for callbacks.
    model = factory._produce().fit(rows, labels, callbacks=[Trees()])
    predictions = sf.reveal(model.predict(rows))
    if job.role == ACTIVE:
        job.save_predictions(np.asarray(predictions).reshape(-1))
    reporter.tell("predicted")
    sf.shutdown()


PEER = Peer(
    title="SecretFlow SGB",
    distribution="secretflow-lite",
    module="secretflow",
    requirements=("secretflow-lite==1.5.0.dev20240321", "setuptools<80"),
    install="pip install secretflow-lite==1.5.0.dev20240321 'setuptools<80', with Python 3.8 to 3.11",
    source="its sources: secretflow/ml/boost/sgb_v",
    entrants=_entrants,
    play=_play,
    notes=(
        "production mode: two Ray clusters, rayfed over gRPC without TLS; HEU's OU and ZPaillier",
        "the newest release that pip can install from PyPI with Python 3.11 (1.6 to 1.9 want an sdc-sdk that is gone)",
        "memory is that of all processes of Ray together; what they share is counted in each",
    ),
)
