"""How much a passive party shows one peer: the limits of [consent] compared with the account of that peer.

Everything is charged before it is answered, in one change of the account (train/account.py): what was asked for counts
even if the process ends the moment after. A refusal is a ConsentError, which names the limit, what is used of it and
what to do; a damaged account refuses everything.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from vfxgb.dp.event import Event
from vfxgb.errors import ConsentError, FormatError
from vfxgb.party.sections import ConsentSection
from vfxgb.train.account import Account, Totals
from vfxgb.train.checkpoint import BegunRounds
from vfxgb.transport.messages import Message

# The unit in which messages count the gradient sums that their receiver can open (Reveals).
SUMS = "sums"
# Epsilons that were divided among features and added up again may differ in their last bits.
ROUNDING = 1.0 + 1e-9
# What is counted for a peer: the field of its account, and the words for it. The limit of each field is the key of
# [consent] with total_ before the field's name.
COUNTED = {
    "trees": "trees",
    "opened_sums": "gradient sums",
    "predicted_rows": "predicted rows",
    "comparisons": "comparisons",
    "lookup_ids": "ids looked up",
    "alignments": "alignments",
}


@dataclass(frozen=True)
class Budget:
    """Says what one peer may still be shown. Counts are given by their fields of COUNTED: `may(alignments=1)`."""

    section: ConsentSection
    account: Account

    def totals(self) -> Totals:
        """Read what the peer was shown so far. Raises ConsentError for a damaged account."""
        with self._readable():
            return self.account.read()

    def describe(self) -> str:
        """Say in plain words what the peer was shown over all runs, and the limits. Raises ConsentError as `totals`."""
        totals, shown = self.totals(), []
        for field, words in COUNTED.items():
            limit = self._limit(field)
            shown.append(f"{getattr(totals, field):,} {words} ({'no limit' if limit is None else f'of {limit:,}'})")
        released = _summed(totals.accountant().events)
        return (
            f"{self.account.peer} was shown {', '.join(shown)} in {len(totals.runs):,} runs; epsilon {released:.6g} of "
            f"{self.section.max_total_epsilon:.6g} was released"
        )

    def used(self, what: str) -> float:
        """Return how much of `what`, a field of COUNTED or "epsilon", the peer was shown. Raises as `totals`."""
        totals = self.totals()
        return _summed(totals.accountant().events) if what == "epsilon" else float(getattr(totals, what))

    def limit(self, what: str) -> float | None:
        """Return the limit of `what` over all runs; None: there is none."""
        return self.section.max_total_epsilon if what == "epsilon" else self._limit(what)

    def may(self, **more: int) -> None:
        """Raise ConsentError if so much more is beyond what is left; nothing is charged."""
        self._add(self.totals(), **more)

    def charge(self, **more: int) -> None:
        """Charge what is about to be answered, whatever comes of it: ids count whether this party has them or not.

        All counts given are one change of the account: scores of single rows wait for the disk.
        """
        with self._change() as totals:
            self._add(totals, **more)

    def give_back(self, comparisons: int) -> None:
        """Take back comparisons that were charged and not answered.

        A prediction is charged for the most comparisons that it can take; a process that ends before it gives the rest
        back leaves the larger count.
        """
        if comparisons:
            with self._change() as totals:
                totals.comparisons -= comparisons

    def begun(self, run: str) -> BegunRounds:
        """Return the rounds of a run that were begun so far."""
        return self.totals().runs.get(run, BegunRounds())

    def begin_round(self, run: str, round_index: int, n_trees: int) -> None:
        """Charge a round that is about to be answered, whether it was begun before or not."""
        with self._change() as totals:
            begun = totals.runs.get(run, BegunRounds()).begin(round_index)
            limit = self.section.max_trees
            if limit is not None and begun.total * n_trees > limit:
                again = ", some of them again" if begun.again else ""
                raise ConsentError(
                    f"{self.account.party} does not agree to begin round {round_index} of run {run[:8]}: "
                    f"{begun.total - 1} rounds of {n_trees} trees were begun{again}, wanted at most {limit} trees in "
                    f"all (max_trees): a round that is begun again shows its sums again; ask {self.account.party} for "
                    "a higher max_trees and resume, nothing is lost"
                )
            self._add(totals, trees=n_trees)
            totals.runs[run] = begun

    def send(self, message: Message) -> None:
        """Charge the gradient sums in a message that is about to be sent: see Channel.before_send."""
        if message.REVEALS.unit == SUMS and (count := message.amount()):
            self.charge(opened_sums=count)

    def epsilon(self, asked: float) -> None:
        """Raise ConsentError if a run would release more about a row than this party agrees to; nothing is charged."""
        limit = self.section.max_epsilon
        if asked > limit * ROUNDING:
            raise ConsentError(
                f"{self.account.party} does not agree to a release with epsilon {asked:.6g} for one of its rows, "
                f"wanted at most {limit:.6g} in a run (max_epsilon); ask for less, or ask {self.account.party}"
            )

    def release(self, receiver: str, key: str, events: Sequence[Event], fresh: bool, run: Sequence[Event]) -> None:
        """Charge a release: see train.releases.PrivacyFolder.charge."""
        assert receiver == self.account.peer  # noqa: S101 - a passive party has one peer
        self.epsilon(_summed(run))
        limit = self.section.max_total_epsilon
        with self._change() as totals:
            before = _summed(totals.accountant().events)
            totals.enter(key, events, fresh)
            after = _summed(totals.accountant().events)
            if after > before and after > limit * ROUNDING:
                raise ConsentError(
                    f"{self.account.party} does not agree to release epsilon {after - before:.6g} more about its rows "
                    f"to {self.account.peer}, wanted at most {max(limit - before, 0.0):.6g}: {before:.6g} of "
                    f"{limit:.6g} (max_total_epsilon, over all runs) are used; train with the rows, columns and "
                    f"parameters of an earlier release, which costs nothing, or ask {self.account.party}"
                )

    def _add(self, totals: Totals, **more: int) -> None:
        """Add counts to an account. Raises ConsentError for the first that its limit does not allow."""
        for field, count in more.items():
            used, limit = getattr(totals, field), self._limit(field)
            if limit is not None and used + count > limit:
                party = self.account.party
                raise ConsentError(
                    f"{party} does not agree to {count:,} more {COUNTED[field]} for {self.account.peer}, wanted at "
                    f"most {max(limit - used, 0):,}: {used:,} of {limit:,} (total_{field}, over all runs) are used; "
                    f"ask {party}"
                )
            setattr(totals, field, used + count)

    def _limit(self, field: str) -> int | None:
        limit: int | None = getattr(self.section, f"total_{field}")
        return limit

    @contextmanager
    def _change(self) -> Iterator[Totals]:
        with self._readable(), self.account.change() as totals:
            yield totals

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            # The peer is not told where files lie; the log of this party has the cause.
            raise ConsentError(
                f"{self.account.party} cannot read its account of what it has shown {self.account.peer} and answers "
                f"nothing; ask {self.account.party}, whose log says why"
            ) from error


def _summed(events: Iterable[Event]) -> float:
    """Add up the epsilons of releases; one without a guarantee has none, which the protocol's consent is about."""
    return math.fsum(event.epsilon for event in events if event.holds)
