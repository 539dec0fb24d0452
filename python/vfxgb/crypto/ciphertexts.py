"""Arrays of ciphertexts under one public key: the homomorphic operations.

An array is immutable and one native buffer, whatever its length. All operations release the GIL; `threads=None`
means all cores (see vfxgb.threads). Plaintexts add and scale modulo the plaintext space of the key: keeping sums
within `public_key.max_plaintext` is the caller's plan, since nobody can see inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from vfxgb import _native
from vfxgb.crypto import wire
from vfxgb.crypto.ints import Integers, PackedIntegers, integer_list, pack_signed, unpack_unsigned
from vfxgb.crypto.rows import Rows, row_indices
from vfxgb.errors import FormatError, InvalidCiphertextError, KeyMismatchError, LengthMismatchError
from vfxgb.threads import resolve_threads

if TYPE_CHECKING:
    from vfxgb.crypto.keys import PublicKey


class CiphertextArray:
    """Ciphertexts under `public_key`. Made by encrypt, from_bytes or from_ints, not by calling the class."""

    __slots__ = ("_native", "public_key")
    # Makes numpy arrays leave `array + ciphertexts` to this class instead of looping over it.
    __array_ufunc__ = None

    def __init__(self, public_key: PublicKey, native: _native.crypto.Ciphertexts) -> None:
        self.public_key = public_key
        self._native = native

    @staticmethod
    def from_bytes(public_key: PublicKey, data: wire.Bytes, threads: int | None = None) -> CiphertextArray:
        """Read what to_bytes wrote, and check every ciphertext.

        Raises FormatError (truncated, foreign, newer or damaged bytes), KeyMismatchError (another key's),
        InvalidCiphertextError (a ciphertext outside the group of the key; `index` says which).
        """
        loaded = wire.load_ciphertexts(data)
        if loaded.fingerprint != public_key.fingerprint_bytes:
            raise KeyMismatchError(
                f"reading ciphertexts: found key {loaded.fingerprint.hex()[:16]}, wanted "
                f"{public_key.fingerprint[:16]}; pass the public key they were encrypted with"
            )
        if loaded.scheme.name != public_key.scheme or loaded.width != public_key.wire_bytes:
            raise FormatError(
                f"reading ciphertexts: found {loaded.width} bytes per {loaded.scheme.name} ciphertext, wanted "
                f"{public_key.wire_bytes} of {public_key.scheme}; they were written wrongly, ask their sender"
            )
        count = resolve_threads(threads)
        native = public_key.native
        _refuse(native.check_wire(loaded.data, count), "reading ciphertexts")
        return CiphertextArray(public_key, native.from_wire(loaded.data, count))

    @staticmethod
    def from_ints(public_key: PublicKey, values: Integers, threads: int | None = None) -> CiphertextArray:
        """Ciphertexts given as integers modulo n**2 (Paillier) or n (Okamoto-Uchiyama), e.g. from another library.

        Raises InvalidCiphertextError, naming the index, for 0, values not below that modulus, and values that
        share a factor with it.
        """
        step = "reading ciphertexts from integers"
        items = integer_list(values, step)
        modulus = public_key.ciphertext_modulus
        for index, item in enumerate(items):
            if not 0 < item < modulus:
                _refuse(index, step)
        native = public_key.native
        data = b"".join([item.to_bytes(native.integer_bytes, "little") for item in items])
        count = resolve_threads(threads)
        _refuse(native.check_integers(data, count), step)
        return CiphertextArray(public_key, native.from_integers(data, count))

    def native_under(self, public_key: PublicKey, threads: int) -> _native.crypto.Ciphertexts:
        """The native array under an equal key, for vfxgb's own modules.

        Equal keys read twice are two native keys, and native arrays go with one: the bytes then move over.
        """
        if public_key.native is self.public_key.native:
            return self._native
        return public_key.native.from_wire(self._native.to_wire(threads), threads)

    @property
    def nbytes(self) -> int:
        """Bytes of memory the ciphertexts take."""
        return self._native.nbytes

    def __len__(self) -> int:
        return len(self._native)

    def add(self, other: CiphertextArray, threads: int | None = None) -> CiphertextArray:
        """Encrypted sums, element by element. Lengths must be equal, or one of them 1.

        Raises KeyMismatchError and LengthMismatchError.
        """
        self._check_same_key(other, "adding ciphertexts")
        if len(self) != len(other) and 1 not in (len(self), len(other)):
            raise LengthMismatchError(
                f"adding ciphertexts: found lengths {len(self)} and {len(other)}, wanted equal ones or one of 1; "
                "take() the rows that belong together"
            )
        count = resolve_threads(threads)
        return self._wrap(self._native.add(other.native_under(self.public_key, count), count))

    def __add__(self, other: object) -> CiphertextArray:
        if not isinstance(other, CiphertextArray):
            raise TypeError(
                f"adding ciphertexts: found {type(other).__name__}, wanted a CiphertextArray; "
                "add_plain() adds unencrypted integers"
            )
        return self.add(other)

    def add_plain(self, values: Integers, threads: int | None = None) -> CiphertextArray:
        """Add known integers, one for all or one per ciphertext, |v| <= max_plaintext. Adds no randomness.

        Raises IntegerTypeError, PlaintextRangeError, LengthMismatchError.
        """
        step = "adding plain values"
        packed = pack_signed(values, self.public_key.max_plaintext, step)
        self._check_operand_count(packed, step)
        return self._wrap(self._native.add_plain(packed.data, packed.width, resolve_threads(threads)))

    def scale(self, factors: int | Integers, threads: int | None = None) -> CiphertextArray:
        """Encrypted products with known integers: one int for all, or one per ciphertext, |k| <= max_plaintext.

        The cost grows with the bits of the largest factor. Raises IntegerTypeError, PlaintextRangeError,
        LengthMismatchError.
        """
        step = "scaling ciphertexts"
        batch: Integers = [factors] if isinstance(factors, int) else factors
        packed = pack_signed(batch, self.public_key.max_plaintext, step)
        self._check_operand_count(packed, step)
        return self._wrap(self._native.scale(packed.data, packed.width, resolve_threads(threads)))

    def take(self, rows: Rows) -> CiphertextArray:
        """The given rows, in order, repeats allowed; or those a boolean mask selects.

        Raises RowIndexError (negative rows do not count from the end) and IntegerTypeError.
        """
        return self._wrap(self._native.take(row_indices(rows, len(self), "taking rows")))

    def sum(self, rows: Rows | None = None, threads: int | None = None) -> CiphertextArray:
        """One ciphertext: the encrypted sum of all, or of the given rows (see take).

        The result is a function of its inputs: rerandomize() it before it goes back to who knows them. The sum of
        no rows is an encryption of 0 without randomness.
        """
        selection = None if rows is None else row_indices(rows, len(self), "summing rows")
        return self._wrap(self._native.sum(selection, resolve_threads(threads)))

    def rerandomize(self, threads: int | None = None) -> CiphertextArray:
        """The same plaintexts under fresh randomness of this party's own, unlinkable to these ciphertexts.

        Also for the owner of the key, whatever numbers it has chosen: of the key only the modulus is used.
        """
        return self._wrap(self._native.rerandomize(resolve_threads(threads)))

    def concat(self, other: CiphertextArray, threads: int | None = None) -> CiphertextArray:
        """These ciphertexts followed by the other's. Raises KeyMismatchError."""
        self._check_same_key(other, "joining ciphertexts")
        return self._wrap(self._native.concat(other.native_under(self.public_key, resolve_threads(threads))))

    def to_bytes(self, threads: int | None = None) -> bytes:
        """All ciphertexts in the versioned format of wire.py, each of public_key.wire_bytes bytes."""
        key = self.public_key
        data = self._native.to_wire(resolve_threads(threads))
        return wire.dump_ciphertexts(key.scheme_object, key.fingerprint_bytes, len(self), key.wire_bytes, data)

    def tolist(self, threads: int | None = None) -> list[int]:
        """The ciphertexts as Python ints modulo n**2 (Paillier) or n (Okamoto-Uchiyama)."""
        return unpack_unsigned(self._native.to_integers(resolve_threads(threads)), self.public_key.native.integer_bytes)

    def __repr__(self) -> str:
        key = self.public_key
        return f"CiphertextArray({len(self)} of {key.scheme}, {key.bits} bits, key {key.fingerprint[:16]})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        raise TypeError(
            "pickling ciphertexts is refused, since reading a pickle runs code; use to_bytes() and "
            "CiphertextArray.from_bytes(public_key, data)"
        )

    def _wrap(self, native: _native.crypto.Ciphertexts) -> CiphertextArray:
        return CiphertextArray(self.public_key, native)

    def _check_same_key(self, other: CiphertextArray, step: str) -> None:
        if not isinstance(other, CiphertextArray):
            raise TypeError(f"{step}: found {type(other).__name__}, wanted a CiphertextArray")
        if self.public_key != other.public_key:
            raise KeyMismatchError(
                f"{step}: found keys {self.public_key.fingerprint[:16]} and {other.public_key.fingerprint[:16]}, "
                "wanted one; encrypt both with the same public key"
            )

    def _check_operand_count(self, packed: PackedIntegers, step: str) -> None:
        if packed.count not in (1, len(self)):
            raise LengthMismatchError(
                f"{step}: found {packed.count} values for {len(self)} ciphertexts, wanted one value or one per "
                "ciphertext"
            )


def _refuse(index: int, step: str) -> None:
    """Raise InvalidCiphertextError for a non-negative index."""
    if index >= 0:
        raise InvalidCiphertextError(
            f"{step}: the ciphertext at index {index} is outside the group of the key (zero, not below the modulus, or "
            "sharing a factor with it), wanted a unit; its sender is broken or malicious, do not use the batch",
            index,
        )
