"""A partner that is lost, told to people and to the log while the link is still being made again.

The link layer reports within `lost_after_seconds` (4 by default) that nothing is heard of a peer, long before it gives
the session up. Without a word about it a run that waits looks like a run that computes.
"""

from collections.abc import Callable
from dataclasses import dataclass

from vfxgb.party.logs import Log
from vfxgb.transport.network import LinkState


@dataclass(frozen=True)
class PartnerWatch:
    """Observes links (NetworkLink.watch) and says when a partner is lost and when it is back, from the network thread.

    `next_steps` gives in words what follows if the partner stays away and what a user can do; `run` gives the id of the
    run, "" while it is not known. `tell` gets lines for people, None where the log is shown to them anyway. `dials`:
    this side makes lost connections again; otherwise it waits for the other one to do so.
    """

    log: Log
    next_steps: Callable[[], str]
    run: Callable[[], str]
    tell: Callable[[str], None] | None = None
    dials: bool = True

    def __call__(self, state: LinkState) -> None:
        """Tell of a change. That a session has ended is told by the error it raises."""
        if state.state == "lost":
            line = self._lost(state)
            self.log.warning("disconnected", text=line, peer=state.peer, run=self.run())
        elif state.state == "back":
            line = f"{state.peer} is back; nothing was lost"
            self.log.info("reconnected", text=line, peer=state.peer, run=self.run())
        else:
            return
        if self.tell is not None:
            self.tell(line)

    def _lost(self, state: LinkState) -> str:
        left = max(0.0, state.seconds_left or 0.0)
        effort = "trying to reconnect for another" if self.dials else "waiting for it another"
        return f"{state.peer} is lost: {state.reason}; {effort} {left:.0f} s; {self.next_steps()}"
