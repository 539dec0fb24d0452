"""Links lead somewhere, and every page can be found from the index."""

from pathlib import Path

import pytest

from pages import ROOT, headings, links

INDEX = ROOT / "docs/index.md"
WRITTEN = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "python").rglob("*.md"),
    *(ROOT / "bench").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in sorted(WRITTEN)])
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.relative_to(ROOT)} links to {target}, which is not there"
        assert file.is_relative_to(ROOT), f"{page.relative_to(ROOT)} links to {target}, outside of this repository"
        if anchor and file.suffix == ".md":
            assert anchor in headings(file), f"{page.relative_to(ROOT)} links to {target}; there is no such heading"


def test_index_names_every_page() -> None:
    named = {(INDEX.parent / target).resolve() for target in links(INDEX) if "://" not in target}
    missing = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page != INDEX and page not in named]
    assert missing == []


def test_readme_leads_to_the_index() -> None:
    assert "docs/index.md" in links(ROOT / "README.md")
