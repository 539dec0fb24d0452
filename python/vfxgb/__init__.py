"""XGBoost trained across organisations that may not pool their data.

`VFXGBClassifier` and `VFXGBRegressor` are the way in where parties hold columns, `FedXGBClassifier` and
`FedXGBRegressor` where users hold rows; `callbacks` holds what may watch and steer a training.
`vfxgb.crypto` holds the additively homomorphic encryption everything else stands on, `vfxgb.errors` every
error the package raises on purpose. All are loaded when first used, so `import vfxgb` stays light.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vfxgb import crypto, errors
    from vfxgb.estimator import VFXGBClassifier, VFXGBRegressor
    from vfxgb.estimator.users import FedXGBClassifier, FedXGBRegressor
    from vfxgb.train import callbacks
else:
    # name -> (module, name in it or None for the module itself)
    _LAZY = {
        "FedXGBClassifier": ("estimator.users", "FedXGBClassifier"),
        "FedXGBRegressor": ("estimator.users", "FedXGBRegressor"),
        "VFXGBClassifier": ("estimator", "VFXGBClassifier"),
        "VFXGBRegressor": ("estimator", "VFXGBRegressor"),
        "callbacks": ("train.callbacks", None),
        "crypto": ("crypto", None),
        "errors": ("errors", None),
    }

    def __getattr__(name: str) -> object:
        """Load what is asked for on first use (PEP 562)."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _LAZY[name]
        loaded = import_module(f"{__name__}.{module}")
        return loaded if attribute is None else getattr(loaded, attribute)


try:
    __version__ = version("vfxgb")
except PackageNotFoundError:
    # A source tree that was never installed has no metadata to ask.
    __version__ = "0+unknown"

__all__ = [
    "FedXGBClassifier",
    "FedXGBRegressor",
    "VFXGBClassifier",
    "VFXGBRegressor",
    "__version__",
    "callbacks",
    "crypto",
    "errors",
]
