"""A horizontal training with real users: the server's side, over links that users open to it."""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import msgspec
import numpy as np

from vfxgb import _native
from vfxgb.errors import ConfigError
from vfxgb.horizontal.admission import UserDoor
from vfxgb.horizontal.directory import UserDirectory
from vfxgb.horizontal.handshake import Declines, Finishes, Invites, Kept, catalogue_of
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.journal import Journal
from vfxgb.horizontal.training import UsersResult, Watch, lead_users
from vfxgb.model.file import save_share
from vfxgb.model.seal import new_salt, seal_active
from vfxgb.model.shares import ActiveShare, TreeShape
from vfxgb.runtime.timings import Timings
from vfxgb.secagg.base import ServerContext, require_users
from vfxgb.secagg.network import GLANCE_SECONDS, Member, NetworkExchange, Note, unheard
from vfxgb.threads import resolve_threads
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.settings import plain_params
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.messages import encode, pack_bytes
from vfxgb.transport.network import Listener

GATHER, FINISH = "gathering", "finish"
# More than a process can make: each start of the server numbers its calls above those of the one before.
CALLS_OF_A_START = 1 << 32
RETRY_SECONDS = 1.0


class Journals(Protocol):
    """Where the server keeps the journal of its run."""

    def earlier(self, settings: bytes) -> Journal | None:
        """The journal of the run that is to go on; None for a new run. Raises FormatError, OSError."""

    def begin(self, run: bytes, settings: bytes) -> Journal | None:
        """The journal of a new run; None if it is not kept. Raises OSError."""


@dataclass(frozen=True)
class Deadlines:
    """How many seconds the server waits.

    It waits `gather` for users before the run begins without those who are missing, `stage` for replies, and `greet`
    for a user to accept the invitation. When too few users are left, it tries again for `patience` before the run is
    given up. When enough users have answered, the others have `grace`; so has a user of a tree that has left to come
    back, before the run goes on without it.
    """

    gather: float = 600.0
    stage: float = 120.0
    greet: float = 30.0
    patience: float = 300.0
    grace: float = 10.0


def serve_users(
    job: Job,
    directory: UserDirectory,
    listener: Listener,
    deadlines: Deadlines | None = None,
    purpose: str = "",
    note: Note = unheard,
    callbacks: Sequence[TrainingCallback] = (),
    begun: Callable[[bytes, Watch], None] = lambda run, watch: None,  # noqa: ARG005 - nobody listens
    progress: Callable[[int], None] = lambda came: None,  # noqa: ARG005 - nobody listens
    journals: Journals | None = None,
) -> UsersResult:
    """Wait for users, train with them, and give them the model; see lead_users.

    `listener`: lets in the users of the directory. `note`: told what happens to single users. `begun`: told the run's
    id and what can be watched of it, when all who come are there; `progress`: how many that are so far. Users are told
    when the run fails. `journals`: how the run is written down, so that it can be resumed, or the run that goes on.
    Raises ConfigError, AggregationError (too few users came), and what lead_users raises.
    """
    deadlines = deadlines or Deadlines()
    spec, params = job.read_aggregator()
    n_users = len(directory.parties)
    least = job.least(n_users)
    public = _public(spec.name, spec.deal is not None, directory)
    invitation = Invites(
        run=b"",
        number=0,
        purpose=purpose,
        aggregator=spec.name,
        aggregator_params=dict(job.aggregator_params),
        params=plain_params(job.params),
        columns=list(job.names),
        weighted=job.weighted,
        directory=directory.digest(),
        hide_among=job.hidden(n_users),
        compare=job.compare,
        least=least,
        quantile_bits=job.rules.bits,
        ranges=tuple(job.rules.range_cells(job.names)),
        metrics=tuple(job.metric_names()),
        holdout=job.holdout,
        privacy=job.privacy_settings(n_users),
    )
    journal = None if journals is None else journals.earlier(_settings(invitation, job))
    run = _native.rand.random_bytes(RUN_BYTES) if journal is None else journal.run
    invitation = msgspec.structs.replace(invitation, run=run)
    # Users of a run that goes on; all of them where it is not known who took part.
    wanted = (journal and journal.users) or tuple(range(n_users))
    watch = Watch()
    door = UserDoor(listener, directory, catalogue_of(spec), invitation, deadlines.greet, note, watch.ledger.record)
    exchange = NetworkExchange(deadlines.stage, door, Declines, note=note, enough=least, grace=deadlines.grace)
    timings = Timings()
    failure: BaseException | None = None
    try:
        door.begun = journal is not None and journal.users is not None
        exchange.gather(wanted, deadlines.gather, progress)
        require_users(GATHER, len(exchange.members), n_users, least)
        door.begun = True
        begun(run, watch)
        if journal is None and journals is not None:
            journal = journals.begin(run, _settings(invitation, job))
        role = spec.server(
            ServerContext(
                run=run,
                users=tuple(range(n_users)),
                params=params,
                directory=directory.keys(),
                exchange=exchange,
                threads=resolve_threads(job.params.n_jobs),
                timings=timings,
                public=public,
                first_call=CALLS_OF_A_START * (0 if journal is None else journal.starts),
            )
        )
        result = lead_users(
            job, run, n_users, role, exchange, timings, watch, callbacks, partial(_wait, deadlines), note, journal
        )
        failure = result.failure
        if failure is None:
            _hand_out(result.share, exchange, result.users, deadlines.grace)
    except BaseException as error:
        failure = error
        raise
    finally:
        if journal is not None:
            journal.close()
        door.close()
        exchange.close(failure)
    return result


def published_share(share: ActiveShare) -> ActiveShare:
    """The model as users know it: without gains and covers, which are sums over all users' rows."""

    def bare(tree: TreeShape) -> TreeShape:
        zeros = np.zeros(tree.n_nodes)
        return msgspec.structs.replace(tree, gain=zeros, cover=zeros)

    return seal_active(replace(share, trees=tuple(map(bare, share.trees))), new_salt(), {})


def _settings(invitation: Invites, job: Job) -> bytes:
    """Digest of all that a run depends on beside the users' rows: what users are told, and the server's own rows."""
    evals = job.evals
    digest = hashlib.sha256(encode(msgspec.structs.replace(invitation, run=b"")))
    for array in (evals.X, np.asarray(evals.labels), evals.weights):
        digest.update(b"" if array is None else f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.digest()


def _hand_out(share: ActiveShare, exchange: NetworkExchange, users: Sequence[int], seconds: float) -> None:
    """Give the model to all users that are there; of `users` those that are away have so many seconds to come back."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_share(published_share(share), path)
        message = Finishes(model=pack_bytes(path.read_bytes()))
    exchange.absent = lambda stage, user: False  # noqa: ARG005 - also those who missed a round
    left, deadline = set(users), time.monotonic() + seconds
    asked: dict[int, Member] = {}
    while True:
        there = {user: member for user, member in exchange.members.items() if asked.get(user) is not member}
        asked |= there
        for user, _ in exchange.ask(FINISH, dict.fromkeys(there, message), Kept):
            exchange.dismiss(user)
            left.discard(user)
        if not left or time.monotonic() >= deadline:
            return
        time.sleep(GLANCE_SECONDS)
        exchange.admit()


def _wait(deadlines: Deadlines, seconds: float, briefly: bool) -> bool:
    """Whether to try a call again that has been tried for so many seconds; some users may come back meanwhile."""
    if seconds + RETRY_SECONDS > (deadlines.grace if briefly else deadlines.patience):
        return False
    time.sleep(RETRY_SECONDS)
    return True


def _public(aggregator: str, has_centre: bool, directory: UserDirectory) -> bytes:
    """What the aggregator's key centre has made for everybody. Raises ConfigError if it is not there."""
    if not has_centre:
        return b""
    if directory.aggregator != aggregator:
        raise ConfigError(
            f"reading the directory of users: aggregator {aggregator!r} needs what its key centre makes, which is not "
            f"there; write the directory with `vfxgb certs --users N --aggregator {aggregator}`, or use masks"
        )
    return directory.public
