"""What a connection may cost: times, bytes, how often each side shows that it is alive; how safe it must be.

Also what is known of the line that it runs over.
"""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from vfxgb.described import allows, documented, parameters
from vfxgb.errors import ConfigError
from vfxgb.transport.line import KnownLine, LineDelayMs, LineMbit
from vfxgb.transport.messages import BULK_BYTES

# A frame travels in pieces of at most this many bytes. Also what a receiver collects before it acknowledges, so that a
# window of a few chunks never waits for an acknowledgement that waits for more chunks.
CHUNK_BYTES = 1 << 20
# After this many heartbeats without a sign of life a connection is given up and made again.
MISSED_BEATS = 3
# Signs of life that fit into lost_after_seconds: a single late one is no alarm.
BEATS_BEFORE_LOST = 4


@documented()
@dataclass(frozen=True)
class Limits:
    """Limits of one side; the two sides of a link need not agree. Raises ConfigError for values out of bounds."""

    connect_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=3600,
            description="A connection must be an open session so long after its first byte, or it is dropped.",
        ),
    ] = 10.0
    reconnect_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=7 * 86400,
            description="A lost connection is tried again, or waited for, so long before it is given up; 0 gives "
            "up at once.",
        ),
    ] = 120.0
    step_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=30 * 86400,
            description="The longest wait for the next frame, or for room to send one, while the peer is alive.",
        ),
    ] = 3600.0
    heartbeat_seconds: Annotated[
        float,
        Meta(
            ge=0.05,
            le=3600,
            description="Each side gives a sign of life at least this often; after three times as long without one the "
            "connection is given up and made again. A line has to carry a chunk of 1 MiB in that time: 0.3 Mbit/s are "
            "enough for the default.",
        ),
    ] = 10.0
    lost_after_seconds: Annotated[
        float,
        Meta(
            ge=0.2,
            le=3600,
            description="After so long without a sign of life the peer is reported as lost; the other side is asked "
            "for four signs of life in that time. Nothing ends by it: a peer that is heard again is reported as back.",
        ),
    ] = 4.0
    close_seconds: Annotated[
        float,
        Meta(ge=0.1, le=3600, description="Closing a link waits so long for the last frames to reach the peer."),
    ] = 5.0
    window_bytes: Annotated[
        int,
        Meta(
            ge=4 * CHUNK_BYTES,
            le=1 << 34,
            description="So many bytes of frames may wait in each direction on each side, beyond the frame that is "
            "being moved.",
        ),
    ] = 64 << 20
    max_frame_bytes: Annotated[
        int,
        Meta(
            ge=1 << 10,
            le=1 << 34,
            description="The largest frame accepted. A larger one is refused when it is announced, before any memory "
            "is taken.",
        ),
    ] = BULK_BYTES + CHUNK_BYTES
    max_session_bytes: Annotated[
        int,
        Meta(
            ge=16 * CHUNK_BYTES,
            le=1 << 36,
            description="The most that a session may hold of what came and was not read yet, the frame that is being "
            "put together included. The window takes at most a quarter of it, and a frame what two windows leave.",
        ),
    ] = 512 << 20
    compression: Annotated[
        bool,
        Meta(
            description="Chunks that shrink are compressed by zstd, if both sides want it and have the package "
            "`zstandard`. It is off by default, because sizes on the wire then tell an eavesdropper how regular the "
            "data is."
        ),
    ] = False
    require_post_quantum: Annotated[
        bool,
        Meta(
            description="Connections whose keys were not agreed on by X25519MLKEM768, which a later quantum computer "
            "cannot open, are refused. Both sides can use it if they have grpcio 1.85 or newer, which this package "
            "requires."
        ),
    ] = True
    mbit: LineMbit = None
    delay_ms: LineDelayMs = None

    @property
    def line(self) -> KnownLine:
        """What is known of the line."""
        return KnownLine(self.mbit, self.delay_ms)

    @property
    def wanted_beat(self) -> float:
        """Seconds between signs of life that this side asks the other one for."""
        return min(self.heartbeat_seconds, self.lost_after_seconds / BEATS_BEFORE_LOST)

    @property
    def receive_window(self) -> int:
        """Bytes of frames that may have come and wait to be read before the sender is told to wait."""
        return min(self.window_bytes, self.max_session_bytes // 4)

    @property
    def largest_frame(self) -> int:
        """Bytes of a frame that fits into max_session_bytes whatever else waits: a window, and one under way."""
        return min(self.max_frame_bytes, self.max_session_bytes - 2 * self.receive_window - 2 * CHUNK_BYTES)

    def __post_init__(self) -> None:
        for parameter in parameters(Limits):
            value = getattr(self, parameter.name)
            if not allows(parameter.hint, value):
                wanted = parameter.wanted(toml=True)
                raise ConfigError(f"network limits: {parameter.name} is {value!r}, wanted {wanted}")
