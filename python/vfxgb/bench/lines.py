"""Printed tables: a name, then cells in columns of one width."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

MEGA = 1e6

# A column: its heading, and what stands in it for one of the things that the table lists.
Column: TypeAlias = tuple[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Columns:
    """The first column is `name_width` wide, each other `width`; a cell that is wider pushes the next ones along."""

    name_width: int
    width: int

    def line(self, name: str, cells: Iterable[str]) -> str:
        """One line; cells stand right."""
        wide = [f"{cell:>{max(self.width, len(cell) + 1)}}" for cell in cells]
        return (f"{name:<{self.name_width}}" + "".join(wide)).rstrip()

    def table(self, title: str, columns: Sequence[Column], listed: Iterable[Any]) -> list[str]:
        """A line of headings, then a line for each of `listed`, which have a `name`."""
        heads = self.line(title, (heading for heading, _ in columns))
        return [heads, *(self.line(entry.name, (cell(entry) for _, cell in columns)) for entry in listed)]


def megabytes(count: float | None) -> str:
    """Bytes as megabytes; None is what the system did not tell."""
    return "unknown" if count is None else f"{count / MEGA:.1f}"
