"""The layers that ARCHITECTURE.md lists are those of the sources.

Two tables of the page name, for each folder of C++ and for each package of Python, what it may use. The graph of the
sources is read from their `#include` lines and imports; an edge that the page does not list fails, and so does a cycle.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
CPP_TABLE = "| folder of cpp/ | may include |"
PYTHON_TABLE = "| package or module of python/vfxgb | may import |"
# What may import anything, and what anything may import.
OUTSIDE = {"__init__", "__main__", "_native"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

Graph = Mapping[str, set[str]]


def allowed_edges(page: str, header: str) -> dict[str, set[str]]:
    """The table that begins with the line `header`: the first column names a folder, the second what it may use."""
    lines = page.split("\n")
    edges: dict[str, set[str]] = {}
    for line in lines[lines.index(header) + 2 :]:
        if not line.startswith("|"):
            break
        (folder,), used = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|"))
        assert folder not in edges, f"the table has two lines for {folder}"
        edges[folder] = set(used)
    return edges


def include_graph(root: Path) -> dict[str, set[str]]:
    """For each C++ file under `root`, by its path from there: the files of ours that it includes."""
    sources = [path for path in root.rglob("*") if path.suffix in {".h", ".cpp", ".inc"}]
    graph = {path.relative_to(root).as_posix(): set(INCLUDE.findall(path.read_text())) for path in sources}
    for file, included in graph.items():
        unknown = sorted(included - graph.keys())
        assert not unknown, f"{file} includes {unknown}: write the path of a file from {root.name}/"
    return graph


def imported(module: ast.Module) -> Iterator[str]:
    """The names of vfxgb's packages and modules that a file imports when it runs, inside functions too."""
    for_annotations = {
        id(inner)
        for node in ast.walk(module)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(module):
        if id(node) in for_annotations:
            continue
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"vfxgb.{each.name}" for each in node.names] if node.module == "vfxgb" else [str(node.module)]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("vfxgb."))


def import_graph(root: Path) -> dict[str, set[str]]:
    """For each package or module right under `root`: the others that its files import."""
    graph: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        own = path.relative_to(root).parts[0].removesuffix(".py")
        graph.setdefault(own, set()).update(imported(ast.parse(path.read_text(encoding="utf-8"))))
    known = graph.keys() - OUTSIDE
    return {own: (used & known) - {own} for own, used in graph.items() if own in known}


def folder_of(file: str) -> str:
    """The folder of cpp/ that a file belongs to; folders below it, as crypto/paillier, are parts of it."""
    return file.split("/", maxsplit=1)[0]


def folder_graph(files: Graph) -> dict[str, set[str]]:
    """The edges between folders that the edges between files make."""
    graph: dict[str, set[str]] = {folder_of(file): set() for file in files}
    for file, included in files.items():
        graph[folder_of(file)] |= {folder_of(other) for other in included} - {folder_of(file)}
    return graph


def edges_of(graph: Graph) -> set[tuple[str, str]]:
    return {(user, used) for user, all_used in graph.items() for used in all_used}


def find_cycle(graph: Graph) -> list[str]:
    """The names along some cycle, the first of them again at the end; an empty list if there is none."""
    finished: set[str] = set()

    def search(name: str, path: list[str]) -> Iterator[list[str]]:
        if name in path:
            yield [*path[path.index(name) :], name]
        elif name not in finished:
            for used in sorted(graph.get(name, ())):
                yield from search(used, [*path, name])
            finished.add(name)

    return next((cycle for name in sorted(graph) for cycle in search(name, [])), [])


def cpp_page() -> dict[str, set[str]]:
    return allowed_edges(PAGE.read_text(), CPP_TABLE)


def test_cpp_folders_include_only_what_the_page_allows() -> None:
    files, allowed = include_graph(ROOT / "cpp"), cpp_page()
    assert folder_graph(files).keys() == allowed.keys(), "the page lists every folder of cpp/"
    forbidden = sorted(
        f"{file} includes {used}"
        for file, used in edges_of(files)
        if folder_of(used) not in {folder_of(file), *allowed[folder_of(file)]}
    )
    assert not forbidden, f"ARCHITECTURE.md does not list these edges: {forbidden}"


def test_the_page_lists_no_cpp_edge_that_nobody_uses() -> None:
    unused = edges_of(cpp_page()) - edges_of(folder_graph(include_graph(ROOT / "cpp")))
    assert not unused, f"remove them from the table of ARCHITECTURE.md: {sorted(unused)}"


def test_cpp_has_no_cycles() -> None:
    files = include_graph(ROOT / "cpp")
    assert not find_cycle(files), "files that include each other"
    assert not find_cycle(folder_graph(files)), "folders that include each other"
    assert not find_cycle(cpp_page()), "the table of ARCHITECTURE.md"


def test_python_packages_import_only_what_the_page_allows() -> None:
    found, allowed = import_graph(ROOT / "python" / "vfxgb"), allowed_edges(PAGE.read_text(), PYTHON_TABLE)
    assert found.keys() == allowed.keys(), "the page lists every package"
    forbidden = sorted(edges_of(found) - edges_of(allowed))
    assert not forbidden, f"ARCHITECTURE.md does not list these imports: {forbidden}"
    unused = sorted(edges_of(allowed) - edges_of(found))
    assert not unused, f"remove them from the table of ARCHITECTURE.md: {unused}"
    assert not find_cycle(found), "packages that import each other"
    lines = list(allowed)
    upwards = [(user, used) for user, used in edges_of(allowed) if lines.index(used) > lines.index(user)]
    assert not upwards, "the table goes from the lowest layer up"


def test_an_import_is_found_wherever_it_stands(tmp_path) -> None:
    (tmp_path / "low.py").write_text("import vfxgb.high.inner\n")
    (tmp_path / "high").mkdir()
    (tmp_path / "high" / "inner.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vfxgb.seen import A\n"
        "def f():\n    from vfxgb import low\n    from vfxgb.seen import x\n    from vfxgb import _native\n"
    )
    (tmp_path / "seen.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import vfxgb.low\n")
    graph = import_graph(tmp_path)
    assert graph == {"low": {"high"}, "high": {"low", "seen"}, "seen": set()}
    assert find_cycle(graph) == ["high", "low", "high"]


def test_a_cycle_is_found() -> None:
    chain = {"a": {"b", "c"}, "b": {"c"}, "c": {"d"}, "d": set[str]()}
    assert find_cycle(chain) == []
    assert find_cycle(chain | {"d": {"b"}}) == ["b", "c", "d", "b"]
    assert find_cycle({"a": {"a"}}) == ["a", "a"]
