"""What one curious party has to attack with: what it sent, received and owns. Nothing else can be reached from here.

A view is made from one party's record and the public facts of the run. It holds no reference to the transcript or to
another party's record: that an attack cheats is not a matter of discipline. What an attack assumes beyond that (a few
known labels, or the cuts of splits) is handed over openly in `known_labels` and `known_cuts`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.nodes import NodeSet, replay
from vfxgb.contract.messages import Ready, Setup
from vfxgb.train.transcript import PartyRecord, RecordedNote
from vfxgb.transport.messages import Catalogue, Message

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class KnownLabels:
    """Labels that an attacker is assumed to know from elsewhere: `labels[i]` is that of training row `rows[i]`."""

    rows: NDArray[np.int64]
    labels: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CutsOf:
    """What an attacker is assumed to know of a passive party's columns, and no row of: their bins, and who has won.

    `n_bins` int32[F], `has_missing` bool[F]. `splits`: (round, tree, depth) -> int32[k, 3], feature, bin and default
    direction of the k splits that the party has won there.
    """

    n_bins: NDArray[np.int32]
    has_missing: NDArray[np.bool_]
    splits: Mapping[tuple[int, int, int], NDArray[np.int32]]


class AttackerView:
    """The side of `party` in a run; `active`: whether it is the one with the labels.

    `params` are the parameters of training, which only the active party knows. `known_cuts`: passive party -> what is
    known of its columns.
    """

    def __init__(
        self,
        record: PartyRecord,
        catalogue: Catalogue,
        protocol: str,
        params: dict[str, Any] | None,
        known_labels: KnownLabels | None = None,
        known_cuts: Mapping[str, CutsOf] | None = None,
    ) -> None:
        self._record = record
        self.party, self.active = record.party, record.active
        self._catalogue = catalogue
        self._nodes: dict[str, list[NodeSet]] = {}
        self.protocol = protocol
        self.params = params if record.active else None
        self.known_labels = known_labels
        self.known_cuts = dict(known_cuts or {})

    @cached_property
    def peers(self) -> tuple[str, ...]:
        """Whom it talked to."""
        return tuple(dict.fromkeys(entry.peer for entry in self._record.messages))

    @cached_property
    def tags(self) -> frozenset[str]:
        """The types of all messages it sent or received."""
        return frozenset(entry.tag for entry in self._record.messages)

    @cached_property
    def setup(self) -> Setup:
        """The size of the run, as every party was told."""
        return next(self.messages(self.peers[0], Setup.TAG, Setup))

    def messages(self, peer: str, tag: str, kind: type[M]) -> Iterator[M]:
        """The messages of one type exchanged with `peer`, in order, decoded one at a time."""
        for message in self.tagged(peer, tag):
            assert isinstance(message, kind)  # noqa: S101 - the class of a tag
            yield message

    def tagged(self, peer: str, *tags: str) -> Iterator[Any]:
        """The messages of some types exchanged with `peer`, in order, for attacks that know a type by its tag alone."""
        for entry in self._record.messages:
            if entry.peer == peer and entry.tag in tags:
                yield self._catalogue.decode(entry.tag, entry.payload, peer)

    def note(self, name: str, round_index: int = -1, tree: int = -1) -> NDArray[Any] | None:
        """What the attacker knows by itself under that name (train/transcript.py), or None."""
        for entry in self._record.notes:
            if (entry.name, entry.round, entry.tree) == (name, round_index, tree):
                return entry.array
        return None

    def notes(self, prefix: str) -> Iterator[RecordedNote]:
        """What the attacker knows by itself under names that begin so, in the order in which it came to know it."""
        return (entry for entry in self._record.notes if entry.name.startswith(prefix))

    def nodes(self, peer: str) -> list[NodeSet]:
        """The rows of every node that the two parties of this channel both know, in order of growth."""
        if peer not in self._nodes:
            (ready,) = self.messages(peer, Ready.TAG, Ready)
            setup = self.setup
            self._nodes[peer] = replay(self.tagged(peer, *REPLAYED), setup.n_rows, setup.n_train, ready.n_features)
        return self._nodes[peer]


REPLAYED = ("begin-round", "level", "choose", "split-rows", "end-round")
