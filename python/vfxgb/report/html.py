"""HTML by construction: whatever is not already markup is escaped, so that a party's name cannot become a tag.

`tag("td", name)` escapes `name`; `tag("td", tag("b", name))` keeps the inner tag. Only `Markup` passes unescaped, and
only this file and the package's own assets make it.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import Any, TypeAlias

VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "Markup | str | int | Iterable[Child] | None"


def markup(*children: "Child") -> Markup:
    """Anything as HTML: text escaped, None left out, sequences joined."""
    return Markup("".join(map(_escaped, children)))


def _escaped(child: "Child") -> Markup:
    if child is None:
        return Markup()
    if isinstance(child, Markup):
        return child
    if isinstance(child, (str, int)):
        return Markup(escape(str(child)))
    return markup(*child)


def tag(name: str, /, *children: "Child", **attributes: str | float | bool | None) -> Markup:
    """One element. An attribute's trailing underscore goes, other underscores are hyphens.

    `True` gives the bare attribute; `None` and `False` leave it out.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        parts.append(shown if value is True else f'{shown}="{escape(_text(value))}"')
    opened = f"<{' '.join(parts)}>"
    if name in VOID:
        return Markup(opened)
    return Markup(f"{opened}{markup(*children)}</{name}>")


def _text(value: str | float) -> str:
    # Coordinates: two decimals are finer than a pixel.
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def table(
    caption: str,
    head: Sequence["Child"],
    rows: Iterable[Sequence["Child"]],
    numeric: Iterable[int] = (),
    wide: int | None = None,
    stack: bool = False,
) -> Markup:
    """A table in a box that scrolls by itself. The first column heads its row.

    `caption` is for who cannot see the table. Columns in `numeric` are set flush right; `wide` is the column of bars.
    Where `stack`, a row's cells stand below each other on narrow screens, each behind the head of its column.
    """
    right = frozenset(numeric)

    def kind(place: int) -> str | None:
        return "num" if place in right else "wide" if place == wide else None

    def cells(row: Sequence["Child"]) -> Iterable[Markup]:
        for place, cell in enumerate(row):
            if place == 0:
                yield tag("th", cell, scope="row", class_=kind(place))
            else:
                yield tag("td", cell, class_=kind(place), data_label=str(head[place]) if stack else None)

    heads = (tag("th", cell, scope="col", class_=kind(place)) for place, cell in enumerate(head))
    content = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", heads)),
        tag("tbody", (tag("tr", cells(row)) for row in rows)),
        class_="stack" if stack else None,
    )
    return region(caption, content)


def region(
    label: str, *children: "Child", key: str | None = None, style: str = "scroll", hidden: bool = False
) -> Markup:
    """A box that scrolls by itself, also by keyboard; `label` is for who cannot see it."""
    return tag("div", *children, id=key, class_=style, tabindex="0", role="region", aria_label=label, hidden=hidden)


def bullets(items: Iterable["Child"]) -> Markup:
    """A list of points."""
    return tag("ul", (tag("li", item) for item in items))


def quiet(*children: "Child") -> Markup:
    """A paragraph that stands back."""
    return tag("p", *children, class_="quiet")


def alert(*children: "Child") -> Markup:
    """A paragraph that nobody should overlook."""
    return tag("p", *children, class_="alert")


def more(summary: "Child", *children: "Child", key: str, open_: bool = False) -> Markup:
    """Something folded away. `key`: unique on the page; what is open stays open when the section is replaced."""
    return tag("details", tag("summary", summary), children, id=key, open_=open_)


def json_block(value: Any, key: str) -> Markup:
    """Data for the page's script. No character in it can end the block."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{escape(key)}">{text}</script>')


def policy_digest(text: str) -> str:
    """How a Content-Security-Policy names a style or a script that it allows."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
