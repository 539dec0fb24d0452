"""The pages of the documentation: which there are, their code blocks and their links.

A block is fenced and says what it is: a kind, and for `sh` one word more where a plain run would not do. What happens
with each is in page_runner.py.

    python              run, with the blocks of its page in one namespace
    sh                  run by bash
    sh background       "in another terminal": runs until the page ends
    sh ctrl-c           interrupted as soon as a round is finished
    sh parse-only       takes minutes: only its arguments are checked
    toml                the file that its first line names, `# FILE`; must load as a party's configuration
    text                what the block before printed; numbers may differ, and `...` stands for any lines
    text exact          the same with the very numbers
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"python": ("",), "sh": ("", "background", "ctrl-c", "parse-only"), "toml": ("",), "text": ("", "exact")}
FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*(.*?)\s*$")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One fenced block: `line` is that of its first line of text."""

    page: Path
    line: int
    kind: str
    word: str
    text: str

    @property
    def where(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """README.md, CONTRIBUTING.md and the pages of docs; results are not among them, they hold no commands."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """All code blocks of a page. Raises AssertionError for one that nothing would run."""
    found: list[Block] = []
    opened: tuple[str, int, str] | None = None
    text: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, text = (fence[2], number + 1, fence[3]), []
        elif opened is not None and fence and fence[2].startswith(opened[0]) and not fence[3]:
            found.append(_block(page, opened[1], opened[2], "".join(f"{one}\n" for one in text)))
            opened = None
        else:
            text.append(line)
    assert opened is None, f"{page.name}: the block at line {opened and opened[1]} has no end"
    return found


def _block(page: Path, line: int, info: str, text: str) -> Block:
    kind, _, word = info.partition(" ")
    block = Block(page, line, kind, word.strip(), text)
    assert block.word in KINDS.get(kind, ()), (
        f"{block.where}: a block of kind {info!r}, which nothing runs; wanted one of those in tests/support/pages.py"
    )
    return block


def indented_code(page: Path) -> list[int]:
    """Lines at which Markdown would begin a code block by indentation, which nothing runs."""
    found: list[int] = []
    fenced, in_list, blank = "", False, True
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if fence and (not fenced or fence[2].startswith(fenced)):
            fenced = "" if fenced else fence[2]
        elif not fenced:
            if LIST_ITEM.match(line):
                in_list = True
            elif line and not line.startswith(" "):
                in_list = False
            elif line.startswith("    ") and blank and not in_list:
                found.append(number)
        blank = not line.strip()
    return found


def links(page: Path) -> list[str]:
    """Targets of the links of a page that are not in code."""
    text = re.sub(r"(?ms)^(`{3,}).*?^\1\s*$", "", page.read_text(encoding="utf-8"))
    return LINK.findall(re.sub(r"`[^`\n]*`", "", text))


def headings(page: Path) -> set[str]:
    """The anchors that the headings of a page make, by the rule of code hosts: lower case, dashes for blanks."""
    text = re.sub(r"(?ms)^(`{3,}).*?^\1\s*$", "", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ +(.*?)\s*$", text)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
