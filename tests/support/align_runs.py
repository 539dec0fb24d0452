"""Alignments within one process, each passive party in a thread; nothing waits longer than DEADLINE."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vfxgb.align import ALIGN_MESSAGES, Alignment, AlignParams, Ids, align_active, align_passive
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue, Message

DEADLINE = 30.0
RUN = bytes(16)
# Toy groups: base transfers cost little.
TOY = AlignParams(method="kkrt", group_bits=768, insecure=True)


@dataclass
class Outcome:
    """What each party returned or raised, and every message that passed: (sender, receiver, message)."""

    results: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)
    messages: list[tuple[str, str, Message]] = field(default_factory=list)

    def alignments(self) -> dict[str, Alignment]:
        for error in self.errors.values():
            raise error
        return self.results


def pair(active: str, passive: str, outcome: Outcome | None = None) -> tuple[Channel, Channel]:
    """Both ends of a channel that knows the messages of alignment."""

    def observe(sender: str, receiver: str, message: Message, size: int) -> None:
        if outcome is not None:
            outcome.messages.append((sender, receiver, message))

    return memory_channels(active, passive, Catalogue(ALIGN_MESSAGES), RUN, observe, timeout=DEADLINE)


def together(roles: Mapping[str, tuple[Callable[[], Any], Sequence[Channel]]], outcome: Outcome) -> Outcome:
    """Run (role, its channels) by party, each in a thread; a role that fails aborts its channels."""

    def run(party: str) -> None:
        role, channels = roles[party]
        try:
            outcome.results[party] = role()
        except BaseException as error:
            outcome.errors[party] = error
            for channel in channels:
                channel.abort(error)

    threads = [threading.Thread(target=run, args=(party,), daemon=True) for party in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive(), "a party hangs"
    return outcome


def run_alignment(
    groups: Sequence[Ids],
    peers: Sequence[Ids],
    params: AlignParams | Mapping[str, AlignParams] = TOY,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Align groups[...] of the active party "bank" with the ids of passive parties named by Ids.party."""
    outcome = Outcome()
    by_party = params if isinstance(params, Mapping) else dict.fromkeys(["bank", *(p.party for p in peers)], params)
    ends = {ids.party: pair("bank", ids.party, outcome) for ids in peers}
    channels = {party: one for party, (one, _) in ends.items()}
    roles: dict[str, Any] = {
        "bank": (lambda: align_active("bank", groups, channels, by_party["bank"], 1, progress), list(channels.values()))
    }
    for ids in peers:
        end = ends[ids.party][1]
        roles[ids.party] = (
            lambda ids=ids, end=end: align_passive(ids.party, ids, end, by_party[ids.party], 1),
            [end],
        )
    return together(roles, outcome)
