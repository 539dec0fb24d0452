"""Bytes that are truncated, damaged, foreign, of another version, or somebody else's."""

import random
import struct

import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey, wire
from vfxgb.errors import FormatError, InvalidCiphertextError, KeyMismatchError, VfxgbError

READERS = ["public key", "private key", "ciphertexts"]


class Sample:
    """Sound bytes of one kind and the reader that takes them."""

    def __init__(self, kind: str, key: PrivateKey) -> None:
        self.key = key
        self.kind = kind
        public = key.public_key
        if kind == "public key":
            self.data, self.number = public.to_bytes(), wire.KIND_PUBLIC_KEY
            self.read = lambda data: PublicKey.from_bytes(data, insecure=True)
        elif kind == "private key":
            self.data, self.number = key.to_bytes(), wire.KIND_PRIVATE_KEY
            self.read = lambda data: PrivateKey.from_bytes(data, insecure=True)
        else:
            self.data, self.number = key.encrypt([1, -2, 3]).to_bytes(), wire.KIND_CIPHERTEXTS
            self.read = lambda data: CiphertextArray.from_bytes(public, data)

    @property
    def payload(self) -> bytes:
        return self.data[wire.HEADER.size : -wire.DIGEST_BYTES]

    def sealed(self, payload: bytes) -> bytes:
        """A forged payload under a correct digest."""
        return wire.seal(self.number, self.key.public_key.scheme_object.code, payload)


@pytest.fixture(params=[(kind, scheme) for kind in READERS for scheme in ("paillier", "ou")], ids="-".join)
def sample(request: pytest.FixtureRequest, make_key) -> Sample:
    kind, scheme = request.param
    return Sample(kind, make_key(scheme, 512))


def test_sound_bytes_are_read(sample: Sample) -> None:
    sample.read(sample.data)
    assert sample.sealed(sample.payload) == sample.data


def test_truncated_at_every_length(sample: Sample) -> None:
    for length in range(len(sample.data)):
        with pytest.raises(FormatError):
            sample.read(sample.data[:length])


def test_appended_bytes(sample: Sample) -> None:
    for tail in (b"\0", b"x" * 100, sample.data):
        with pytest.raises(FormatError, match="appended"):
            sample.read(sample.data + tail)


def test_every_byte_is_covered_by_the_digest(sample: Sample) -> None:
    source = random.Random(1)
    for position in range(len(sample.data)):
        damaged = bytearray(sample.data)
        damaged[position] ^= 1 << source.randrange(8)
        with pytest.raises(FormatError):
            sample.read(bytes(damaged))


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 100, b"PK\x03\x04" + b"x" * 200, b"\x80\x04\x95" + b"y" * 50, b"{}" * 40], ids=repr
)
def test_foreign_bytes(sample: Sample, data: bytes) -> None:
    with pytest.raises(FormatError):
        sample.read(data)


def test_line_ends_changed_on_the_way(sample: Sample) -> None:
    with pytest.raises(FormatError, match="do not start"):
        sample.read(sample.data.replace(b"\r\n", b"\n"))


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_other_versions(sample: Sample, version: int) -> None:
    data = bytearray(sample.data)
    struct.pack_into("<H", data, 8, version)
    with pytest.raises(FormatError, match=f"version {version}, wanted 1"):
        sample.read(bytes(data))


def test_other_kinds(sample: Sample, make_key) -> None:
    for kind in READERS:
        other = Sample(kind, sample.key)
        if kind != sample.kind:
            with pytest.raises(FormatError, match="pass the bytes to the class they belong to"):
                sample.read(other.data)
    with pytest.raises(FormatError, match="unknown kind 9"):
        sample.read(wire.seal(9, 1, sample.payload))


def test_unknown_scheme_number(sample: Sample) -> None:
    with pytest.raises(FormatError, match="scheme number 200"):
        sample.read(wire.seal(sample.number, 200, sample.payload))


def test_the_other_scheme(sample: Sample) -> None:
    code = 3 - sample.key.public_key.scheme_object.code
    with pytest.raises(VfxgbError):
        sample.read(wire.seal(sample.number, code, sample.payload))


def test_payload_of_any_length_under_a_correct_digest(sample: Sample) -> None:
    for length in range(len(sample.payload)):
        with pytest.raises(FormatError):
            sample.read(sample.sealed(sample.payload[:length]))
    with pytest.raises(FormatError):
        sample.read(sample.sealed(sample.payload + b"\0"))


def test_random_payloads_under_a_correct_digest(sample: Sample) -> None:
    source = random.Random(2)
    for _ in range(200):
        with pytest.raises(VfxgbError):
            sample.read(sample.sealed(source.randbytes(source.randrange(400))))


@pytest.mark.parametrize("data", [None, "text", 5, ["a"]])
def test_not_bytes(sample: Sample, data: object) -> None:
    with pytest.raises(TypeError, match="wanted bytes"):
        sample.read(data)


def test_huge_length_fields_allocate_nothing(sample: Sample) -> None:
    header = wire.HEADER.pack(wire.MAGIC, wire.VERSION, sample.number, 1, 2**63)
    with pytest.raises(FormatError, match="as the header says"):
        sample.read(header + b"x" * 100)
    if sample.kind != "ciphertexts":
        payload = bytearray(sample.payload)
        struct.pack_into("<I", payload, 8, 2**32 - 1)
        with pytest.raises(FormatError, match="numbers of 4294967295 bytes"):
            sample.read(sample.sealed(bytes(payload)))


class TestCiphertexts:
    """What only ciphertexts can get wrong. The payload is fingerprint (32), count (8), width (4), data."""

    @pytest.fixture
    def sample(self, key: PrivateKey) -> Sample:
        return Sample("ciphertexts", key)

    def test_another_key(self, sample: Sample, make_key) -> None:
        for other in (make_key("paillier", 512), make_key("ou", 512)):
            with pytest.raises(KeyMismatchError, match="reading ciphertexts: found key"):
                CiphertextArray.from_bytes(other.public_key, sample.data)

    @pytest.mark.parametrize(("count", "width"), [(2, 0), (4, 0), (2**60, 0), (0, 0), (3, -1), (3, 1)])
    def test_counts_and_widths(self, sample: Sample, count: int, width: int) -> None:
        width += sample.key.public_key.wire_bytes
        forged = sample.payload[:32] + struct.pack("<QI", count, width) + sample.payload[44:]
        with pytest.raises(FormatError, match="bytes for"):
            sample.read(sample.sealed(forged))

    def test_consistent_but_wrong_width(self, sample: Sample) -> None:
        wire_bytes = sample.key.public_key.wire_bytes
        forged = sample.payload[:32] + struct.pack("<QI", 3 * wire_bytes, 1) + sample.payload[44:]
        with pytest.raises(FormatError, match="1 bytes per"):
            sample.read(sample.sealed(forged))
        forged = sample.payload[:32] + struct.pack("<QI", 5, 0)
        with pytest.raises(FormatError, match="0 bytes per"):
            sample.read(sample.sealed(forged))

    @pytest.mark.parametrize("index", [0, 1, 2])
    @pytest.mark.parametrize("fill", [0x00, 0xFF])
    def test_ciphertexts_outside_the_group(self, sample: Sample, index: int, fill: int) -> None:
        """All zero bits are no unit; all one bits are not below the modulus."""
        width = sample.key.public_key.wire_bytes
        data = bytearray(sample.payload)
        data[44 + index * width : 44 + (index + 1) * width] = bytes([fill]) * width
        with pytest.raises(InvalidCiphertextError, match=f"index {index}") as caught:
            sample.read(sample.sealed(bytes(data)))
        assert caught.value.index == index

    def test_first_bad_index_is_named(self, sample: Sample) -> None:
        data = sample.payload[:44] + bytes(3 * sample.key.public_key.wire_bytes)
        for threads in (1, 2):
            with pytest.raises(InvalidCiphertextError) as caught:
                CiphertextArray.from_bytes(sample.key.public_key, sample.sealed(data), threads)
            assert caught.value.index == 0

    def test_integers_outside_the_group(self, key: PrivateKey) -> None:
        public = key.public_key
        p, q = key.export_primes()
        modulus = public.ciphertext_modulus
        for bad in (0, -1, modulus, modulus + 1, p, q, public.n % modulus, 5 * p, modulus - q):
            with pytest.raises(InvalidCiphertextError, match="index 2") as caught:
                CiphertextArray.from_ints(public, [1, modulus - 1, bad, 1])
            assert caught.value.index == 2

    @pytest.mark.parametrize("values", [[1.0], None, "1", [True], [None]])
    def test_integers_of_wrong_type(self, key: PrivateKey, values: object) -> None:
        with pytest.raises(TypeError):
            CiphertextArray.from_ints(key.public_key, values)
