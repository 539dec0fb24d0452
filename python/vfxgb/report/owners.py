"""Which colour and letter stands for which party, the same in every section of a page."""

from typing import Any

from vfxgb.report.html import Child, Markup, markup, tag

COLOURS = 7  # styles o0, o1, ... of assets/style.css


def places(document: dict[str, Any]) -> dict[str, int]:
    """Every party that the document names, in a fixed order: the run's, the model's, the ledger's."""
    names = list(document["run"]["parties"]) or [document["run"]["party"]]
    names += (document["model"] or {}).get("parties", [])
    for entry in (document["ledger"] or {}).get("entries", []):
        names += [entry["sender"], entry["receiver"]]
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def letter(place: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def style(place: int) -> str:
    """The class of a party's colour."""
    return f"o{place % COLOURS}"


def badge(document: dict[str, Any], party: str) -> Markup:
    """A party's name behind its letter on its colour."""
    place = places(document).get(party)
    if place is None:
        return tag("span", party, class_="owner")
    return tag("span", tag("b", letter(place), class_=style(place), aria_hidden="true"), party, class_="owner")


def badges(document: dict[str, Any], parties: list[str]) -> Markup:
    """Several parties as a list in words: a, b and c."""
    parts: list[Child] = []
    for place, party in enumerate(parties):
        if place:
            parts.append(" and " if place == len(parties) - 1 else ", ")
        parts.append(badge(document, party))
    return markup(parts)
