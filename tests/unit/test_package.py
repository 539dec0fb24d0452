import inspect
import subprocess
import sys

import pytest

import vfxgb
from vfxgb import errors


def test_version_is_a_string() -> None:
    assert isinstance(vfxgb.__version__, str)
    assert vfxgb.__version__


def test_every_error_is_documented_and_is_one_of_ours_and_a_builtin() -> None:
    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass)]
    assert errors.VfxgbError in classes
    for cls in classes:
        assert cls.__doc__
        if cls is not errors.VfxgbError and not issubclass(cls, Warning):
            assert issubclass(cls.__bases__[0], errors.VfxgbError)
            assert issubclass(
                cls,
                (ValueError, TypeError, IndexError, RuntimeError, ArithmeticError, ImportError, OSError),
            )


def test_subpackages_load_on_first_use() -> None:
    code = (
        "import sys, vfxgb; assert 'numpy' not in sys.modules and 'vfxgb.crypto' not in sys.modules; "
        "print(vfxgb.crypto.generate('ou', 128, insecure=True).bits, vfxgb.errors.VfxgbError.__name__)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "128 VfxgbError\n", run.stderr


def test_other_attributes_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = vfxgb.nonsense
