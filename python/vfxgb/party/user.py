"""One of many users: `vfxgb serve user.toml`."""

import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vfxgb.errors import ConsentError, FormatError, MessageError, ShareMismatchError
from vfxgb.files import write_atomically
from vfxgb.horizontal.directory import read_identity, read_users
from vfxgb.horizontal.handshake import Invites
from vfxgb.horizontal.remote import UserAllows, UserMemory, UserOutcome, UserSide, take_part
from vfxgb.horizontal.simulation import UserRows
from vfxgb.model.file import load_share
from vfxgb.model.shares import ActiveShare
from vfxgb.party.config import PartyConfig
from vfxgb.party.consent import Consent
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.logs import Log, Tell, say_nothing
from vfxgb.party.record import RunRecord, TrafficRecord, now
from vfxgb.party.session import Network, need_role
from vfxgb.party.users import UserSection, read_rows, read_section
from vfxgb.runtime.ledger import Ledger
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.threads import resolve_threads


class UserParty:
    """A user that takes part in one run. Construction reads and checks everything that needs no server."""

    def __init__(self, config: PartyConfig, log: Log, tell: Tell = say_nothing) -> None:
        need_role(config, "serve", "user")
        self.config = config
        self._log = log
        self._tell = tell
        self._network = Network.of(config)
        (self._server,) = self._network.peers.values()
        self._users = users = read_section(config, UserSection)
        self.directory = read_users(users.directory)
        self._spec = aggregator_by_name(users.aggregator)
        self._own_params = make_aggregator_params(self._spec, users.params)
        place = users.identity or users.directory.parent / f"{config.party}.identity"
        self._identity = read_identity(place, self.directory, config.party)
        if config.data.train is None:
            raise config.mistake("[data] has no train: the user's table")
        self._consent = Consent(config.party, config.consent)
        rows, names = read_rows(config, config.data.train, "train")
        self._columns = self._consent.features(names)
        kept = [names.index(name) for name in self._columns]
        self._rows = UserRows(np.ascontiguousarray(rows.X[:, kept]), rows.labels, rows.weights)

    def describe(self) -> str:
        """Say what would be done, for --dry-run."""
        server = self._server
        return (
            f"{self.config.party} would take part as user {self.directory.number(self.config.party)} of "
            f"{len(self.directory.parties)} with {len(self._rows.X):,} rows and {len(self._columns)} columns, in a run "
            f"of {server.party} at {server.address} whose sums are protected by {self._users.aggregator}"
        )

    def run(self) -> RunRecord:
        """Take part in a run to its end. Raises ConsentError, PeerError and what else take_part raises."""
        ledger = Ledger()
        started, start = now(), time.perf_counter()
        try:
            outcome = take_part(self._side(ledger))
        except BaseException as error:
            self._log.error("failed", text=f"{type(error).__name__}: {error}")
            raise
        if privacy := outcome.invitation.privacy:
            ledger.notes.append(
                f"server: every sum had noise, planned for {privacy.honest} users; the run costs one row of this user "
                f"at most epsilon {privacy.epsilon:g} at delta {privacy.delta:g}"
            )
        kept = PartyFolder(self.config.folder).make().run(outcome.run.hex()).make()
        record = self._record(outcome, ledger, kept.share_file, started, time.perf_counter() - start)
        write_atomically(kept.share_file, outcome.model)
        record = msgspec.structs.replace(record, rounds=self._check_model(kept.share_file, record.run))
        record = kept.end(record, ledger, None)
        self._log.info("trained", run=record.run, rounds=record.rounds, seconds=round(record.seconds, 2))
        self._tell(f"the model is in {kept.share_file}")
        return record

    def _side(self, ledger: Ledger) -> UserSide:
        consent, folder = self.config.consent, PartyFolder(self.config.folder).make()
        return UserSide(
            party=self.config.party,
            directory=self.directory,
            identity=self._identity,
            columns=self._columns,
            rows=self._rows,
            aggregator=self._users.aggregator,
            aggregator_params=self._users.params,
            accept=self._accept,
            dial=lambda: self._network.dial_link(self._server.party),
            reach_seconds=self._users.reach_seconds,
            threads=resolve_threads(self.config.threads),
            observer=ledger.record,
            said=self._said,
            allows=UserAllows(
                consent.hide_among,
                consent.compare,
                consent.max_quantile_bits,
                consent.max_calls,
                self._users.epsilon,
                self._users.delta,
            ),
            memory=lambda run: _memory_in(folder.run(run.hex()).make()),
            rejoin=bytes.fromhex(folder.left_by_user()),
        )

    def _check_model(self, file: Path, run: str) -> int:
        """Count the rounds of the model. Raises MessageError, and leaves no file, unless it is one of this run."""
        where = f"{self.config.party} reading the model that the server sent"
        try:
            share = load_share(file)
        except (FormatError, ShareMismatchError) as error:
            file.unlink()
            raise MessageError(f"{where}: {error}") from None
        if share.run != run or not isinstance(share, ActiveShare):
            file.unlink()
            raise MessageError(f"{where}: it is of run {share.run}")
        return share.n_rounds

    def _record(self, outcome: UserOutcome, ledger: Ledger, file: Path, started: float, seconds: float) -> RunRecord:
        own, server = self.config.party, self._server.party
        sent = [entry for entry in ledger.entries if entry.sender == own]
        received = [entry for entry in ledger.entries if entry.receiver == own]
        invitation = outcome.invitation
        return RunRecord.begun(
            outcome.run.hex(),
            own,
            self.config.role,
            self._spec,
            msgspec.to_builtins(self._own_params),
            started=started,
            purpose=invitation.purpose,
            parties=(server, own),
            train=dict(invitation.params),
            rows={"own": len(self._rows.X)},
            features=tuple(invitation.columns),
            rounds=outcome.rounds,
            planned_rounds=_number(invitation.params, "n_estimators"),
            seconds=seconds,
            traffic={
                server: TrafficRecord(
                    sum(entry.bytes for entry in sent),
                    sum(entry.bytes for entry in received),
                    sum(entry.messages for entry in sent),
                    sum(entry.messages for entry in received),
                )
            },
            model=file.name,
            facts={"users": len(self.directory.parties), "number": invitation.number},
        )

    def _said(self, text: str) -> None:
        self._log.info("user", text=text, party=self.config.party)
        self._tell(text)

    def _accept(self, invitation: Invites) -> None:
        """Raise ConsentError for a run beyond [consent]."""
        self._consent.purpose(invitation.purpose)
        asked, limits = invitation.params, self.config.consent
        trees = _number(asked, "n_estimators") * _number(asked, "num_class")
        for what, count, most in (
            ("trees", trees, limits.max_trees),
            ("levels of a tree", _number(asked, "max_depth"), limits.max_depth),
        ):
            if most is not None and count > most:
                raise ConsentError(f"{self.config.party} does not agree to {count} {what}, wanted at most {most}")
        if invitation.privacy is not None and invitation.privacy.epsilon > limits.max_epsilon:
            raise ConsentError(
                f"{self.config.party} does not agree to epsilon {invitation.privacy.epsilon:g} for a row, wanted at "
                f"most max_epsilon = {limits.max_epsilon:g} of its [consent]"
            )
        if self._spec.security == "none" and not limits.insecure:
            raise ConsentError(
                f"{self.config.party} does not agree to aggregator {self._spec.name!r}, which shows its sums to the "
                "server; wanted insecure = true in its consent for that"
            )


def _memory_in(folder: RunFolder) -> UserMemory:
    return UserMemory(folder.signed_file, folder.asked_file, folder.noise_file)


def _number(params: dict[str, Any], name: str) -> int:
    """Read a count in an invitation; what is no number is beyond every limit."""
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConsentError(f"the invitation has {name} = {value!r}, wanted a number")
    return value
