"""The self-test lets real keys pass and refuses stubs, each for its own reason."""

from secrets import randbits

import pytest

from vfxgb.crypto import PrivateKey, PublicKey, generate, self_test
from vfxgb.errors import SelfTestError

BITS = 2048


class StubArray:
    def __init__(self, numbers: list[int], values: list[int]) -> None:
        self.numbers = numbers
        self.values = values

    def tolist(self) -> list[int]:
        return self.numbers

    def sum(self) -> "StubArray":
        return StubArray([sum(self.numbers)], [sum(self.values)])


class Stub:
    """Behaves like a sound private key unless told otherwise."""

    def __init__(self, bits: int = BITS) -> None:
        self.bits = bits
        self.max_plaintext = 2 ** (bits - 2)
        self.public_key = self

    def number(self, value: int) -> int:
        return randbits(self.bits) | 1 << (self.bits - 1)

    def encrypt(self, values: list[int]) -> StubArray:
        return StubArray([self.number(value) for value in values], list(values))

    def decrypt(self, ciphertexts: StubArray) -> list[int]:
        return ciphertexts.values


class Identity(Stub):
    def number(self, value: int) -> int:
        return value


class Deterministic(Stub):
    def number(self, value: int) -> int:
        return (value * 12345678901 + 2**1024) ** 2


class Sometimes(Stub):
    """Random, except that 0 stays 0."""

    def number(self, value: int) -> int:
        return super().number(value) if value else 0


class ShortCiphertexts(Stub):
    def number(self, value: int) -> int:
        return randbits(256)


class WrongDecryption(Stub):
    def decrypt(self, ciphertexts: StubArray) -> list[int]:
        return [abs(value) for value in ciphertexts.values]


class WrongSum(Stub):
    def decrypt(self, ciphertexts: StubArray) -> list[int]:
        return ciphertexts.values if len(ciphertexts.values) > 1 else [0]


class BadPublicHalf(Stub):
    def __init__(self) -> None:
        super().__init__()
        self.public_key = Deterministic()


def test_a_sound_stub_passes() -> None:
    self_test(Stub())


@pytest.mark.parametrize(
    ("stub", "check"),
    [
        (Identity(), "fresh randomness"),
        (Deterministic(), "fresh randomness"),
        (Sometimes(), "ciphertext is not plaintext"),
        (ShortCiphertexts(), "ciphertext size"),
        (Stub(1024), "key size"),
        (WrongDecryption(), "round trip"),
        (WrongSum(), "homomorphic sum"),
        (BadPublicHalf(), "its public key"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Stub) else value,
)
def test_stubs_are_refused(stub: Stub, check: str) -> None:
    with pytest.raises(SelfTestError, match=check):
        self_test(stub)


def test_insecure_lifts_the_size_only() -> None:
    self_test(Stub(1024), insecure=True)
    with pytest.raises(SelfTestError, match="fresh randomness"):
        self_test(Identity(1024), insecure=True)


def test_a_public_key_alone_is_tested() -> None:
    class PublicStub:
        bits = BITS
        max_plaintext = 2**2000

        def encrypt(self, values: list[int]) -> StubArray:
            return StubArray(list(values), list(values))

    with pytest.raises(SelfTestError, match="fresh randomness"):
        self_test(PublicStub())


def test_real_keys_pass(key: PrivateKey, make_key) -> None:
    self_test(key, insecure=True)
    self_test(key.public_key, insecure=True)
    self_test(make_key("paillier", 2048))
    with pytest.raises(SelfTestError, match="key size"):
        self_test(key)


def without_randomness(cls: type):
    """The encrypt method of `cls`, turned deterministic within a batch."""
    encrypt = cls.encrypt

    def repeat_first(self, values: list[int]):
        return encrypt(self, values[:1]).take([0] * len(values))

    return repeat_first


@pytest.mark.parametrize("cls", [PrivateKey, PublicKey])
def test_every_way_of_making_a_key_runs_it(monkeypatch: pytest.MonkeyPatch, make_key, cls: type) -> None:
    """A core that encrypts without randomness is found when a key is made, not when labels have leaked."""
    key = make_key("paillier", 512)
    private, public, primes = key.to_bytes(), key.public_key.to_bytes(), key.export_primes()
    makers = [
        lambda: generate("paillier", 512, insecure=True),
        lambda: PrivateKey.from_bytes(private, insecure=True),
        lambda: PrivateKey.from_primes("paillier", *primes, insecure=True),
    ]
    if cls is PublicKey:
        makers.append(lambda: PublicKey.from_bytes(public, insecure=True))
        makers.append(lambda: PublicKey.from_modulus(key.public_key.n, insecure=True))
    monkeypatch.setattr(cls, "encrypt", without_randomness(cls))
    for make in makers:
        with pytest.raises(SelfTestError, match="fresh randomness"):
            make()
