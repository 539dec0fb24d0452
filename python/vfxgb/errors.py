"""Every error vfxgb raises on purpose: one class per mistake, all below VfxgbError.

Each class also derives from the builtin a caller would expect (ValueError, TypeError, ...). A message names the
step, the value found, the value wanted and what to do about it. No message contains a secret: neither plaintexts
beyond their size, nor factors of a modulus, nor randomness.
"""

import typing

E = typing.TypeVar("E", bound="VfxgbError")


class VfxgbError(Exception):
    """Base of all errors of this package.

    `peer_text`: what the other parties of a run are told when this error ends it. It is "" where the message may name
    columns, values or files of this party; they are then told in general words (vfxgb.transport.last_words).
    """

    peer_text = ""

    def for_peer(self: E, text: str = "") -> E:
        """The same error, of which other parties may read the message, or `text` in its place."""
        self.peer_text = text or str(self)
        return self


class KeySizeError(VfxgbError, ValueError):
    """A key of a size that is not allowed: too small to be safe, too large for the kernels, or odd."""


class InvalidKeyError(VfxgbError, ValueError):
    """Key parameters that cannot be right: even modulus, equal or composite factors, a base that is no unit.

    `index` is the position of the first such key in the batch.
    """

    def __init__(self, message: str, index: int = 0) -> None:
        super().__init__(message)
        self.index = index


class PlaintextRangeError(VfxgbError, ValueError):
    """A value too large for the plaintext space of the key. Nothing is ever reduced silently."""


class InvalidCiphertextError(VfxgbError, ValueError):
    """A ciphertext outside its group: zero, not below the modulus, or sharing a factor with it.

    `index` is the position of the first such ciphertext in the batch.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index

    def __reduce__(self) -> tuple[type["InvalidCiphertextError"], tuple[str, int]]:
        return type(self), (str(self), self.index)


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


class RegistrationError(VfxgbError, ValueError):
    """A protocol or aggregator of another package that cannot be loaded, or whose name is taken."""


class ThreadCountError(VfxgbError, ValueError):
    """A number of threads that is no positive integer."""


class PoolError(VfxgbError, ValueError):
    """A randomness pool asked for with an impossible capacity."""


class CapacityError(VfxgbError, ValueError):
    """Values that need more bits than one plaintext of the key holds."""


class SelfTestError(VfxgbError, RuntimeError):
    """A key failed its self-test and must not be used: a stub, a short key, or deterministic encryption."""


class ParameterError(VfxgbError, ValueError):
    """A training parameter outside its bounds, or one that contradicts another."""


class TableError(VfxgbError, ValueError):
    """Data that is no table: ragged, without rows or columns, of the wrong number of dimensions, or unreadable."""


class ColumnNameError(VfxgbError, ValueError):
    """Columns that are not the wanted ones: duplicated, absent, unexpected, in two parties or in none."""


class ColumnTypeError(VfxgbError, TypeError):
    """A column whose values are not real numbers."""


class ColumnValueError(VfxgbError, ValueError):
    """A feature value that cannot be trained on: infinite, or beyond the range of float32."""


class LabelError(VfxgbError, ValueError):
    """Labels that do not fit the rows or the objective: NaN, out of range, or of another length."""


class WeightError(VfxgbError, ValueError):
    """Sample weights that do not fit the rows: negative, not finite, all zero, or of another length."""


class CutsError(VfxgbError, ValueError):
    """Cut points that cannot bin a feature: not ascending, not finite, too many, or for no such column."""


class ImputationError(VfxgbError, ValueError):
    """A column that cannot be imputed because its training rows hold no value at all."""


class GradientError(VfxgbError, ValueError):
    """Gradients that cannot be trained on: of the wrong shape, not finite, or hessians below zero."""


class MissingPackageError(VfxgbError, ImportError):
    """An optional package that the given input needs is not installed."""


class CallbackError(VfxgbError, ValueError):
    """A training callback that cannot work: a bad setting, nothing to watch, or no callback at all."""


class PartiesError(VfxgbError, ValueError):
    """Data of other parties than those of the model, or parties without a protocol to train by."""


class UnfittedError(VfxgbError, ValueError):
    """An estimator asked for something that only exists after `fit`."""


class ExportError(VfxgbError, ValueError):
    """A model that the target format cannot express."""


class ShareMismatchError(VfxgbError, ValueError):
    """Model shares that do not belong together: of different runs, altered, or one of them missing."""


class AlignmentError(VfxgbError, ValueError):
    """Parties whose rows are not the same rows in the same order."""


class FrameError(VfxgbError, ValueError):
    """Bytes from a peer that are no frame: truncated, foreign, of another version or run, out of order, too large."""


class MessageError(VfxgbError, ValueError):
    """A message that does not fit: of another type or round than expected, or with contents that cannot be right."""


class PeerError(VfxgbError, ConnectionError):
    """Another party ended the run: it failed, or closed the channel, or said nothing until the deadline.

    `kind`: the class of the error at the peer, "" if it did not say.
    """

    kind = ""


class ChannelClosedError(VfxgbError, ConnectionError):
    """A channel used after this side had closed it."""


class ProtocolParameterError(VfxgbError, ValueError):
    """A parameter that the protocol does not have, or a value it cannot take."""


class ShareError(VfxgbError, ValueError):
    """Shares of a secret that do not fit: too few, of one point twice, of point 0, of another field, or damaged."""


class PrecisionError(VfxgbError, ArithmeticError):
    """Numbers that did not come out as precisely as the next step needs."""


class DpError(VfxgbError, ValueError):
    """A parameter of differential privacy that cannot be right: epsilon, delta, a range, a number of releases."""


class NoGuaranteeError(VfxgbError, ValueError):
    """An epsilon asked for where some release has no guarantee. No number is reported then."""


class AggregationError(VfxgbError, RuntimeError):
    """A sum over users cannot be opened: too few of them are left, or one of them is needed and gone."""


class CohortError(AggregationError):
    """A sum cannot be opened without a user that is in the sums it would be compared with. `missing`: such users."""

    def __init__(self, text: str, missing: frozenset[int] = frozenset()) -> None:
        super().__init__(text)
        self.missing = missing


class SpoiledSumError(MessageError, AggregationError):
    """A sum over users cannot be opened: something that users sent does not fit together, whoever of them lied."""


class TransferError(VfxgbError, ValueError):
    """An oblivious transfer whose bytes do not fit: damaged, of another session or block, sent twice, out of range."""


class LatticeError(VfxgbError, ValueError):
    """Encrypted columns or sums over them that do not fit: of another set-up or length, a seed or mask that repeats."""


class ConfigError(VfxgbError, ValueError):
    """A configuration file that cannot be followed: unreadable, a key too many, a value that is none."""


class CertificateError(VfxgbError, ValueError):
    """A certificate or private key that cannot be used: missing, expired, of another party, readable by others."""


class CheckpointError(VfxgbError, ValueError):
    """A checkpoint that cannot be resumed: damaged, of other data or settings, or of another state than the peer's."""


class ConsentError(VfxgbError, PermissionError):
    """A request beyond what a party's configuration allows. Its text is written to be sent to the party that asked.

    `reasons`: where it stands for several refusals, each of them.
    """

    reasons: tuple["ConsentError", ...] = ()


class EngineError(VfxgbError, RuntimeError):
    """Work on shards that cannot be done: no cluster, a folder that workers do not see, too little memory allowed."""


class BenchmarkError(VfxgbError, RuntimeError):
    """A measurement of something other than it says, such as the time of trees without a split."""


class InsecureProtocolWarning(UserWarning):
    """A run by a protocol against which attacks are known, agreed to with insecure=True."""


class ImputationWarning(UserWarning):
    """Columns whose missing values get something else than was asked for, such as a median instead of a regression."""


class RefusedRootWarning(UserWarning):
    """A passive party cannot take part at the root of a tree, so that its columns are missing where they count most."""
