"""A horizontal training with real users: the server's side, over links that users open to it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from vfxgb import _native
from vfxgb.errors import ConfigError
from vfxgb.horizontal.admission import UserDoor
from vfxgb.horizontal.directory import UserDirectory
from vfxgb.horizontal.handshake import Declines, Finishes, Invites, Kept, catalogue_of
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.training import UsersResult, Watch, lead_users
from vfxgb.model.file import save_share
from vfxgb.model.seal import new_salt, seal_active
from vfxgb.model.shares import ActiveShare, TreeShape
from vfxgb.runtime.timings import Timings
from vfxgb.secagg.base import ServerContext, require_users
from vfxgb.secagg.network import NetworkExchange, Note, unheard
from vfxgb.threads import resolve_threads
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.settings import plain_params
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.messages import pack_bytes
from vfxgb.transport.network import Listener

GATHER, FINISH = "gathering", "finish"
RETRY_SECONDS = 1.0


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
) -> UsersResult:
    """Wait for users, train with them, and give them the model; see lead_users.

    `listener`: lets in the users of the directory. `note`: told what happens to single users. `begun`: told the run's
    id and what can be watched of it, when all who come are there; `progress`: how many that are so far. Users are told
    when the run fails.
    Raises ConfigError, AggregationError (too few users came), and what lead_users raises.
    """
    deadlines = deadlines or Deadlines()
    spec, params = job.read_aggregator()
    n_users = len(directory.parties)
    least = job.least(n_users)
    public = _public(spec.name, spec.deal is not None, directory)
    run = _native.rand.random_bytes(RUN_BYTES)
    invitation = Invites(
        run=run,
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
        privacy=job.privacy_settings(n_users),
    )
    watch = Watch()
    door = UserDoor(listener, directory, catalogue_of(spec), invitation, deadlines.greet, note, watch.ledger.record)
    exchange = NetworkExchange(deadlines.stage, door, Declines, note=note, enough=least, grace=deadlines.grace)
    timings = Timings()
    failure: BaseException | None = None
    try:
        exchange.gather(n_users, deadlines.gather, progress)
        require_users(GATHER, len(exchange.members), n_users, least)
        door.begun = True
        begun(run, watch)
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
            )
        )
        result = lead_users(
            job, run, n_users, role, exchange, timings, watch, callbacks, partial(_wait, deadlines), note
        )
        failure = result.failure
        if failure is None:
            _hand_out(result.share, exchange)
    except BaseException as error:
        failure = error
        raise
    finally:
        door.close()
        exchange.close(failure)
    return result


def published_share(share: ActiveShare) -> ActiveShare:
    """The model as users know it: without gains and covers, which are sums over all users' rows."""

    def bare(tree: TreeShape) -> TreeShape:
        zeros = np.zeros(tree.n_nodes)
        return msgspec.structs.replace(tree, gain=zeros, cover=zeros)

    return seal_active(replace(share, trees=tuple(map(bare, share.trees))), new_salt(), {})


def _hand_out(share: ActiveShare, exchange: NetworkExchange) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_share(published_share(share), path)
        message = Finishes(model=pack_bytes(path.read_bytes()))
    exchange.absent = lambda stage, user: False  # noqa: ARG005 - also those who missed a round
    for user, _ in exchange.ask(FINISH, dict.fromkeys(list(exchange.members), message), Kept):
        exchange.dismiss(user)


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
