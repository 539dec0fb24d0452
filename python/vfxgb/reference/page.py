"""docs/parameters.md: all sections of parameters as one page of Markdown."""

import textwrap
from collections.abc import Sequence

from vfxgb.described import ABSENT, REQUIRED
from vfxgb.reference.sections import Section

PREFACE = """\
# Parameters

Written from the code by `vfxgb parameters --markdown`, which also answers single questions:

```sh
vfxgb parameters batch_he             # a protocol, an aggregator, a section of party.toml, train, environment
vfxgb parameters max_depth epsilon    # wherever there is a parameter of that name
```
"""


def markdown(every: Sequence[Section]) -> str:
    """Write the page."""
    parts = [PREFACE]
    group = ""
    for section in every:
        if section.group != group:
            group = section.group
            parts.append(f"## {group}\n")
        if section.title != group:
            parts.append(f"### {section.title}\n")
        if section.intro:
            parts.append(textwrap.fill(section.intro, 120, break_long_words=False, break_on_hyphens=False) + "\n")
        if section.entries:
            parts.append(_table(section))
    return "\n".join(parts)


def _table(section: Section) -> str:
    """The columns that have something in them."""
    entries = section.entries
    columns = {
        section.heading: [f"`{entry.name}`" for entry in entries],
        "default": [
            entry.default if entry.default in ("", ABSENT, REQUIRED) else f"`{entry.default}`" for entry in entries
        ],
        "wanted": [entry.form for entry in entries],
        "meaning": [entry.meaning for entry in entries],
    }
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    rows = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join([f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *(f"| {row} |" for row in rows), ""])
