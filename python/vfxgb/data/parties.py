"""Who holds which column: dividing one table among parties, and checking tables that come divided."""

from collections.abc import Mapping, Sequence

from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError, LengthMismatchError, TableError


def split_by_party(table: Table, parties: Mapping[str, Sequence[str | int]], active: str) -> dict[str, Table]:
    """One table per party, in the order of `parties`, columns in the order given; numbers are column positions.

    Raises ColumnNameError for a column that is absent, in two parties or in none, TableError for an unknown active
    party or a party without columns.
    """
    _check_active(tuple(parties), active)
    owner: dict[str, str] = {}
    divided: dict[str, Table] = {}
    for party, wanted in parties.items():
        if isinstance(wanted, str):
            raise ColumnNameError(f"dividing columns: party {party!r} has {wanted!r}, wanted a list of column names")
        names = [_name(table, entry, party) for entry in wanted]
        for name in names:
            if name in owner and owner[name] != party:
                raise ColumnNameError(
                    f"dividing columns: column {name!r} belongs to party {owner[name]!r} and to party {party!r}, "
                    "wanted one owner"
                )
            owner[name] = party
        if not names:
            raise TableError(f"dividing columns: party {party!r} has no columns, wanted at least one; leave it out")
        divided[party] = table.with_party(party).select(names)
    orphans = [name for name in table.names if name not in owner]
    if orphans:
        raise ColumnNameError(
            f"dividing columns: column {orphans[0]!r} belongs to no party ({len(orphans)} such columns), wanted one of "
            f"{list(parties)}; give it an owner or leave it out of the data"
        )
    return divided


def check_parties(tables: Mapping[str, Table | Source], active: str) -> None:
    """Check tables that come one per party: rows agree in number, and no column has two owners.

    Raises LengthMismatchError, ColumnNameError, or TableError for an unknown active party.
    """
    _check_active(tuple(tables), active)
    first = active
    owner: dict[str, str] = {}
    for party, table in tables.items():
        if table.n_rows != tables[first].n_rows:
            raise LengthMismatchError(
                f"comparing parties: party {party!r} has {table.n_rows} rows and party {first!r} has "
                f"{tables[first].n_rows}, wanted the same people in the same order; align them first"
            )
        for name in table.names:
            if name in owner:
                raise ColumnNameError(
                    f"comparing parties: column {name!r} belongs to party {owner[name]!r} and to party {party!r}, "
                    "wanted one owner; rename or drop one"
                )
            owner[name] = party


def _check_active(parties: tuple[str, ...], active: str) -> None:
    if active not in parties:
        raise TableError(f"dividing columns: the active party {active!r} is none of the parties {list(parties)}")


def _name(table: Table, entry: str | int, party: str) -> str:
    if isinstance(entry, str):
        if entry not in table.names:
            raise ColumnNameError(
                f"dividing columns: party {party!r} asks for column {entry!r}, which the data does not have; "
                f"its columns are {list(table.names[:20])}"
            )
        return entry
    if not 0 <= entry < table.n_features:
        raise ColumnNameError(
            f"dividing columns: party {party!r} asks for column {entry}, "
            f"wanted a position from 0 to {table.n_features - 1}"
        )
    return table.names[entry]
