"""The layers that ARCHITECTURE.md lists are those of the sources.

A table of the page names, for each folder, the folders it may include. The graph of the sources is read from their
`#include` lines; an edge that the page does not list fails, and so does a cycle.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
CPP_TABLE = "| folder of cpp/ | may include |"
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


def test_a_cycle_is_found() -> None:
    chain = {"a": {"b", "c"}, "b": {"c"}, "c": {"d"}, "d": set[str]()}
    assert find_cycle(chain) == []
    assert find_cycle(chain | {"d": {"b"}}) == ["b", "c", "d", "b"]
    assert find_cycle({"a": {"a"}}) == ["a", "a"]
