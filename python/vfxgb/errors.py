"""Every error vfxgb raises on purpose: one class per mistake, all below VfxgbError.

Each class also derives from the builtin a caller would expect (ValueError, TypeError, ...). A message names the
step, the value found, the value wanted and what to do about it. No message contains a secret: neither plaintexts
beyond their size, nor factors of a modulus, nor randomness.
"""


class VfxgbError(Exception):
    """Base of all errors of this package."""


class KeySizeError(VfxgbError, ValueError):
    """A key of a size that is not allowed: too small to be safe, too large for the kernels, or odd."""


class InvalidKeyError(VfxgbError, ValueError):
    """Key parameters that cannot be right: even modulus, equal or composite factors, a base that is no unit."""


class PlaintextRangeError(VfxgbError, ValueError):
    """A value too large for the plaintext space of the key. Nothing is ever reduced silently."""


class InvalidCiphertextError(VfxgbError, ValueError):
    """A ciphertext outside its group: zero, not below the modulus, or sharing a factor with it.

    `index` is the position of the first such ciphertext in the batch.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


class KeyMismatchError(VfxgbError, ValueError):
    """Ciphertexts and key, or two arrays of ciphertexts, belong to different keys."""


class FormatError(VfxgbError, ValueError):
    """Bytes that are not what they should be: truncated, foreign, of a newer version, or corrupted."""


class LengthMismatchError(VfxgbError, ValueError):
    """Two batches whose lengths do not go together."""


class RowIndexError(VfxgbError, IndexError):
    """A row number outside the array, or a mask of the wrong length."""


class IntegerTypeError(VfxgbError, TypeError):
    """Something other than integers where integers are needed; floats have to become fixed point first."""


class UnknownNameError(VfxgbError, ValueError):
    """A scheme or option that does not exist."""


class ThreadCountError(VfxgbError, ValueError):
    """A number of threads that is no positive integer."""


class PoolError(VfxgbError, ValueError):
    """A randomness pool asked for with an impossible capacity."""


class CapacityError(VfxgbError, ValueError):
    """Values that need more bits than one plaintext of the key holds."""


class SelfTestError(VfxgbError, RuntimeError):
    """A key failed its self-test and must not be used: a stub, a short key, or deterministic encryption."""
