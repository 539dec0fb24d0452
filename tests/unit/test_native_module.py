"""The extension module: a submodule and a stub for each folder of cpp/, and nothing beside them."""

import importlib.machinery
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import vfxgb
from vfxgb import _native

CPP = Path(__file__).parents[2] / "cpp"


def submodules() -> dict[str, ModuleType]:
    return {name: part for name, part in vars(_native).items() if not name.startswith("__")}


def test_submodules_are_named_after_the_folders_of_cpp() -> None:
    bound = {path.name for path in CPP.iterdir() if path.is_dir()} - {"bind", "core"}
    assert all(isinstance(part, ModuleType) for part in submodules().values())
    assert submodules().keys() == bound
    assert all(part.__name__ == f"vfxgb._native.{name}" for name, part in submodules().items())


def test_there_is_a_stub_for_each_submodule() -> None:
    stubs = {path.stem for path in (Path(vfxgb.__file__).parent / "_native").glob("*.pyi")}
    assert stubs == {"__init__", *submodules()}


def test_the_extension_is_imported_and_not_the_folder_of_stubs() -> None:
    # An editable install wraps the loader, so what it has loaded is looked at.
    assert str(_native.__file__).endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))


def test_submodules_are_found_before_anything_of_vfxgb_was_imported() -> None:
    """Shards are pickled, and a worker may have imported nothing when it reads one."""
    data = pickle.dumps(_native.gbdt.RowPartition(5))
    read = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()).n_rows)"
    assert subprocess.run([sys.executable, "-c", read], input=data, capture_output=True, check=True).stdout == b"5\n"
