"""What the protocol promises, and what is known against it."""

from typing import Any

from vfxgb.report.html import Markup, bullets, markup, more, quiet, tag


def render(document: dict[str, Any]) -> Markup:
    """Guarantees, known attacks, what messages tell by design."""
    said = document["guarantees"]
    if not said["name"]:
        return Markup()
    attacks, reveals = said["attacks"], said["reveals"]
    by_design = "What its messages reveal by design"
    return markup(
        tag("h2", "Guarantees"),
        tag("p", tag("b", said["name"]), f": {said['summary']}." if said["summary"] else None),
        bullets(said["points"]) if said["points"] else None,
        tag("h3", "Known attacks"),
        tag("ul", map(_attack, attacks), class_="attacks")
        if attacks
        else tag("p", "None is known beyond what the messages reveal by design."),
        quiet("Codes such as E62 are points of docs/errata.md.") if any("(E" in text for text in attacks) else None,
        more(by_design, bullets(reveals), key="by-design", open_=document["ledger"] is None) if reveals else None,
    )


def _attack(text: str) -> Markup:
    """The name before a colon stands out."""
    name, colon, rest = text.partition(": ")
    if not colon or len(name) > 40:
        return tag("li", text)
    return tag("li", tag("b", name[:1].upper() + name[1:]), f": {rest}")
