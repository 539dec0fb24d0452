"""XGBoost trained across organisations that may not pool their data.

`vfxgb.crypto` holds the additively homomorphic encryption everything else stands on, `vfxgb.errors` every
error the package raises on purpose. Both are loaded when first used, so `import vfxgb` stays light.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vfxgb import crypto, errors
else:

    def __getattr__(name: str) -> object:
        """Load a subpackage on first use (PEP 562)."""
        if name in ("crypto", "errors"):
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


try:
    __version__ = version("vfxgb")
except PackageNotFoundError:
    # A source tree that was never installed has no metadata to ask.
    __version__ = "0+unknown"

__all__ = ["__version__", "crypto", "errors"]
