"""The byte format of keys and ciphertext arrays, version 1. All integers are unsigned and little-endian.

Every object is one envelope:

    offset  bytes  field
    0       8      magic 93 "vfxgb" CR LF (the high bit and the line end show transfers that mangled the bytes)
    8       2      format version
    10      1      kind: 1 public key, 2 private key, 3 ciphertexts, 4 group
    11      1      scheme: 1 Paillier, 2 Okamoto-Uchiyama, 3 Bresson (groups only)
    12      8      payload length L
    20      L      payload
    20 + L  16     BLAKE2b digest of everything before it: finds corruption, does not authenticate

Payloads:

    public key    4 exponent_bits, 4 plaintext_bits, 4 bytes per number w, w for n, then w for each base:
                  h (Paillier) or g, h (Okamoto-Uchiyama)
    private key   the payload of the public key, then 4 bytes per number w', w' each for p, q, order_p, order_q
    ciphertexts   32 fingerprint of the public key, 8 count, 4 bytes per ciphertext w, count times w
    group         4 bytes per number w, w for n, w each for the low and the high digit of g in base n

A ciphertext always takes the same number of bytes under one key, and no field depends on what it encrypts.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import TypeAlias

from vfxgb.crypto.ints import from_fixed
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.schemes import Scheme, scheme_by_code, scheme_by_name
from vfxgb.errors import FormatError

Bytes: TypeAlias = bytes | bytearray | memoryview

MAGIC = b"\x93vfxgb\r\n"
VERSION = 1
KIND_PUBLIC_KEY = 1
KIND_PRIVATE_KEY = 2
KIND_CIPHERTEXTS = 3
KIND_GROUP = 4
KIND_NAMES = {
    KIND_PUBLIC_KEY: "a public key",
    KIND_PRIVATE_KEY: "a private key",
    KIND_CIPHERTEXTS: "ciphertexts",
    KIND_GROUP: "a group",
}
BRESSON_CODE = 3

HEADER = struct.Struct("<8sHBBQ")
DIGEST_BYTES = 16
FINGERPRINT_BYTES = 32
# A length field larger than any key can have is damage, not a reason to allocate.
MAX_NUMBER_BYTES = 1024


@dataclass(frozen=True)
class WireCiphertexts:
    """Contents of a ciphertext envelope; `data` is a view of `count` times `width` bytes, not yet validated."""

    scheme: Scheme
    fingerprint: bytes
    count: int
    width: int
    data: memoryview


def fingerprint(public: PublicParameters) -> bytes:
    """SHA-256 of the scheme's number and the public payload: 32 bytes that name the key."""
    scheme = scheme_by_name(public.scheme)
    return hashlib.sha256(bytes([scheme.code]) + _public_payload(public)).digest()


def dump_public(public: PublicParameters) -> bytes:
    """A public key as an envelope."""
    return seal(KIND_PUBLIC_KEY, scheme_by_name(public.scheme).code, _public_payload(public))


def load_public(data: Bytes) -> PublicParameters:
    """Numbers of a public key, not yet checked; FormatError when the bytes are no such envelope."""
    code, reader = _open(data, KIND_PUBLIC_KEY)
    public = _read_public(reader, code)
    reader.finish()
    return public


def dump_private(private: PrivateParameters) -> bytes:
    """A private key as an envelope. The bytes are the secret itself: unencrypted."""
    width = max(_byte_length(number) for number in private.secrets)
    numbers = (number.to_bytes(width, "little") for number in private.secrets)
    code = scheme_by_name(private.public.scheme).code
    return seal(KIND_PRIVATE_KEY, code, _public_payload(private.public), struct.pack("<I", width), *numbers)


def load_private(data: Bytes) -> PrivateParameters:
    """Numbers of a private key, not yet checked; FormatError when the bytes are no such envelope."""
    code, reader = _open(data, KIND_PRIVATE_KEY)
    public = _read_public(reader, code)
    width = reader.width()
    p, q, order_p, order_q = (reader.number(width) for _ in range(4))
    reader.finish()
    return PrivateParameters(public, p, q, order_p, order_q)


def dump_ciphertexts(scheme: Scheme, key_fingerprint: bytes, count: int, width: int, data: bytes) -> bytes:
    """`count` ciphertexts of `width` bytes each as an envelope."""
    return seal(KIND_CIPHERTEXTS, scheme.code, key_fingerprint + struct.pack("<QI", count, width), data)


def load_ciphertexts(data: Bytes) -> WireCiphertexts:
    """Contents of a ciphertext envelope; FormatError when the bytes are none or the lengths disagree."""
    code, reader = _open(data, KIND_CIPHERTEXTS)
    scheme = scheme_by_code(code, reader.step)
    key_fingerprint = bytes(reader.take(FINGERPRINT_BYTES))
    count, width = struct.unpack("<QI", reader.take(12))
    rest = reader.rest()
    if count * width != len(rest):
        raise FormatError(
            f"{reader.step}: found {len(rest)} bytes for {count} ciphertexts of {width} bytes, wanted {count * width}; "
            "the bytes are truncated or damaged, send them again"
        )
    return WireCiphertexts(scheme, key_fingerprint, count, width, rest)


def dump_group(n: int, g: int) -> bytes:
    """Bresson's group as an envelope; g below n**2."""
    width = _byte_length(n)
    high, low = divmod(g, n)
    numbers = (number.to_bytes(width, "little") for number in (n, low, high))
    return seal(KIND_GROUP, BRESSON_CODE, struct.pack("<I", width), *numbers)


def load_group(data: Bytes) -> tuple[int, int]:
    """n and g of Bresson's group, not yet checked; FormatError when the bytes are no such envelope."""
    code, reader = _open(data, KIND_GROUP)
    step = reader.step
    if code != BRESSON_CODE:
        raise FormatError(f"{step}: found scheme {code}, wanted {BRESSON_CODE}; it was written wrongly, ask its sender")
    width = reader.width()
    n, low, high = (reader.number(width) for _ in range(3))
    reader.finish()
    if max(low, high) >= n:
        raise FormatError(f"{step}: a digit of g is not below the modulus; it was written wrongly, ask its sender")
    return n, low + n * high


def seal(kind: int, scheme_code: int, *parts: bytes) -> bytes:
    """Wrap a payload, given in parts, into an envelope."""
    header = HEADER.pack(MAGIC, VERSION, kind, scheme_code, sum(map(len, parts)))
    digest = hashlib.blake2b(header, digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return b"".join([header, *parts, digest.digest()])


def unseal(data: Bytes, kind: int) -> tuple[int, memoryview]:
    """Check an envelope of the wanted kind; its scheme's number and payload. FormatError says what is wrong."""
    step = f"reading {KIND_NAMES[kind]}"
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{step}: found {type(data).__name__}, wanted bytes as to_bytes() returns them")
    view = memoryview(data).cast("B")
    if bytes(view[: len(MAGIC)]) != MAGIC[: len(view)]:
        raise FormatError(f"{step}: the bytes do not start as vfxgb's format does; they come from something else")
    if len(view) < HEADER.size + DIGEST_BYTES:
        raise FormatError(
            f"{step}: found {len(view)} bytes, wanted at least {HEADER.size + DIGEST_BYTES}; "
            "the bytes are truncated, send them again"
        )
    _, version, found_kind, scheme_code, length = HEADER.unpack(view[: HEADER.size])
    if version != VERSION:
        raise FormatError(
            f"{step}: found format version {version}, wanted {VERSION}; install a version of vfxgb that reads it"
        )
    total = HEADER.size + length + DIGEST_BYTES
    if len(view) != total:
        raise FormatError(
            f"{step}: found {len(view)} bytes, wanted {total} as the header says; "
            "the bytes are truncated or have something appended, send them again"
        )
    body = view[: total - DIGEST_BYTES]
    if hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != bytes(view[total - DIGEST_BYTES :]):
        raise FormatError(f"{step}: the digest does not match; the bytes were damaged on the way, send them again")
    if found_kind != kind:
        name = KIND_NAMES.get(found_kind, f"unknown kind {found_kind}")
        raise FormatError(
            f"{step}: found {name}, wanted {KIND_NAMES[kind]}; pass the bytes to the class they belong to"
        )
    return scheme_code, body[HEADER.size :]


def _open(data: Bytes, kind: int) -> tuple[int, "_Reader"]:
    """The number of the scheme and the fields of an envelope."""
    code, payload = unseal(data, kind)
    return code, _Reader(payload, f"reading {KIND_NAMES[kind]}")


class _Reader:
    """Takes fields off a payload, front to back; FormatError when it runs out."""

    def __init__(self, payload: memoryview, step: str) -> None:
        self._payload = payload
        self._position = 0
        self.step = step

    def take(self, count: int) -> memoryview:
        if self._position + count > len(self._payload):
            raise FormatError(
                f"{self.step}: the payload of {len(self._payload)} bytes ends inside a field, wanted "
                f"{self._position + count}; it was written wrongly, ask its sender"
            )
        self._position += count
        return self._payload[self._position - count : self._position]

    def rest(self) -> memoryview:
        return self.take(len(self._payload) - self._position)

    def word(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def width(self) -> int:
        size = self.word()
        if not 1 <= size <= MAX_NUMBER_BYTES:
            raise FormatError(
                f"{self.step}: found numbers of {size} bytes, wanted 1 to {MAX_NUMBER_BYTES}; "
                "it was written wrongly, ask its sender"
            )
        return size

    def number(self, width: int) -> int:
        return from_fixed(bytes(self.take(width)))

    def finish(self) -> None:
        if self._position != len(self._payload):
            raise FormatError(
                f"{self.step}: found {len(self._payload) - self._position} bytes after the last field, wanted none; "
                "it was written wrongly, ask its sender"
            )


def _public_payload(public: PublicParameters) -> bytes:
    width = _byte_length(public.n)
    numbers = [number.to_bytes(width, "little") for number in (public.n, *public.bases)]
    return struct.pack("<III", public.exponent_bits, public.plaintext_bits, width) + b"".join(numbers)


def _read_public(reader: _Reader, code: int) -> PublicParameters:
    scheme = scheme_by_code(code, reader.step)
    exponent_bits, plaintext_bits, width = reader.word(), reader.word(), reader.width()
    n = reader.number(width)
    bases = tuple(reader.number(width) for _ in range(scheme.base_count))
    return PublicParameters(scheme.name, n, bases, exponent_bits, plaintext_bits)


def _byte_length(number: int) -> int:
    return -(-number.bit_length() // 8)
