"""The line to the other parties, as far as this party knows it. It decides no result, only bytes against computing."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

Mbit = Annotated[float, Meta(gt=0, le=1e6)]
DelayMs = Annotated[float, Meta(ge=0, le=60_000)]
MBIT_MEANING = (
    "The bandwidth of the line to the other parties in megabits a second, if it is known. The transfers of ot_shares "
    "are then made for it, and what is said of the time of a tree is about it."
)
DELAY_MEANING = "The delay of that line in one direction in milliseconds, if it is known."
LineMbit = Annotated[Mbit | None, Meta(description=MBIT_MEANING)]
LineDelayMs = Annotated[DelayMs | None, Meta(description=DELAY_MEANING)]

# The line that times are given for where none is known.
NAMED_MBIT = 100.0
NAMED_DELAY_MS = 10.0


@dataclass(frozen=True)
class KnownLine:
    """What is known of a line: megabits a second and milliseconds in one direction, None for what is not known."""

    mbit: float | None = None
    delay_ms: float | None = None

    def seconds(self, n_bytes: float, round_trips: float) -> float:
        """How long `n_bytes` and so many round trips take on it, or on the named line where it is not known.

        All bytes are taken to go one after the other, in whichever direction.
        """
        mbit = NAMED_MBIT if self.mbit is None else self.mbit
        delay = self._delay_ms / 1000
        return 8 * n_bytes / (1e6 * mbit) + 2 * delay * round_trips

    @property
    def under_way(self) -> float:
        """Bytes that must be under way for the line to be busy all the time; 0 where it is not known."""
        return (self.mbit or 0.0) * 1e6 / 8 * 2 * (self.delay_ms or 0.0) / 1000

    @property
    def _delay_ms(self) -> float:
        """The delay: of a line whose bandwidth alone is known, none is assumed."""
        if self.delay_ms is not None:
            return self.delay_ms
        return NAMED_DELAY_MS if self.mbit is None else 0.0

    @property
    def words(self) -> str:
        """The line that `seconds` is about, as people say it."""
        mbit = NAMED_MBIT if self.mbit is None else self.mbit
        delay = f" and {self._delay_ms:g} ms" if self._delay_ms else ""
        return f"a line of {mbit:g} Mbit/s{delay}"


UNKNOWN_LINE = KnownLine()
