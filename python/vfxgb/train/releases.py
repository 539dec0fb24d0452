"""What a party releases under differential privacy, over all its runs: drawn once, used again, added up.

Noise that is drawn afresh for the same labels averages out: at epsilon 1 a label is guessed right with probability .73
from one run and .95 from twelve. So a release of labels or buckets is kept, and whoever trains again on the same rows,
values and settings of the noise uses the very same release, which tells nobody anything new. Other rows, labels or
settings make another release, whose epsilon adds to those before (train/account.py).

    <folder>/releases/secret        32 random bytes: keys of releases say nothing about what they were made of
    <folder>/releases/<key>.bin     magic, version | msgpack of StoredRelease | SHA-256 of everything before
    <folder>/accounts/<peer>.json   what each release cost, and noise drawn for one run only

The key of a release is an HMAC over settings, ids and values of the rows. Parties agree on another order of rows in
every run; a release is stored in the order of the ids and laid out for the run that uses it. All files are readable by
their owner only. The order is: charge, store, send. A crash in between may charge too much, never too little.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb._native.rand import random_bytes
from vfxgb.dp.event import Event
from vfxgb.errors import FormatError
from vfxgb.files import locked, make_private, write_atomically
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.account import Account
from vfxgb.train.checkpoint import DIGEST_BYTES, KeptArray, array_bytes
from vfxgb.train.digests import add_parts

MAGIC = b"VFXGBREL"
VERSION = 1
SECRET_BYTES = 32


class StoredRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release in the order of its rows' ids, and its events without their receiver."""

    array: KeptArray
    events: list[Event]


class PrivacyFolder:
    """Releases and accounts of `party` below `path`. `charge`: see `charge`; None adds to the accounts without a limit.

    Raises OSError, FormatError for a secret that is none.
    """

    def __init__(self, path: Path, party: str, charge: "Charge | None" = None) -> None:
        self.party = party
        self.accounts = path / "accounts"
        self._releases = path / "releases"
        self._charge = charge
        for folder in (path, self.accounts, self._releases):
            make_private(folder)

    def account(self, peer: str) -> Account:
        """What was released to `peer`."""
        return Account(self.accounts, self.party, peer)

    def charge(self, receiver: str, key: str, events: Sequence[Event], fresh: bool, run: Sequence[Event]) -> None:
        """Enter a release to `receiver` before it is sent.

        `key`: what it is kept under, "" for noise of one run only. `fresh`: it was drawn now; else it was drawn before,
        and costs nothing if `receiver` has it. `run`: all events of the run for `receiver`, these included. Raises
        ConsentError from a `charge` with limits, and then nothing is entered.
        """
        if self._charge is not None:
            self._charge(receiver, key, events, fresh, run)
            return
        with self.account(receiver).change() as totals:
            totals.enter(key, events, fresh)

    def key(self, parts: Sequence[bytes]) -> str:
        """The key of a release that is made of `parts`."""
        return keyed(self._secret(), parts)

    def alone(self) -> AbstractContextManager[None]:
        """Hold the folder while a release is looked for, drawn and stored: two runs at once must not draw two."""
        return locked(self._releases / ".lock")

    def find(self, key: str) -> StoredRelease | None:
        """The release under `key`, None if there is none. Raises FormatError for a file that is damaged."""
        file = self._releases / f"{key}.bin"
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return None
        where = f"{self.party} reading the release {str(file)!r}"
        remedy = "restore a copy; without one remove it, and it is drawn anew and charged once more"
        head, body = MAGIC + bytes([VERSION]), data[:-DIGEST_BYTES]
        if hashlib.sha256(body).digest() != data[-DIGEST_BYTES:] or not body.startswith(MAGIC):
            raise FormatError(f"{where}: it is truncated or damaged; {remedy}")
        if not body.startswith(head):
            raise FormatError(f"{where}: it was written by another version of vfxgb; use that one")
        try:
            return msgspec.msgpack.decode(body[len(head) :], type=StoredRelease)
        except (msgspec.MsgspecError, ValueError) as error:
            raise FormatError(f"{where}: it is malformed ({error}); {remedy}") from None

    def store(self, key: str, release: StoredRelease) -> None:
        """Keep a release under `key`. Raises OSError."""
        data = MAGIC + bytes([VERSION]) + msgspec.msgpack.encode(release)
        write_atomically(self._releases / f"{key}.bin", data, hashlib.sha256(data).digest())

    def _secret(self) -> bytes:
        file = self._releases / "secret"
        if not file.exists():
            with self.alone():
                if not file.exists():
                    write_atomically(file, random_bytes(SECRET_BYTES))
        secret = file.read_bytes()
        if len(secret) != SECRET_BYTES:
            raise FormatError(
                f"{self.party} reading the secret of its releases, {str(file)!r}: found {len(secret)} bytes, wanted "
                f"{SECRET_BYTES}; restore a copy; without one remove it, and every release is drawn and charged anew"
            )
        return secret


# See PrivacyFolder.charge.
Charge = Callable[[str, str, Sequence[Event], bool, Sequence[Event]], None]


@dataclass(repr=False, eq=False)
class ReleaseLog:
    """The releases of one party in one run. `what`: names party and run, for messages.

    `salt`: keys releases where there is no folder. `events`: the party's, which roles add to. `receivers`: who sees the
    releases. `folder`: None for a run that nothing outlives. `ids`: uint8[n, 16], one per training row or more, None
    where rows are known by their place alone. `kept`: what this run has released, in its own order of rows.
    """

    what: str
    salt: str
    events: list[Event]
    ledger: Ledger
    receivers: Sequence[str]
    folder: PrivacyFolder | None
    ids: NDArray[np.uint8] | None
    kept: dict[str, KeptArray]

    def __post_init__(self) -> None:
        self._charged = len(self.events)
        self._tell()

    def once(
        self,
        settings: Mapping[str, Any],
        values: NDArray[Any],
        draw: Callable[[], NDArray[Any]],
        keep: Callable[[], None],
    ) -> NDArray[Any]:
        """See contract.ReleaseOnce; `keep` stores the run's state, `kept` and the events with it."""
        order = self._order(values.shape[-1])
        parts = [
            json.dumps(dict(settings), sort_keys=True).encode(),
            b"" if self.ids is None else np.ascontiguousarray(self.ids[: len(order)][order]).tobytes(),
            f"{values.dtype.kind}{values.dtype.itemsize} {values.shape}".encode(),
            array_bytes(np.ascontiguousarray(values[..., order])),
        ]
        key = keyed(self.salt.encode(), parts) if self.folder is None else self.folder.key(parts)
        known = self.kept.get(key)
        if known is not None:
            return known.restore(self.what)
        if self.folder is None:
            released = draw()
        else:
            with self.folder.alone():
                released = self._shared(self.folder, key, order, draw)
        self.kept[key] = KeptArray.of(released)
        keep()
        return released

    def _shared(
        self, folder: PrivacyFolder, key: str, order: NDArray[np.int64], draw: Callable[[], NDArray[Any]]
    ) -> NDArray[Any]:
        """The release of an earlier run, or one that is drawn, charged and stored now."""
        first = len(self.events)
        stored = folder.find(key)
        if stored is None:
            released = draw()
        else:
            in_order = stored.array.restore(self.what)
            released = np.empty_like(in_order)
            released[..., order] = in_order
            for receiver in self.receivers:
                self.events.extend(replace(event, receiver=receiver) for event in stored.events)
            self.ledger.notes.append(
                f"{folder.party} used a release of an earlier run again; nothing was drawn anew, nothing more was spent"
            )
        events = self.events[first:]
        try:
            self._charge(folder, key, events, stored is None)
        except BaseException:
            # Nothing of it leaves this party.
            del self.events[first:]
            raise
        if stored is None:
            mine = [replace(event, receiver="") for event in events if event.receiver == self.receivers[0]]
            folder.store(key, StoredRelease(KeptArray.of(released[..., order]), mine))
        return released

    def charge(self) -> None:
        """Charge what roles have entered since the last time: noise of this run, which is never used again."""
        new = self.events[self._charged :]
        if new and self.folder is not None:
            self._charge(self.folder, "", new, True)
        self._charged = len(self.events)

    def _charge(self, folder: PrivacyFolder, key: str, events: Sequence[Event], fresh: bool) -> None:
        for receiver in dict.fromkeys(event.receiver for event in events):
            mine = [event for event in events if event.receiver == receiver]
            folder.charge(receiver, key, mine, fresh, [event for event in self.events if event.receiver == receiver])
        self._charged = len(self.events)
        self._tell()

    def _tell(self) -> None:
        """Let the ledger have the totals over all runs."""
        if self.folder is not None:
            for receiver in self.receivers:
                totals = self.folder.account(receiver).read()
                self.ledger.across_runs[self.folder.party, receiver] = totals.accountant().events

    def _order(self, n_rows: int) -> NDArray[np.int64]:
        """The rows by their ids: the same people stand in another order in every run."""
        if self.ids is None:
            return np.arange(n_rows)
        return np.lexsort(np.ascontiguousarray(self.ids[:n_rows]).view("<u8").T)


def keyed(secret: bytes, parts: Sequence[bytes]) -> str:
    """HMAC-SHA-256 over parts, each preceded by its length; hexadecimal."""
    return add_parts(hmac.new(secret, b"vfxgb release 1\n", hashlib.sha256), parts).hexdigest()
