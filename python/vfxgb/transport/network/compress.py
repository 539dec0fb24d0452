"""Compression of chunks by zstd, where the package `zstandard` is installed.

A chunk is compressed only if a sample of it shrinks: ciphertexts and masks never do, and trying costs time.
"""

from vfxgb.errors import FrameError

try:
    import zstandard
except ImportError:  # an optional package
    AVAILABLE = False
else:
    AVAILABLE = True

# Below this a chunk is not worth the call.
_SMALLEST = 512
_SAMPLE = 4096
_SHRUNK = 0.8
_LEVEL = 1


def shrink(data: bytes | memoryview) -> bytes | None:
    """The compressed form, or None if it would not be clearly smaller."""
    if len(data) < _SMALLEST:
        return None
    compressor = zstandard.ZstdCompressor(level=_LEVEL)
    if len(data) > 2 * _SAMPLE:
        middle = len(data) // 2
        sample = data[middle : middle + _SAMPLE]
        if len(compressor.compress(sample)) > _SHRUNK * len(sample):
            return None
    made = compressor.compress(data)
    return made if len(made) <= _SHRUNK * len(data) else None


def expand(data: memoryview, size: int) -> bytes:
    """The `size` bytes that were compressed. Raises FrameError for anything else, before memory is taken for it."""
    if not AVAILABLE:
        raise FrameError("found a compressed chunk, and the package zstandard is not installed here")
    try:
        # The size that zstd's own header claims is what the decoder would take memory for.
        claimed = zstandard.get_frame_parameters(data).content_size
        if claimed != size:
            raise FrameError(f"found a compressed chunk of {claimed} bytes, wanted {size} as announced")
        made = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise FrameError(f"found a compressed chunk that is none: {error}") from None
    if len(made) != size:
        raise FrameError(f"found a compressed chunk of {len(made)} bytes, wanted {size} as announced")
    return made
