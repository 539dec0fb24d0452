"""`vfxgb parameters`: every parameter with its default, its bounds and its meaning, as the code has them.

docs/parameters.md is what `--markdown` writes.
"""

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from vfxgb.cli.exits import MEANING, OK
from vfxgb.cli.output import write_json
from vfxgb.cli.parser import Commands, UsageError

if TYPE_CHECKING:
    from vfxgb.reference.sections import Entry, Section

WIDTH = 100


def add(commands: Commands) -> None:
    """Add `parameters` to the commands."""
    parser = commands.add_parser(
        "parameters",
        help="all parameters: defaults, bounds, meanings",
        description="Shows parameters of training, estimators, protocols, aggregators and the configuration, with "
        "default, bounds and meaning. Without a name: what there is.",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a section, such as batch_he, or a parameter")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="all of them as the page docs/parameters.md")
    form.add_argument("--json", metavar="FILE", default=None, help="all of them as JSON; - prints it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what was asked for. Raises UsageError for a name that is neither section nor parameter."""
    from vfxgb.reference.page import markdown
    from vfxgb.reference.sections import sections

    if arguments.names and (arguments.markdown or arguments.json):
        raise UsageError("vfxgb parameters: --markdown and --json write all parameters; leave out the names")
    if arguments.markdown:
        print(markdown(sections(MEANING, shipped_only=True)), end="")
    elif arguments.json:
        write_json([asdict(section) for section in sections(MEANING)], arguments.json)
    elif arguments.names:
        print("\n\n".join(look_up(sections(MEANING), name) for name in arguments.names))
    else:
        print(overview(sections(MEANING)))
    return OK


def overview(every: Sequence["Section"]) -> str:
    """List the sections by group, with how many parameters they have."""
    lines: list[str] = []
    group = ""
    for section in every:
        if section.group != group:
            group = section.group
            lines += ["", group.replace("`", "")]
        lines.append(f"  {section.key:<14} {section.title.replace('`', '')}: {len(section.entries)}")
    return "\n".join([*lines[1:], "", "vfxgb parameters NAME shows a section, or a parameter wherever it is"])


def look_up(every: Sequence["Section"], name: str) -> str:
    """Show the sections or the parameters of that name. Raises UsageError with the closest one if there is neither."""
    from vfxgb.checks import closest_name

    named = [_section_text(section) for section in every if name in (section.key, section.title)]
    if named:
        return "\n\n".join(named)
    parts = [
        f"{section.group.split(':')[0]}: {section.title}\n{_entry_text(entry)}".replace("`", "")
        for section in every
        for entry in section.entries
        if entry.name == name
    ]
    if not parts:
        known = [word for section in every for word in (section.key, *(entry.name for entry in section.entries))]
        near = closest_name(name, known)
        hint = f"did you mean {near!r}?" if near else "`vfxgb parameters` without a name shows the sections"
        raise UsageError(f"vfxgb parameters: there is no section or parameter {name!r}; {hint}")
    return "\n\n".join(parts)


def _section_text(section: "Section") -> str:
    head = f"{section.group.split(':')[0]}: {section.title}\n"
    head += textwrap.fill(section.intro, WIDTH) + "\n" if section.intro else ""
    return (head + "\n".join(_entry_text(entry) for entry in section.entries)).replace("`", "")


def _entry_text(entry: "Entry") -> str:
    head = f"  {entry.name}" + (f" = {entry.default}" if entry.default else "")
    said = f"{entry.meaning} Wanted: {entry.form}." if entry.form else entry.meaning
    return head + "\n" + textwrap.fill(said, WIDTH, initial_indent="      ", subsequent_indent="      ")
