"""Every code block of README.md and of docs does what the page says: it is run, page by page, in its order."""

import re
from pathlib import Path

import pytest

from page_runner import PageRunner
from pages import ROOT, blocks, indented_code, pages

PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]


@pytest.mark.usefixtures("registry", "objectives", "attacks")  # docs/extending.md registers one of each
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    with PageRunner(tmp_path) as runner:
        for block in blocks(page):
            runner.run(block)


@pytest.mark.parametrize("page", PAGES)
def test_page_says_what_it_expects(page: Path) -> None:
    python = [block.text for block in blocks(page) if block.kind == "python"]
    assert not python or re.search(r"^\s*assert ", "\n".join(python), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_no_code_by_indentation(page: Path) -> None:
    assert indented_code(page) == []
