"""The commented configuration that `vfxgb init` writes: every key with its default, those to fill in first.

The text is in template.toml, for all roles. A line that begins with "#: " names the roles that the lines after it are
for, up to the next such line.
"""

from importlib.resources import files

MARK = "#: "


def template(party: str, role: str, peer: str, file: str) -> str:
    """Write a configuration to begin with."""
    text = files("vfxgb.party").joinpath("template.toml").read_text(encoding="utf-8")
    lines, wanted = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith(MARK):
            wanted = role in line.removeprefix(MARK).strip().split(", ")
        elif wanted:
            lines.append(line)
    return "".join(lines).format(party=party, role=role, peer=peer, file=file)
