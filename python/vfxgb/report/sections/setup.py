"""Parameters, versions and files."""

from typing import Any

from vfxgb.report.html import Markup, markup, quiet, table, tag
from vfxgb.report.words import shown


def render(document: dict[str, Any]) -> Markup:
    """The tables at the end of the page."""
    run = document["run"]
    kind = document["guarantees"]["kind"].capitalize()
    parts = (("Training", run["train"]), (kind, run["protocol_params"]), ("Versions", run["versions"]))
    columns = (
        tag("div", tag("h3", title), table(title, ("name", "value"), _rows(values)))
        for title, values in parts
        if values
    )
    files = [(tag("code", name), " ") for name in document["files"]]
    return markup(
        tag("h2", "Parameters and versions"),
        tag("div", columns, class_="columns"),
        quiet("Files of the run: ", files) if files else None,
    )


def _rows(values: dict[str, Any]) -> list[tuple[Markup, str]]:
    return [(tag("code", name), shown(value)) for name, value in values.items()]
