"""The C++ core as Python sees it: one submodule for each folder of cpp/.

Integers cross this boundary as little-endian bytes of a fixed width, one after the other, so that a batch is
one buffer. Signed values are two's complement; widths are multiples of 8 bytes. Every method that takes
`threads` releases the GIL and can be interrupted. Callers check ranges and keys first (`vfxgb.crypto` does):
what this layer raises is ValueError, and means a caller's mistake.

At run time this is the extension module `_native.*.so`, beside which this folder holds the stubs alone.
"""

import numpy as np
from numpy.typing import NDArray

from . import bigint as bigint
from . import codec as codec
from . import crypto as crypto
from . import gbdt as gbdt
from . import he_sums as he_sums
from . import lattice as lattice
from . import noise as noise
from . import ot as ot
from . import ot_shares as ot_shares
from . import paths as paths
from . import psi as psi
from . import rand as rand
from . import routing as routing
from . import smm as smm
from . import two_party as two_party

Buffer = bytes | bytearray | memoryview | NDArray[np.generic]
