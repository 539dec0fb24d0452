"""What the other parties are told when this one fails: a sentence, never a class name, and never a secret of its own.

    refusals (ConsentError)         the whole message, which is written for the party that asked
    errors raised with `for_peer`   the message, or the sentence given there: mistakes that concern both sides, such as
                                    settings that differ, another version, a checkpoint of another state
    all others                      one of the sentences below; the message itself may name files, columns or values,
                                    and stays in the log of this party

Messages about bytes that a peer sent are among the others: their details would tell a peer that probes this party how
far each attempt came.
"""

import errno

from vfxgb import errors

# The first entry that fits; {own} is the party that failed.
SENTENCES: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((KeyboardInterrupt, SystemExit), "{own} was stopped by its operator; resume the run when it is there again"),
    (
        (errors.PeerError, errors.ChannelClosedError),
        "{own} lost its connection to a party of the run; resume when all are there",
    ),
    (
        (
            errors.TableError,
            errors.ColumnNameError,
            errors.ColumnTypeError,
            errors.ColumnValueError,
            errors.ImputationError,
        ),
        "{own} cannot use its table for this run; its log says why",
    ),
    ((errors.LabelError, errors.WeightError), "{own} cannot use its labels or weights for this run; its log says why"),
    ((errors.ConfigError,), "{own} cannot follow its configuration; its log says why"),
    ((errors.CertificateError,), "{own} cannot use one of its certificates; its log says why"),
    ((errors.CheckpointError,), "{own} cannot go on from what it kept of this run; its log says why"),
    ((errors.AlignmentError,), "{own} found that the rows of the parties do not fit together; its log says why"),
    ((errors.ShareMismatchError,), "{own} cannot use its share of the model; its log says why"),
    ((errors.FormatError,), "{own} cannot read something that it keeps of the run or received; its log says what"),
    (
        (
            errors.MessageError,
            errors.FrameError,
            errors.TransferError,
            errors.LatticeError,
            errors.InvalidCiphertextError,
            errors.KeyMismatchError,
        ),
        "{own} received something that does not fit the state of the run; use one vfxgb everywhere; its log says what",
    ),
    (
        (errors.ParameterError, errors.ProtocolParameterError, errors.UnknownNameError),
        "{own} cannot use a parameter of the run; its log says which",
    ),
    ((errors.EngineError,), "{own} cannot do its work on shards of rows; its log says why"),
    ((errors.MissingPackageError,), "{own} lacks a package that the run needs; its log says which"),
    ((errors.VfxgbError,), "{own} cannot go on with the run; its log says why"),
    ((MemoryError,), "{own} has too little memory for the run"),
)
FULL_DISK = "the disk of {own} is full; resume the run when it has room again"
UNUSABLE_FILE = "{own} cannot read or write one of its files; its log says which"
UNEXPECTED = "{own} failed unexpectedly, by an error of its own; its log says more"


def last_words(error: BaseException, own: str) -> str:
    """The sentence about `error` that party `own` sends to the others."""
    if isinstance(error, errors.ConsentError):
        return str(error)
    if isinstance(error, errors.VfxgbError) and error.peer_text:
        return error.peer_text
    for kinds, sentence in SENTENCES:
        if isinstance(error, kinds):
            return sentence.format(own=own)
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return (FULL_DISK if full else UNUSABLE_FILE).format(own=own)
    return UNEXPECTED.format(own=own)
