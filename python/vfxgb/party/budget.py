"""How much a passive party shows one peer: the limits of [consent] compared with the account of that peer.

Everything is charged before it is answered, in one change of the account (train/account.py): what was asked for counts
even if the process ends the moment after. A refusal is a ConsentError, which names the limit, what is used of it and
what to do; a damaged account refuses everything.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from vfxgb.dp.event import Event
from vfxgb.errors import ConsentError, FormatError
from vfxgb.party.config import ConsentSection
from vfxgb.train.account import Account, Totals
from vfxgb.train.checkpoint import BegunRounds
from vfxgb.transport.messages import Message

# The unit in which messages count the gradient sums that their receiver can open (Reveals).
SUMS = "sums"
# Epsilons that were divided among features and added up again may differ in their last bits.
ROUNDING = 1.0 + 1e-9


class Budget:
    """What one peer may still be shown."""

    def __init__(self, section: ConsentSection, account: Account) -> None:
        self._section = section
        self._account = account
        self._party, self._peer = account.party, account.peer

    def totals(self) -> Totals:
        """What the peer was shown so far. Raises ConsentError for a damaged account."""
        with self._readable():
            return self._account.read()

    def describe(self) -> str:
        """What the peer was shown over all runs, and the limits, in plain words. Raises ConsentError as `totals`."""
        totals, section = self.totals(), self._section
        counts = (
            ("trees", totals.trees, section.total_trees),
            ("gradient sums", totals.opened_sums, section.total_opened_sums),
            ("predicted rows", totals.predicted_rows, section.total_predicted_rows),
            ("comparisons", totals.comparisons, section.total_comparisons),
            ("ids looked up", totals.lookup_ids, section.total_lookup_ids),
            ("alignments", totals.alignments, section.total_alignments),
        )
        shown = [f"{used:,} {what} ({'no limit' if most is None else f'of {most:,}'})" for what, used, most in counts]
        released = _summed(totals.accountant().events)
        return (
            f"{self._peer} was shown {', '.join(shown)} in {len(totals.runs):,} runs; epsilon {released:.6g} of "
            f"{section.max_total_epsilon:.6g} was released"
        )

    def begun(self, run: str) -> BegunRounds:
        """The rounds of a run that were begun so far."""
        return self.totals().runs.get(run, BegunRounds())

    def training(self, n_trees: int) -> None:
        """Raise ConsentError if a run of so many trees is more than what is left; nothing is charged."""
        self._trees(self.totals(), n_trees)

    def begin_round(self, run: str, round_index: int, n_trees: int) -> None:
        """Charge a round that is about to be answered, whether it was begun before or not."""
        with self._change() as totals:
            begun = totals.runs.get(run, BegunRounds()).begin(round_index)
            limit = self._section.max_trees
            if limit is not None and begun.total * n_trees > limit:
                again = ", some of them again" if begun.again else ""
                raise ConsentError(
                    f"{self._party} does not agree to begin round {round_index} of run {run[:8]}: {begun.total - 1} "
                    f"rounds of {n_trees} trees were begun{again}, wanted at most {limit} trees in all (max_trees): a "
                    f"round that is begun again shows its sums again; ask {self._party} for a higher max_trees and "
                    "resume, nothing is lost"
                )
            self._trees(totals, n_trees)
            totals.runs[run] = begun
            totals.trees += n_trees

    def send(self, message: Message) -> None:
        """Charge the gradient sums in a message that is about to be sent: see Channel.before_send."""
        count = message.amount() if message.REVEALS.unit == SUMS else 0
        if not count:
            return
        with self._change() as totals:
            limit = self._section.total_opened_sums
            self._within("gradient sums", count, totals.opened_sums, limit, "total_opened_sums")
            totals.opened_sums += count

    def may_align(self) -> None:
        """Raise ConsentError if one more alignment is beyond what is left; nothing is charged."""
        self._alignments(self.totals())

    def align(self) -> None:
        """Charge an alignment that is about to be answered."""
        with self._change() as totals:
            self._alignments(totals)
            totals.alignments += 1

    def may_look_up(self, ids: int) -> None:
        """Raise ConsentError if so many ids more are beyond what is left; nothing is charged."""
        self._lookups(self.totals(), ids)

    def look_up(self, ids: int) -> None:
        """Charge ids that are about to be looked up, whether this party has them or not."""
        with self._change() as totals:
            self._lookups(totals, ids)
            totals.lookup_ids += ids

    def may_predict(self, rows: int) -> None:
        """Raise ConsentError if so many rows more are beyond what is left; nothing is charged."""
        self._rows(self.totals(), rows)

    def predict(self, rows: int, comparisons: int = 0) -> None:
        """Charge rows whose prediction is about to be answered, and the most comparisons that it can take.

        One change of the account for a whole prediction: scores of single rows wait for the disk. What was not needed
        is given back by `give_back`; a process that ends before it leaves the larger count.
        """
        with self._change() as totals:
            self._rows(totals, rows)
            limit = self._section.total_comparisons
            self._within("comparisons", comparisons, totals.comparisons, limit, "total_comparisons")
            totals.predicted_rows += rows
            totals.comparisons += comparisons

    def give_back(self, comparisons: int) -> None:
        """Comparisons that were charged by `predict` and not answered."""
        if comparisons:
            with self._change() as totals:
                totals.comparisons -= comparisons

    def epsilon(self, asked: float) -> None:
        """Raise ConsentError if a run would release more about a row than this party agrees to; nothing is charged."""
        limit = self._section.max_epsilon
        if asked > limit * ROUNDING:
            raise ConsentError(
                f"{self._party} does not agree to a release with epsilon {asked:.6g} for one of its rows, wanted at "
                f"most {limit:.6g} in a run (max_epsilon); ask for less, or ask {self._party}"
            )

    def release(self, receiver: str, key: str, events: Sequence[Event], fresh: bool, run: Sequence[Event]) -> None:
        """Charge a release: see train.releases.PrivacyFolder.charge."""
        assert receiver == self._peer  # noqa: S101 - a passive party has one peer
        self.epsilon(_summed(run))
        limit = self._section.max_total_epsilon
        with self._change() as totals:
            before = _summed(totals.accountant().events)
            totals.enter(key, events, fresh)
            after = _summed(totals.accountant().events)
            if after > before and after > limit * ROUNDING:
                raise ConsentError(
                    f"{self._party} does not agree to release epsilon {after - before:.6g} more about its rows to "
                    f"{self._peer}, wanted at most {max(limit - before, 0.0):.6g}: {before:.6g} of {limit:.6g} "
                    f"(max_total_epsilon, over all runs) are used; train with the rows, columns and parameters of an "
                    f"earlier release, which costs nothing, or ask {self._party}"
                )

    def _rows(self, totals: Totals, more: int) -> None:
        limit = self._section.total_predicted_rows
        self._within("predicted rows", more, totals.predicted_rows, limit, "total_predicted_rows")

    def _alignments(self, totals: Totals) -> None:
        self._within("alignments", 1, totals.alignments, self._section.total_alignments, "total_alignments")

    def _lookups(self, totals: Totals, more: int) -> None:
        self._within("ids looked up", more, totals.lookup_ids, self._section.total_lookup_ids, "total_lookup_ids")

    def _trees(self, totals: Totals, more: int) -> None:
        self._within("trees", more, totals.trees, self._section.total_trees, "total_trees")

    def _within(self, what: str, more: int, used: int, limit: int | None, name: str) -> None:
        if limit is not None and used + more > limit:
            raise ConsentError(
                f"{self._party} does not agree to {more:,} more {what} for {self._peer}, wanted at most "
                f"{max(limit - used, 0):,}: {used:,} of {limit:,} ({name}, over all runs) are used; ask {self._party}"
            )

    @contextmanager
    def _change(self) -> Iterator[Totals]:
        with self._readable(), self._account.change() as totals:
            yield totals

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            # The peer is not told where files lie; the log of this party has the cause.
            raise ConsentError(
                f"{self._party} cannot read its account of what it has shown {self._peer} and answers nothing; ask "
                f"{self._party}, whose log says why"
            ) from error


def _summed(events: Iterable[Event]) -> float:
    """The epsilons of releases, added up; one without a guarantee has none, which the protocol's consent is about."""
    return math.fsum(event.epsilon for event in events if event.holds)
