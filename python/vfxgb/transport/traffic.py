"""Counters of a channel: bytes, messages, round trips."""

from dataclasses import dataclass, field


@dataclass
class Traffic:
    """What passed one channel, as the side that holds it sees it.

    A round trip is counted when something is received after something was sent: the times the sides had to
    wait for each other. `flights`: how many messages had to follow one upon the other, where one each way at the same
    time counts once; counted between threads of one process only, else 0.
    """

    sent_bytes: int = 0
    received_bytes: int = 0
    sent_messages: int = 0
    received_messages: int = 0
    round_trips: int = 0
    flights: int = field(default=0, compare=False)
    _waiting: bool = field(default=False, repr=False, compare=False)

    def sent(self, size: int) -> None:
        """Count a frame of `size` bytes that left."""
        self.sent_bytes += size
        self.sent_messages += 1
        self._waiting = True

    def received(self, size: int) -> None:
        """Count a frame of `size` bytes that came."""
        self.received_bytes += size
        self.received_messages += 1
        if self._waiting:
            self.round_trips += 1
            self._waiting = False

    @property
    def total_bytes(self) -> int:
        """Bytes in both directions."""
        return self.sent_bytes + self.received_bytes
