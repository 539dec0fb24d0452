"""Parameters, versions and files."""

from typing import Any

from vfxgb.report.html import Markup, markup, table, tag
from vfxgb.report.words import shown


def render(document: dict[str, Any]) -> Markup:
    """The tables at the end of the page."""
    run = document["run"]
    parts = (
        ("Training", run["train"]),
        (document["guarantees"]["kind"].capitalize(), run["protocol_params"]),
        ("Versions", run["versions"]),
    )
    return markup(
        (
            tag("h2", "Parameters and versions"),
            tag(
                "div",
                (
                    tag("div", tag("h3", title), table(title, ("name", "value"), _rows(values)))
                    for title, values in parts
                    if values
                ),
                class_="columns",
            ),
            tag("p", "Files of the run: ", [(tag("code", name), " ") for name in document["files"]], class_="quiet")
            if document["files"]
            else None,
        )
    )


def _rows(values: dict[str, Any]) -> list[tuple[Markup, str]]:
    return [(tag("code", name), shown(value)) for name, value in values.items()]
