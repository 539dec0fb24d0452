"""What a run comes to for who must decide on it: three sentences, before any number.

What the other side learned, what this party learned, and what protects either of them or does not. The words on a
protocol are its own (ProtocolSpec.learned); amounts are the ledger's.
"""

from collections import Counter
from typing import Any

from vfxgb.report.words import joined, plural
from vfxgb.runtime.ledger import counted

# Roles that stand where the active party does: they hold labels or trees, and the others learn from them.
_LEADING = ("active", "server")
# So many amounts of the ledger stand in a sentence.
MOST_AMOUNTS = 2

_HOLDS = {
    "active": "This holds even if the server lies to its users, as long as enough of them do not side with it",
    "semi-honest": "This holds as long as every side follows the protocol",
    "broken": "Nothing of this holds against an attack that is known: the run is for research only",
    "none": "Nothing protected this run: others saw gradients or data in clear",
}
_WEAKENED = "None of this is promised, as the run allowed settings that do not protect, such as keys that are too short"
_NOT_KNOWN = "This version of vfxgb does not know the protocol, so what protects the run cannot be said"


def verdict(run: dict[str, Any], guarantees: dict[str, Any], ledger: dict[str, Any] | None) -> list[str]:
    """Three sentences on a run; none before its protocol is known. `ledger`: as ledger.json has it, None if not yet."""
    parties = run["parties"]
    others = [party for party in parties if party != run["party"]]
    leads = run["role"] in _LEADING
    if not guarantees["name"]:
        return []
    if not others and guarantees["kind"] == "protocol":
        return [f"{run['party']} trained alone, with its own columns: nobody else learned anything."]
    sides = ("active", "passive") if leads else ("passive", "active")
    # A passive party talks to the active one alone, which is named first.
    partners = others if leads else parties[:1]
    names = joined(partners) or "Each user"
    return [
        _learned(names, partners, run["party"], sides[1], guarantees, ledger),
        _learned(run["party"], [run["party"]], names if partners else "the users", sides[0], guarantees, ledger),
        _protected(guarantees, ledger),
    ]


def _learned(
    name: str, party: list[str], others: str, side: str, guarantees: dict[str, Any], ledger: dict[str, Any] | None
) -> str:
    words = guarantees["learned"].get(side, "what its messages said").format(others=others)
    amounts = _amounts(party, ledger)
    counts = f" (the ledger counts {joined(amounts)})" if amounts else ""
    several = len(party) > 1
    verb = "learned" if ledger is not None else "learn" if several else "learns"
    return f"{name} {'each ' if several else ''}{verb} {words}{counts}."


def _amounts(parties: list[str], ledger: dict[str, Any] | None) -> list[str]:
    """The largest amounts that these parties, or each of them, were told, one of each unit."""
    # The same message of several senders tells all of it to one receiver.
    told: Counter[tuple[str, str, str]] = Counter()
    for entry in (ledger or {}).get("entries", []):
        # What is masked or encrypted is counted in the ledger too, and tells nothing.
        telling = not entry["reveals"].startswith("nothing") and ": nothing" not in entry["reveals"]
        if entry["receiver"] in parties and telling and entry["amount"]:
            told[entry["receiver"], entry["reveals"], entry["unit"]] += entry["amount"]
    most: dict[str, int] = {}
    for (_, _, unit), amount in told.items():
        # Of what is counted as mere numbers an amount says nothing.
        if unit and not unit.startswith("numbers"):
            most[unit] = max(most.get(unit, 0), amount)
    largest = sorted(((amount, unit) for unit, amount in most.items()), reverse=True)
    return [counted(amount, unit) for amount, unit in largest[:MOST_AMOUNTS]]


def _protected(guarantees: dict[str, Any], ledger: dict[str, Any] | None) -> str:
    parts = [_WEAKENED if guarantees["weakened"] else _HOLDS.get(guarantees["security"], _NOT_KNOWN)]
    solved = [
        f"{party} showed {opened['equations']:,} equations in {opened['rows']:,} rows, enough to compute its binned "
        "table"
        for party, opened in (ledger or {}).get("opened", {}).items()
        if opened["equations"] >= opened["rows"]
    ]
    parts += solved
    count = len(guarantees["attacks"])
    if count:
        parts.append(f"{plural(count, 'known attack')} {'is' if count == 1 else 'are'} listed under Guarantees")
    return f"{'; '.join(parts)}."
