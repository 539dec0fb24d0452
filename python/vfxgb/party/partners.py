"""A partner that is lost, told to people and to the log while the link is still being made again.

The link layer reports within `lost_after_seconds` (4 by default) that nothing is heard of a peer, long before it gives
the session up. Without a word about it a run that waits looks like a run that computes.
"""

from collections.abc import Callable

from vfxgb.party.logs import Log
from vfxgb.transport.network import LinkState


class PartnerWatch:
    """Observes links (NetworkLink.watch) and says when a partner is lost and when it is back, from the network thread.

    `next_steps` gives in words what follows if the partner stays away and what a user can do; `run` gives the id of the
    run, "" while it is not known. `tell` gets lines for people, None where the log is shown to them anyway. `dials`:
    this side makes lost connections again; otherwise it waits for the other one to do so.
    """

    def __init__(
        self,
        log: Log,
        next_steps: Callable[[], str],
        run: Callable[[], str],
        tell: Callable[[str], None] | None = None,
        dials: bool = True,
    ) -> None:
        self._log = log
        self._tell = tell
        self._dials = dials
        self._next_steps = next_steps
        self._run = run

    def __call__(self, state: LinkState) -> None:
        """Tell of a change. That a session has ended is told by the error it raises."""
        if state.state == "lost":
            line = self._lost(state)
            self._log.warning("disconnected", text=line, peer=state.peer, run=self._run())
        elif state.state == "back":
            line = f"{state.peer} is back; nothing was lost"
            self._log.info("reconnected", text=line, peer=state.peer, run=self._run())
        else:
            return
        if self._tell is not None:
            self._tell(line)

    def _lost(self, state: LinkState) -> str:
        left = max(0.0, state.seconds_left or 0.0)
        effort = "trying to reconnect for another" if self._dials else "waiting for it another"
        return f"{state.peer} is lost: {state.reason}; {effort} {left:.0f} s; {self._next_steps()}"
