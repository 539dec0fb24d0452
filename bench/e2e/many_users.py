"""A sum over a thousand users, each a thread of its own behind a queue; some leave before they send their vector.

    python bench/e2e/many_users.py [--users 1000] [--entries 1000] [--leaving 0.3] [--aggregator masks]

Prints a line of JSON: seconds of the set-up and of the call; processor seconds of the server's thread in the call,
by stage and altogether; those of making the keys of the missing pairs one by one, as `cryptography` does it, and in
batches, both from the same sample; and the peak memory of the process, which is that of all users, too. Checks the
sum. A thousand users take some minutes on two cores.

The server reads replies in the order in which they come: it adds, checks and sends while users compute, whose native
code holds no lock of the interpreter.
"""

import argparse
import json
import queue
import resource
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vfxgb import _native
from vfxgb.crypto.key_agreement import AgreementKey, context_of
from vfxgb.crypto.key_batches import rows_of
from vfxgb.errors import MessageError
from vfxgb.runtime.timings import Timings
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import SETUP, M, ServerContext, UserContext
from vfxgb.secagg.double_mask.shares import pair_keys
from vfxgb.secagg.guard import NOT_COMPARED, GuardRules, SetGuard
from vfxgb.secagg.simulation import SERVER, make_identities
from vfxgb.transport.messages import Catalogue, Message, encode

SAMPLE = 2000


class User(threading.Thread):
    """Answers what lies in `inbox`, until that is None."""

    def __init__(self, number: int, role: Any, catalogue: Catalogue, outbox: "queue.SimpleQueue[Any]") -> None:
        super().__init__(daemon=True)
        self.inbox: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._number, self._role, self._catalogue, self._outbox = number, role, catalogue, outbox

    def run(self) -> None:
        while (request := self.inbox.get()) is not None:
            try:
                answer = self._role.handle(self._catalogue.decode(request[0], request[1], SERVER))
                self._outbox.put((self._number, answer.TAG, encode(answer)))
            except BaseException as error:  # noqa: PERF203 - the server's thread raises it
                self._outbox.put((self._number, "", error))


@dataclass
class Queues:
    """An Exchange over queues; users in `leaving` answer nothing from MASK on."""

    users: Mapping[int, User]
    catalogue: Catalogue
    replies: "queue.SimpleQueue[Any]"
    leaving: frozenset[int] = frozenset()
    seconds: dict[str, float] = field(default_factory=dict)

    def ask(self, stage: str, requests: Mapping[int, Message], reply: type[M]) -> Iterator[tuple[int, M]]:
        """See Exchange. The processor time of this thread counts, not that of waiting."""
        start, encoded, payload, waiting = time.thread_time(), None, b"", 0
        for user, request in requests.items():
            if stage not in (SETUP, "join", "share") and user in self.leaving:
                continue
            if request is not encoded:
                encoded, payload = request, bytes(encode(request))
            self.users[user].inbox.put((request.TAG, payload))
            waiting += 1
        for _ in range(waiting):
            user, tag, data = self.replies.get()
            if isinstance(data, BaseException):
                raise data
            answer = self.catalogue.decode(tag, data, f"user {user}")
            assert isinstance(answer, reply)
            yield user, answer
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.thread_time() - start

    def refuse(self, stage: str, user: int, error: MessageError) -> None:
        """See Exchange: nobody here lies."""
        del stage, user
        raise error

    def present(self) -> frozenset[int]:
        """See Exchange."""
        return frozenset(self.users)

    def newcomers(self) -> dict[int, bool]:
        """See Exchange: who is there stays."""
        return {}


def key_seconds(pairs: int) -> tuple[float, float]:
    """Processor seconds of the keys of so many pairs, from a sample: made one at a time, and in a batch."""
    own, run, count = AgreementKey(), bytes(16), max(1, min(pairs, SAMPLE))
    publics = [AgreementKey().public for _ in range(count)]
    secrets = [bytes(32)] * count
    start = time.thread_time()
    for peer, (public, secret) in enumerate(zip(publics, secrets, strict=True), 1):
        own.agree(public, context_of("mask", run, 1, 0, peer), secret)
    alone, start = time.thread_time() - start, time.thread_time()
    pair_keys(own, 0, rows_of(publics), range(1, count + 1), run, 1, rows_of(secrets), 1)
    return alone / count * pairs, (time.thread_time() - start) / count * pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--leaving", type=float, default=0.3)
    parser.add_argument("--aggregator", default="masks", choices=["masks"])
    arguments = parser.parse_args()
    n, m = arguments.users, arguments.entries
    vectors = np.random.default_rng(0).integers(-(2**40), 2**40, (n, m))
    spec, run = aggregator_by_name(arguments.aggregator), _native.rand.random_bytes(16)
    params, catalogue = make_aggregator_params(spec, {}), Catalogue(spec.messages)
    private, directory = make_identities(range(n))
    replies: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def role(user: int) -> Any:
        return spec.user(
            UserContext(
                run=run,
                user=user,
                params=params,
                directory=directory,
                identity=private[user],
                inputs=lambda task: vectors[user],
                guard=SetGuard(GuardRules(NOT_COMPARED)),
            )
        )

    users = {user: User(user, role(user), catalogue, replies) for user in range(n)}
    for user in users.values():
        user.start()
    exchange, timings = Queues(users, catalogue, replies), Timings()
    server = spec.server(
        ServerContext(
            run=run,
            users=tuple(range(n)),
            params=params,
            directory=directory,
            exchange=exchange,
            threads=1,
            timings=timings,
        )
    )
    start = time.perf_counter()
    server.set_up()
    set_up = time.perf_counter() - start
    exchange.seconds.clear()
    exchange.leaving = frozenset(range(round(arguments.leaving * n)))
    there = n - len(exchange.leaving)
    start, processor = time.perf_counter(), time.thread_time()
    result = server.aggregate(b"task", m, range(n))
    seconds, processor = time.perf_counter() - start, time.thread_time() - processor
    assert result.users == tuple(range(n - there, n))
    assert np.array_equal(result.sums, vectors[n - there :].sum(axis=0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    alone, together = key_seconds(there * len(exchange.leaving))
    print(
        json.dumps(
            {
                "users": n,
                "entries": m,
                "left": n - there,
                "set_up_seconds": round(set_up, 2),
                "call_seconds": round(seconds, 2),
                "server_seconds": round(processor, 3),
                "server_stages": {stage: round(value, 3) for stage, value in exchange.seconds.items()},
                "keys_one_by_one_seconds": round(alone, 3),
                "keys_in_batches_seconds": round(together, 3),
                "peak_mb": round(peak),
            }
        )
    )
    for user in users.values():
        user.inbox.put(None)


if __name__ == "__main__":
    main()
