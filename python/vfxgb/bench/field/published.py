"""Seconds a tree that papers and documentation state, to stand beside what is measured here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Number(NamedTuple):
    """Seconds of a tree. `shape`: of axes.py, None for one that is not among them; `line`: as the paper says it.

    `beside`: the line of axes.py that it is closest to. `threads`: of a party, None where that is not said.
    """

    table: str
    shape: str | None
    seconds: float
    line: str
    beside: str
    threads: int | None
    megabytes: float | None = None
    note: str = ""


@dataclass(frozen=True)
class System:
    """What a paper or a page says of a system."""

    name: str
    level: str | None
    learns: str
    numbers: tuple[Number, ...]


SMALL, MIDDLE, LARGE = "50k x 15, depth 4, 8 bins", "100k x 20, depth 5, 16 bins", "1M x 20, depth 5, 16 bins"
CIKM, CREDITCARD = "140k x 23, depth 5, 10 bins", "creditcard, 284,807 x 30"
OTHER = "50k x 10, depth 4, 8 bins"
SQUIRREL_WAN, MBIT_100, MBIT_10 = "200 Mbit/s, 20 ms", "100 Mbit/s, 20 ms", "10 Mbit/s, 50 ms"

SYSTEMS = (
    System(
        "Squirrel (USENIX Security 2023)",
        "splits",
        "each party learns its own winning splits, and which rows both have",
        (
            Number(SMALL, "50k", 6.0, "LAN", "lan", 6),
            Number(MIDDLE, "100k", 12.0, "LAN", "lan", 8, 310, "about"),
            Number(MIDDLE, "100k", 26.0, SQUIRREL_WAN, "200/20", 8, 310, "about"),
            Number(LARGE, "1m", 93.0, "LAN", "lan", 8, 2580, "about"),
            Number(LARGE, "1m", 175.0, SQUIRREL_WAN, "200/20", 8, 2580, "about"),
        ),
    ),
    System(
        "AnonGBDT (IEEE S&P 2026)",
        "splits",
        "each party learns its own winning splits, but not which rows both have",
        (
            Number(LARGE, "1m", 53.0, "LAN", "lan", 8, 4110, "about"),
            Number(LARGE, "1m", 230.0, "WAN", "200/20", 8, 4110, "about"),
        ),
    ),
    System(
        "HEP-XGB (CIKM 2021)",
        "nothing",
        "sums and nodes stay hidden",
        (
            Number(CIKM, "140k", 47.6, "LAN", "lan", 32),
            Number(CIKM, "140k", 151.0, "100 Mbit/s", "100/20", 32),
        ),
    ),
    System(
        "Pivot (VLDB 2020)",
        "nothing",
        "sums and nodes stay hidden",
        (Number(SMALL, "50k", 168.0, "LAN", "lan", 6),),
    ),
    System(
        "Guard-GBDT (RAID 2025)",
        None,
        "two parties on shares, with an approximate gain and sigmoid",
        (
            Number(OTHER, None, 35.0, "LAN", "lan", None, 106),
            Number(OTHER, None, 393.0, "100 Mbit/s, 40 ms", "100/20", None, 106),
        ),
    ),
    System(
        "SecretFlow SGB with OU (its documentation)",
        "sums",
        "the label holder opens sums, the other party knows the rows of nodes",
        (
            Number(CREDITCARD, "creditcard", 1.06, "LAN", "lan", 8, None, "106 s in all, up to 100 trees"),
            Number(CREDITCARD, "creditcard", 1.85, MBIT_100, "100/20", 8, None, "185 s in all, up to 100 trees"),
            Number(CREDITCARD, "creditcard", 8.51, MBIT_10, "10/50", 8, None, "851 s in all, up to 100 trees"),
        ),
    ),
)


def published(shape: str | None, line: str | None = None) -> Iterator[tuple[System, Number]]:
    """The numbers of a shape, None for those of no shape here; with a `line`, those that are closest to it."""
    for system in SYSTEMS:
        for number in system.numbers:
            if number.shape == shape and line in (None, number.beside):
                yield system, number
