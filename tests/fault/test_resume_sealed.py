"""`sealed` when a party dies: the same model, the same winners shown again, and nothing that hides data serves twice.

A party dies before it sends or receives a frame or keeps a state, so every moment between marking something as used and
sending it is among the points.
"""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from resuming import POINTS, KilledError, Training, attempt, exported, killed, points, problem, same_run, undisturbed
from vfxgb import files
from vfxgb.lattice import LatticeBlock, LatticeNodes, LatticeZeros
from vfxgb.lattice.store import OwnerHead, SetupFolder
from vfxgb.protocols.sealed import passive
from vfxgb.protocols.sealed.kept import WinRecord, read_wins
from vfxgb.protocols.sealed.messages import SealedOffer, SealedPieces, SealedReply, SealedReverse
from vfxgb.protocols.sealed.passive import SealedPassive
from vfxgb.routing.messages import HiddenRoute, HiddenRouted
from vfxgb.transport.messages import Message
from vfxgb.two_party.messages import ArgmaxFlight, ArgmaxPieces, ArgmaxWinners
from vfxgb.two_party.wire import DIGEST_BYTES, OVERHEAD_BYTES

HEADER_BYTES = OVERHEAD_BYTES - DIGEST_BYTES
# What hides something, by message: the parts that must never be sent a second time.
HIDING: dict[type[Message], Any] = {
    SealedOffer: lambda message: [message.offer],
    SealedReply: lambda message: [message.reply],
    SealedReverse: lambda message: [message.request],
    SealedPieces: lambda message: [message.request],
    ArgmaxPieces: lambda message: [message.request],
    ArgmaxFlight: lambda message: [message.data[HEADER_BYTES:-DIGEST_BYTES]],
    ArgmaxWinners: lambda message: [message.data[HEADER_BYTES:-DIGEST_BYTES]],
    LatticeNodes: lambda message: np.array_split(np.frombuffer(message.words, dtype=np.uint8), message.nodes),
    HiddenRoute: lambda message: [message.transfers, message.corrections],
    HiddenRouted: lambda message: [message.sent],
}
# Parts of fewer bytes can be alike by chance.
LEAST = 12


@pytest.fixture(autouse=True)
def _a_disk_that_is_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.os, "fsync", lambda descriptor: None)


class Wire:
    """What all attempts have sent: as `tap` of an attempt."""

    def __init__(self) -> None:
        self._kinds = {kind.TAG: kind for kind in (*HIDING, LatticeBlock, LatticeZeros)}
        self._seen: dict[str, set[bytes]] = {}
        self.repeated: list[str] = []
        # First row (None of the encryptions of zero) -> the digests of its columns, in the order in which they came.
        self.columns: dict[int | None, list[bytes]] = {}
        self.count = 0

    def __call__(self, peer: str, out: bool, tag: str, payload: bytes) -> None:
        if tag not in self._kinds:
            return
        message = msgspec.msgpack.decode(payload, type=self._kinds[tag])
        if isinstance(message, (LatticeBlock, LatticeZeros)):
            first = message.first if isinstance(message, LatticeBlock) else None
            self.columns.setdefault(first, []).append(hashlib.sha256(message.words).digest())
            return
        for part in HIDING[type(message)](message):
            data = bytes(part)
            if len(data) >= LEAST:
                seen = self._seen.setdefault(tag, set())
                self.repeated += [tag] * (data in seen)
                seen.add(data)
                self.count += 1

    @property
    def tags(self) -> set[str]:
        return set(self._seen)


class Winners:
    """What the shop learns of each level in all sessions of a run: the column that won each slot."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.versions: dict[tuple[int, int], list[str]] = {}
        open_level, begin_tree = SealedPassive.open_level, SealedPassive.begin_tree
        rounds: list[int] = [0]

        def begin(role: SealedPassive, round_index: int, trees: Any) -> None:
            rounds[0] = round_index
            begin_tree(role, round_index, trees)

        def learn(role: SealedPassive, level: Any) -> None:
            open_level(role, level)
            won = {tree: role._columns.resolve(own) for tree, own in role._won.items()}
            splits = {tree: (role._won[tree].tolist(), found.feature.tolist()) for tree, found in won.items()}
            self.versions.setdefault((rounds[0], level.depth), []).append(str(splits))

        monkeypatch.setattr(SealedPassive, "begin_tree", begin)
        monkeypatch.setattr(SealedPassive, "open_level", learn)


def keeping(training: Training, folder: Path, **own: Any) -> Training:
    """The same with a set-up that is kept in `folder`, with an order of candidates of its own."""
    folder.mkdir(exist_ok=True)
    assert training.protocol_params is not None
    return replace(training, protocol_params={**training.protocol_params, "setup_dir": str(folder), **own})


def record(folder: Path) -> WinRecord:
    (path,) = folder.glob("*-wins")
    return read_wins(path, "shop")


@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_a_kept_set_up_and_a_party_that_is_killed_at_any_point(victim: str, tmp_path: Path) -> None:
    training = problem("sealed")
    calm = undisturbed(training, tmp_path)
    for operation in points(calm.operations[victim], POINTS):
        folder = tmp_path / str(operation)
        folder.mkdir()
        kept = keeping(training, folder / "kept")
        killed(kept, folder, victim, operation)
        same_run(attempt(kept, folder), calm, tmp_path, ordered=False)


@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_a_party_that_is_killed_within_the_set_up(victim: str, tmp_path: Path) -> None:
    """At any frame of it: what was encrypted before is the same, bit by bit, unless its secret is another."""
    training = problem("sealed", n_estimators=1)
    wire, seen = Wire(), 0
    calm = undisturbed(training, tmp_path)
    for operation in range(0, calm.operations[victim], 1 if POINTS >= 20 else 3):
        folder = tmp_path / str(operation)
        folder.mkdir()
        kept = keeping(training, folder / "kept")
        wire.columns.clear()
        killed(kept, folder, victim, operation, tap=wire)
        before = SetupFolder(folder / "kept", "shop", "bank").head(OwnerHead)
        found = attempt(kept, folder, tap=wire)
        assert exported(found, tmp_path) == exported(calm, tmp_path)
        after = SetupFolder(folder / "kept", "shop", "bank").head(OwnerHead)
        assert after is not None
        if before is not None and before.name == after.name:
            assert before == after
            assert all(len(set(versions)) == 1 for versions in wire.columns.values())
            seen += any(len(versions) > 1 for versions in wire.columns.values())
        # The first operation after the columns have come is no longer part of the set-up.
        if before is not None and len(wire.columns.get(0, [])) == 1 and len(wire.columns[None]) == 2:
            break
    else:
        pytest.fail("the set-up has no end")
    assert seen
    assert not wire.repeated


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_what_is_shown_again_is_the_same_and_nothing_serves_twice(
    victim: str, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With secrets of the run's own, and so few bits that roundings and coins decide splits."""
    params = {"group_bits": 768, "insecure": True}
    training = problem("sealed", protocol_params=params, score_bits=12, min_child_weight=0.0, max_depth=3)
    (tmp_path / "calm").mkdir()
    whole = undisturbed(training, tmp_path / "calm").operations[victim]
    if kept:
        training = keeping(training, tmp_path / "kept")
    winners, wire = Winners(monkeypatch), Wire()
    # Each session is killed later than the one before, the last of them near the end of the whole run, if it lasts.
    for operation in [*points(whole, max(4, POINTS // 2))[1:], None]:
        kills = {} if operation is None else {victim: operation}
        found = attempt(training, tmp_path, kills, tap=wire)
    assert not found.errors, found.errors
    assert sum(len(versions) > 1 for versions in winners.versions.values()) >= 2
    assert all(len(set(versions)) == 1 for versions in winners.versions.values()), winners.versions
    # The openings of a run this small are.
    assert wire.tags >= {kind.TAG for kind in HIDING} - {ArgmaxWinners.TAG}
    assert wire.count > 100
    assert not wire.repeated
    # Other secrets for the same columns in each session, or the same ones and the same bytes.
    for versions in wire.columns.values():
        assert len(set(versions)) == (1 if kept else len(versions))


def test_wins_are_on_disk_before_rows_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the two, the shop has counted what it has not told; told again, it is counted again."""
    told: list[int] = []
    tell = passive.tell_bits

    def dying(*given: Any) -> None:
        raise KilledError

    def telling(context: Any, routing: Any, depth: int, splits: Any, lines: Any) -> None:
        tell(context, routing, depth, splits, lines)
        told.append(sum(splits))

    training = keeping(problem("sealed", n_estimators=1), tmp_path / "kept")
    monkeypatch.setattr(passive, "tell_bits", dying)
    assert isinstance(attempt(training, tmp_path).errors["shop"], KilledError)
    before = record(tmp_path / "kept")
    assert before.wins > 0
    monkeypatch.setattr(passive, "tell_bits", telling)
    assert not attempt(training, tmp_path).errors
    after = record(tmp_path / "kept")
    assert after.runs == before.runs
    assert after.wins == before.wins + sum(told)


def test_a_limit_holds_over_sessions_of_a_kept_set_up(tmp_path: Path) -> None:
    """Whoever resumes a run again and again is told no more than max_wins in all."""
    calm = keeping(problem("sealed"), tmp_path / "calm-kept")
    whole = undisturbed(calm, tmp_path)
    wins = record(tmp_path / "calm-kept").wins
    training = keeping(problem("sealed"), tmp_path / "kept", max_wins=wins)
    # The last round is broken off before it is kept, and begins again.
    killed(training, tmp_path, "bank", whole.operations["bank"] - 12)
    # What it shows again counts again, so that the limit is reached, and the rest is withheld.
    assert not attempt(training, tmp_path).errors
    assert record(tmp_path / "kept").wins == wins
