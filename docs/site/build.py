"""The documentation as a site: pages of the whole repository and a reference of the Python API, by MkDocs, strictly.

    python docs/site/build.py [FOLDER]      the site in FOLDER/html (build/site); index.html is README.md

Pages stay where they are in the repository, so links between them, and to sources, mean the same on the site. What a
page links to that is no page is copied next to it. Broken links end the build. Needs the extra `docs`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_name("mkdocs.yml")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Page of the reference -> its title, and what it describes.
REFERENCE = {
    "estimators": (
        "Estimators",
        ["vfxgb.VFXGBClassifier", "vfxgb.VFXGBRegressor", "vfxgb.FedXGBClassifier", "vfxgb.FedXGBRegressor"],
    ),
    "callbacks": ("Callbacks", ["vfxgb.train.callbacks"]),
    "crypto": ("Encryption", ["vfxgb.crypto"]),
    "errors": ("Errors", ["vfxgb.errors"]),
}


def sources() -> list[Path]:
    """All pages of the repository, as paths below ROOT."""
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [Path(name) for name in listed.stdout.split("\0") if name]


def linked_files(page: Path) -> Iterator[Path]:
    """Files of the repository that a page links to, as paths below ROOT."""
    for target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        name = target.partition("#")[0]
        if name and "://" not in name and not name.startswith("mailto:"):
            path = (ROOT / page.parent / name).resolve()
            if path.is_relative_to(ROOT) and path.exists():
                yield path.relative_to(ROOT)


def copy(path: Path, pages: Path) -> None:
    """Put a file or a folder's page list where it has the same place among the pages."""
    target = pages / path
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)


def folder_page(folder: Path, pages: Path) -> None:
    """A page for a folder that others link to: what is in it."""
    names = sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file() and not path.name.startswith("."))
    for name in names:
        copy(folder / name, pages)
    lines = [f"# {folder}", "", *(f"- [{name}]({name})" for name in names)]
    (pages / folder / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def point_at_pages(page: Path, folders: set[Path], pages: Path) -> None:
    """Links to folders become links to the pages that stand for them."""

    def changed(match: re.Match[str]) -> str:
        target = match.group(1)
        name, mark, part = target.partition("#")
        path = (ROOT / page.parent / name).resolve() if name and "://" not in name else None
        if path is None or not path.is_relative_to(ROOT) or path.relative_to(ROOT) not in folders:
            return match.group(0)
        own = "README.md" if (path / "README.md").exists() else "index.md"
        return f"]({name.rstrip('/')}/{own}{mark}{part})"

    file = pages / page
    file.write_text(LINK.sub(changed, file.read_text(encoding="utf-8")), encoding="utf-8")


def gather(pages: Path) -> None:
    """All pages, what they link to, and the reference."""
    found = sources()
    for page in found:
        copy(page, pages)
    folders: set[Path] = set()
    for page in found:
        for path in linked_files(page):
            if not (ROOT / path).is_dir():
                copy(path, pages)
                continue
            folders.add(path)
            if not (ROOT / path / "README.md").exists():
                (pages / path).mkdir(parents=True, exist_ok=True)
                folder_page(path, pages)
    for page in found:
        point_at_pages(page, folders, pages)
    (pages / "api").mkdir()
    for name, (title, objects) in REFERENCE.items():
        parts = [f"# {title}", *(f"::: {path}" for path in objects)]
        (pages / "api" / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main(folder: Path) -> int:
    """Build the site; returns MkDocs' exit code."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pages").mkdir(parents=True)
    gather(folder / "pages")
    config = CONFIG.read_text(encoding="utf-8").replace("SOURCES", str(ROOT / "python"))
    (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(folder / "mkdocs.yml")],
        # The theme's advertisement of its successor is no warning about these pages.
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()))
