"""The ledger: what every message of a run revealed, and to whom.

Each message class states what its receiver learns and counts how much of it (transport/messages.py). The active party's
ends of all channels see every message once and report it here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vfxgb.dp.accountant import Accountant
from vfxgb.dp.event import Event
from vfxgb.transport.messages import Message

# Sums over fewer rows than this are counted as small: single rows can be inferred from them.
FEW_ROWS = 20
THIS_RUN_ONLY = (
    "this run only: every other run on the same rows that draws its own noise adds its epsilon; with privacy_dir "
    "releases are kept and used again, and totals count all runs"
)


@dataclass(frozen=True)
class LeafPurity:
    """`rows` of the `total` sampled rows lie in leaves whose rows a party knows; `purity`: their mean, or None."""

    rows: int
    total: int
    purity: float | None


def counted(amount: int, unit: str) -> str:
    """An amount with its unit: 1 number, 2,031 ids."""
    return f"{amount:,} {unit.removesuffix('s') if amount == 1 and unit.isalpha() else unit}"


@dataclass
class Entry:
    """All messages of one type from one party to another.

    `reveals`: what the receiver learns, in plain words; `amount` of `unit` in total (unit "" when nothing is counted).
    """

    sender: str
    receiver: str
    message: str
    reveals: str
    unit: str
    messages: int = 0
    bytes: int = 0
    amount: int = 0


# What opened equations come to; the same words in ledger, report and documentation.
COMPUTABLE = "from about 2 x nodes x trees = rows on, the passive party's binned table can be computed"


@dataclass(frozen=True)
class Opened:
    """What a passive party's opened sums are to the active party: equations about each cut, in `rows` unknowns.

    `equations`: two for each node whose sums were sent, over all trees (contract.equations_of).
    """

    equations: int
    rows: int

    def text(self) -> str:
        """Say it in words, without the party."""
        return (
            f"opened sums of {self.equations // 2:,} nodes: {self.equations:,} equations for {self.rows:,} rows; "
            f"{COMPUTABLE}"
        )


class Ledger:
    """Totals per sender, receiver and type of message, in the order in which they first appeared."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], Entry] = {}
        # party -> sums over fewer than 20 rows among those it showed, where that was counted
        self.small_sums: dict[str, int] = {}
        # party -> rounds it has begun to answer, and how many of them had been begun before the run broke off
        self.begun: dict[str, tuple[int, int]] = {}
        # party -> equations about its rows that the active party can write down, where sums were opened
        self.opened: dict[str, Opened] = {}
        # What follows from the settings of the run rather than from any one message, in plain words.
        self.notes: list[str] = []
        # What was released under differential privacy.
        self.privacy = Accountant()
        # (party, receiver) -> what was released over all runs, where an account is kept; see train/releases.py
        self.across_runs: dict[tuple[str, str], tuple[Event, ...]] = {}
        # What a party has shown the other over all runs, in plain words, where it keeps an account of that.
        self.account = ""
        # party -> what the leaves of the first tree that it knows say about labels, for binary:logistic
        self.purity: dict[str, LeafPurity] = {}

    def record(self, sender: str, receiver: str, message: Message, size: int) -> None:
        """Enter a message of `size` bytes: an Observer for channels."""
        key = (sender, receiver, message.TAG)
        entry = self._entries.get(key)
        if entry is None:
            entry = Entry(sender, receiver, message.TAG, message.REVEALS.what, message.REVEALS.unit)
            self._entries[key] = entry
        entry.messages += 1
        entry.bytes += size
        entry.amount += message.amount()

    def totals(self) -> list[Entry]:
        """A copy of all totals, as a checkpoint keeps them."""
        return [replace(entry) for entry in self._entries.values()]

    def restore(self, entries: Iterable[Entry], rounds: int) -> None:
        """Add the totals of a run that goes on after `rounds` rounds, and say so."""
        self.add(entries)
        self.notes.append(
            f"the run was resumed after {rounds} rounds; messages of a round that broke off are counted beside those "
            "of the round that replaced it"
        )

    def add(self, entries: Iterable[Entry]) -> None:
        """Add totals that were counted elsewhere."""
        for other in entries:
            entry = self._entries.setdefault(
                (other.sender, other.receiver, other.message), replace(other, messages=0, bytes=0, amount=0)
            )
            entry.messages += other.messages
            entry.bytes += other.bytes
            entry.amount += other.amount

    def all_runs(self) -> str:
        """What the releases of this run come to with those of all others, in plain words."""
        if not self.across_runs:
            return THIS_RUN_ONLY
        total = Accountant()
        for events in self.across_runs.values():
            total.add(*events)
        return "\n".join(f"over all runs: {line}" for line in total.summary().splitlines())

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All totals: a snapshot, while other threads may go on entering messages."""
        return tuple(self._entries.values())

    def learned_by(self, party: str) -> tuple[Entry, ...]:
        """What `party` was told."""
        return tuple(entry for entry in self.entries if entry.receiver == party)

    def text(self) -> str:
        """The ledger in plain words, party by party."""
        lines: list[str] = []
        for party in dict.fromkeys(entry.receiver for entry in self.entries):
            lines.append(f"{party} learned:")
            for entry in self.learned_by(party):
                amount = f" ({counted(entry.amount, entry.unit)})" if entry.unit else ""
                size = f"{entry.messages:,} x {entry.message}" + (f", {entry.bytes:,} bytes" if entry.bytes else "")
                lines.append(f"  from {entry.sender}: {entry.reveals}{amount} [{size}]")
        for party, count in self.small_sums.items():
            lines.append(
                f"{party} showed {count:,} sums over fewer than {FEW_ROWS} rows, from which rows can be inferred"
            )
        lines += [f"{party} {opened.text()}" for party, opened in self.opened.items()]
        for party, (total, again) in self.begun.items():
            if again:
                lines.append(
                    f"{party} began {total:,} rounds, {again:,} of them again after the run broke off; each showed its "
                    "sums, possibly for other gradients"
                )
        for party, leaves in self.purity.items():
            share = f"{leaves.rows:,} of {leaves.total:,} training rows"
            if leaves.purity is None:
                lines.append(f"{party} knows the rows of no leaf of the first tree")
            else:
                lines.append(
                    f"{party} knows the rows of first-tree leaves with {share}; on average {leaves.purity:.1%} of a "
                    "leaf's rows have the same label"
                )
        if len(self.privacy):
            lines += [self.privacy.summary(), self.all_runs()]
        if self.account:
            lines.append(self.account)
        return "\n".join(lines + self.notes)

    def __str__(self) -> str:
        return self.text()

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Ledger({len(self)} kinds of message, {sum(entry.messages for entry in self.entries):,} messages)"
