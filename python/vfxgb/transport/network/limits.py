"""What a connection may cost: times, bytes, and how often each side shows that it is alive."""

import math
from dataclasses import dataclass, fields

from vfxgb.errors import ConfigError
from vfxgb.transport.messages import BULK_BYTES

# A frame travels in pieces of at most this many bytes. Also what a receiver collects before it acknowledges, so that a
# window of a few chunks never waits for an acknowledgement that waits for more chunks.
CHUNK_BYTES = 1 << 20
# After this many heartbeats without a sign of life a connection is given up and made again.
MISSED_BEATS = 3
# Signs of life that fit into lost_after_seconds: a single late one is no alarm.
BEATS_BEFORE_LOST = 4

# Field -> (smallest, largest) value.
BOUNDS: dict[str, tuple[float, float]] = {
    "connect_seconds": (0.1, 3600.0),
    "reconnect_seconds": (0.0, 7 * 86400.0),
    "step_seconds": (0.1, 30 * 86400.0),
    "heartbeat_seconds": (0.05, 3600.0),
    "lost_after_seconds": (0.2, 3600.0),
    "close_seconds": (0.1, 3600.0),
    "window_bytes": (4 * CHUNK_BYTES, 1 << 34),
    "max_frame_bytes": (1 << 10, 1 << 34),
}


@dataclass(frozen=True)
class Limits:
    """Limits of one side; the two sides of a link need not agree. Raises ConfigError for values out of bounds.

    `connect_seconds`: from the first byte of a connection to an open session; who is slower is dropped.
    `reconnect_seconds`: how long a lost connection is tried again, or waited for, before it is given up; 0: never.
    `step_seconds`: the longest wait for the next frame, or for room to send one, while the peer is alive.
    `heartbeat_seconds`: a sign of life at least this often; after three times as long without one the connection is
    given up and made again. A line has to carry a chunk of 1 MiB in that time: 0.3 Mbit/s are enough for the default.
    `lost_after_seconds`: after so long without a sign of life the peer is reported as lost; the other side is asked for
    four signs of life in that time. Nothing ends by it: a peer that is heard again is reported as back.
    `close_seconds`: how long `close` waits for the last frames to reach the peer.
    `window_bytes`: frames that wait in each direction on each side, beyond the one that is being moved.
    `max_frame_bytes`: the largest frame accepted; refused when announced, before any memory is taken.
    `compression`: zstd for chunks that shrink, if both sides want it and have the package `zstandard`. Off by default:
    sizes on the wire then tell an eavesdropper how regular the data is.
    """

    connect_seconds: float = 10.0
    reconnect_seconds: float = 120.0
    step_seconds: float = 3600.0
    heartbeat_seconds: float = 10.0
    lost_after_seconds: float = 4.0
    close_seconds: float = 5.0
    window_bytes: int = 64 << 20
    max_frame_bytes: int = BULK_BYTES + CHUNK_BYTES
    compression: bool = False

    @property
    def wanted_beat(self) -> float:
        """Seconds between signs of life that this side asks the other one for."""
        return min(self.heartbeat_seconds, self.lost_after_seconds / BEATS_BEFORE_LOST)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "compression":
                good = isinstance(value, bool)
                wanted = "true or false"
            else:
                low, high = BOUNDS[field.name]
                kinds = (int,) if field.name.endswith("bytes") else (int, float)
                good = isinstance(value, kinds) and not isinstance(value, bool)
                good = good and math.isfinite(value) and low <= value <= high
                wanted = f"a number from {low:g} to {high:g}"
            if not good:
                raise ConfigError(f"network limits: {field.name} is {value!r}, wanted {wanted}")
