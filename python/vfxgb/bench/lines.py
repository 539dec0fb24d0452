"""Lines of printed tables: a name, then cells in columns of one width."""

from collections.abc import Sequence
from dataclasses import dataclass

MEGA = 1e6


@dataclass(frozen=True)
class Columns:
    """The first column is `name_width` wide, each other `width`; a cell that is wider pushes the next ones along."""

    name_width: int
    width: int

    def line(self, name: str, cells: Sequence[str]) -> str:
        """One line; cells stand right."""
        wide = [f"{cell:>{max(self.width, len(cell) + 1)}}" for cell in cells]
        return (f"{name:<{self.name_width}}" + "".join(wide)).rstrip()


def megabytes(count: float | None) -> str:
    """Bytes as megabytes; None is what the system did not tell."""
    return "unknown" if count is None else f"{count / MEGA:.1f}"
