"""Small runs of `ot_shares` between bank (active) and shop, watched from inside."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

import mlkem_twin
from simulated_runs import fit_tables
from vfxgb import _native
from vfxgb.audit.view import AttackerView
from vfxgb.data.table import Table
from vfxgb.engine.settings import EngineSettings
from vfxgb.model.pooled import PooledModel
from vfxgb.ot import HolderSession, OwnerSession, Place, kem_transfers
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.ot_shares import shares
from vfxgb.protocols.ot_shares.messages import OtGradients
from vfxgb.train import passive, simulate
from vfxgb.train.callbacks import TrainingCallback

QUICK: dict[str, Any] = {"group_bits": 768, "insecure": True, "chunk_rows": 16, "setup_rows": 15}


def tables(rows: int = 40, seed: int = 0, missing: float = 0.2) -> tuple[dict[str, Table], np.ndarray]:
    """Two columns each, some values of the shop's first one missing; and a score that all columns take part in."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).astype(np.float32)
    score = X.sum(axis=1) + 0.3 * rng.normal(size=rows)
    X[rng.random(rows) < missing, 2] = np.nan
    names = ["f0", "f1", "f2", "f3"]
    parts = {party: slice(2 * i, 2 * i + 2) for i, party in enumerate(("bank", "shop"))}
    return {party: Table.read(X[:, part], names=names[part], party=party) for party, part in parts.items()}, score


def train(
    own: dict[str, Any] | None = None,
    protocol: str = "ot_shares",
    data: tuple[dict[str, Table], np.ndarray] | None = None,
    y: np.ndarray | None = None,
    record: bool = False,
    engine: EngineSettings | None = None,
    callbacks: Sequence[TrainingCallback] = (),
    **settings: Any,
) -> simulate.FitResult:
    """A training; `own`: parameters of the protocol beyond QUICK, `y`: labels instead of score > 0."""
    parts, score = data or tables()
    y = (score > 0).astype(np.float64) if y is None else y
    usual = {"objective": "binary:logistic", "n_estimators": 2, "max_depth": 3, "max_bin": 8, "n_jobs": 1}
    given = {**QUICK, **(own or {})} if protocol == "ot_shares" else own
    return fit_tables(
        parts,
        "bank",
        y,
        None,
        len(y),
        TrainParams(**(usual | settings)),
        protocol=protocol,
        protocol_params=given,
        record=record,
        engine=engine,
        callbacks=callbacks,
    )


@dataclass
class Secrets:
    """What both sessions kept to themselves: per place the roots, the secret leaves, the sizes of the trees."""

    delta: bytes = b""
    session: bytes = b""
    roots: dict[Place, np.ndarray] = field(default_factory=dict)
    holes: dict[Place, np.ndarray] = field(default_factory=dict)
    copaths: dict[Place, np.ndarray] = field(default_factory=dict)
    leaves: dict[Place, list[int]] = field(default_factory=dict)


def watch(monkeypatch: pytest.MonkeyPatch) -> Secrets:
    """Filled while a run with one passive party goes on."""
    seen = Secrets()
    answer, request, finish = OwnerSession.answer, HolderSession.request, HolderSession.finish

    def answering(self: OwnerSession, place: Place, leaves: Any, rows: int, data: Any) -> Any:
        roots, sent = answer(self, place, leaves, rows, data)
        seen.delta, seen.session = self.delta, self.session
        seen.roots[place], seen.leaves[place] = roots, leaves.tolist()
        return roots, sent

    def requesting(self: HolderSession, place: Place, leaves: Any, holes: Any) -> bytes:
        seen.holes[place] = holes
        return request(self, place, leaves, holes)

    def finishing(self: HolderSession, place: Place, data: Any) -> Any:
        seen.copaths[place] = finish(self, place, data)
        return seen.copaths[place]

    monkeypatch.setattr(OwnerSession, "answer", answering)
    monkeypatch.setattr(HolderSession, "request", requesting)
    monkeypatch.setattr(HolderSession, "finish", finishing)
    return seen


def seed_randomness(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Every party draws from a stream of its own that depends on `seed` alone."""
    streams: dict[str, Iterator[bytes]] = {}

    def stream(name: str) -> Iterator[bytes]:
        number = 0
        while True:
            yield hashlib.sha256(f"{seed} {name} {number}".encode()).digest()
            number += 1

    def draw(count: int) -> bytes:
        # The first run of this seed and the second one may have another main thread, never another passive one.
        name = "shop" if threading.current_thread().name == "vfxgb-shop" else "bank"
        blocks = streams.setdefault(name, stream(name))
        return b"".join(next(blocks) for _ in range(-(-count // 32)))[:count]

    monkeypatch.setattr(_native.rand, "random_bytes", draw)
    # What `cryptography` draws itself.
    monkeypatch.setattr(kem_transfers, "encapsulate", lambda public: mlkem_twin.encapsulate(public, draw(32)))
    # The run id, which Setup carries.
    monkeypatch.setattr(simulate, "random_bytes", draw)
    monkeypatch.setattr(passive, "PassiveContext", partial(passive.PassiveContext, random=draw))


def masked_rows(d: np.ndarray, lanes: int = 64) -> _native.ot_shares.MaskedRows:
    """Masked pairs uint64[slots, places, 2] as a passive party keeps them."""
    masked = _native.ot_shares.MaskedRows(*d.shape[:2], lanes)
    masked.fill(0, d.shape[1], _native.ot_shares.pack_pairs(d, lanes, lanes), lanes, lanes)
    return masked


def messages_to(
    result: simulate.FitResult, party: str, peer: str, kinds: Callable[[str], bool]
) -> list[tuple[str, bytes]]:
    """(tag, payload) of what `party` received, in order."""
    assert result.transcript is not None
    return [
        (one.tag, bytes(one.payload))
        for one in result.transcript.records[party].messages
        if one.peer == peer and not one.sent and kinds(one.tag)
    ]


def same_model(one: simulate.FitResult, other: simulate.FitResult) -> bool:
    trees = [PooledModel(result.active_share, result.passive_shares) for result in (one, other)]
    fields = ("feature", "threshold", "default_left", "value", "gain", "cover")
    return all(np.array_equal(getattr(trees[0], name), getattr(trees[1], name), equal_nan=True) for name in fields)


def masked_bytes(result: Any, slot: int | None = None) -> np.ndarray:
    """The pairs of all OtGradients as uint64[messages' rows and slots, 2]."""
    view = AttackerView(result.transcript.records["shop"], result.transcript.catalogue, "ot_shares", None)
    sent = list(view.messages("bank", OtGradients.TAG, OtGradients))
    params, setup = make_protocol_params(protocol_by_name("ot_shares"), {}), view.setup
    codec = shares.pair_codec(params, setup.n_train, setup.hessian_shift, 1)
    pairs = [codec.unpack(one.pairs, (one.n_slots, one.count), "test") for one in sent]
    if slot is not None:
        return np.concatenate([one[slot] for one in pairs])
    return np.concatenate([one.reshape(-1, 2) for one in pairs])
