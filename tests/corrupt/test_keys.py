"""Key numbers that cannot be right: from primes, from a modulus, and inside well-formed bytes."""

from dataclasses import replace

import gmpy2
import pytest

from vfxgb.crypto import PrivateKey, PublicKey
from vfxgb.crypto.parameters import PrivateParameters, PublicParameters
from vfxgb.crypto.schemes import scheme_by_name
from vfxgb.crypto.wire import dump_private, dump_public, load_private
from vfxgb.errors import FormatError, InvalidKeyError, KeySizeError, UnknownNameError

SCHEMES = ["paillier", "ou"]


@pytest.fixture(params=[(s, r) for s in SCHEMES for r in ("djn", "short")], ids="-".join)
def secrets(request: pytest.FixtureRequest, make_key) -> PrivateParameters:
    scheme, randomness = request.param
    return load_private(make_key(scheme, 512, randomness).to_bytes())


@pytest.fixture
def public(secrets: PrivateParameters) -> PublicParameters:
    return secrets.public


def read_public(public: PublicParameters) -> PublicKey:
    return PublicKey.from_bytes(dump_public(public), insecure=True)


def read_private(private: PrivateParameters) -> PrivateKey:
    return PrivateKey.from_bytes(dump_private(private), insecure=True)


class TestFromPrimes:
    @pytest.mark.parametrize("scheme", SCHEMES)
    @pytest.mark.parametrize(
        ("p", "q", "reason"),
        [
            (11, 11, "p = q"),
            (15, 13, "p is composite"),
            (11, 21, "q is composite"),
            (12, 13, "p is even"),
            (11, 14, "q is even"),
            (2, 13, "p is below"),
            (5, 13, "p is below"),
            (11, 1, "q is below"),
            (11, 0, "q is below"),
            (-11, 13, "p is below"),
            (11, 23, "share a factor"),
            (11.0, 13, "wanted an integer"),
            (None, 13, "wanted an integer"),
            (11, "13", "wanted an integer"),
            (True, 13, "wanted an integer"),
        ],
    )
    def test_bad_factors(self, scheme: str, p: object, q: object, reason: str) -> None:
        with pytest.raises(InvalidKeyError, match=reason):
            PrivateKey.from_primes(scheme, p, q, insecure=True)

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_carmichael_number_is_no_prime(self, scheme: str) -> None:
        with pytest.raises(InvalidKeyError, match="p is composite"):
            PrivateKey.from_primes(scheme, 561, 13, insecure=True)

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_toys_need_insecure(self, scheme: str) -> None:
        with pytest.raises(KeySizeError, match="insecure=True"):
            PrivateKey.from_primes(scheme, 11, 13)

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_unequal_sizes(self, scheme: str) -> None:
        small, large = int(gmpy2.next_prime(2**64)), int(gmpy2.next_prime(2**1990))
        with pytest.raises(InvalidKeyError, match="65 bits and q 1991"):
            PrivateKey.from_primes(scheme, small, large)

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_too_large(self, scheme: str, make_key) -> None:
        p, q = int(gmpy2.next_prime(2**2100)), int(gmpy2.next_prime(2**2101))
        with pytest.raises(KeySizeError, match="at most 4096"):
            PrivateKey.from_primes(scheme, p, q, insecure=True)

    def test_messages_do_not_contain_the_factors(self, make_key) -> None:
        p, _ = make_key("paillier", 512).export_primes()
        with pytest.raises(InvalidKeyError) as caught:
            PrivateKey.from_primes("paillier", p, p, insecure=True)
        assert str(p) not in str(caught.value)

    def test_unknown_scheme(self) -> None:
        with pytest.raises(UnknownNameError):
            PrivateKey.from_primes("rsa", 11, 13, insecure=True)


class TestFromModulus:
    @pytest.mark.parametrize(
        ("n", "reason"),
        [
            (2**2048, "even"),
            (2 * 3**1500, "even"),
            (int(gmpy2.next_prime(2**2100)), "a prime"),
            (int(gmpy2.next_prime(2**1100)) ** 2, "p = q"),
            (3.0, "integer"),
            (None, "integer"),
            (True, "integer"),
        ],
        ids=range(7),
    )
    def test_bad_modulus(self, n: object, reason: str) -> None:
        with pytest.raises(InvalidKeyError, match=reason):
            PublicKey.from_modulus(n)

    @pytest.mark.parametrize("n", [-15, -1, 1, 3, 9, 15, 35])
    def test_tiny_modulus(self, n: int) -> None:
        with pytest.raises(InvalidKeyError):
            PublicKey.from_modulus(n, insecure=True)

    def test_sizes(self, make_key) -> None:
        with pytest.raises(KeySizeError, match="1024 bits, wanted at least 2048"):
            PublicKey.from_modulus(make_key("paillier").public_key.n)
        with pytest.raises(KeySizeError, match="at most 4096"):
            PublicKey.from_modulus(2**5000 + 1, insecure=True)


class TestPublicBytes:
    def test_sound(self, public: PublicParameters) -> None:
        assert read_public(public).n == public.n

    def test_small_key_needs_insecure(self, public: PublicParameters) -> None:
        with pytest.raises(KeySizeError, match="512 bits, wanted at least 2048"):
            PublicKey.from_bytes(dump_public(public))

    def test_even_modulus(self, public: PublicParameters) -> None:
        with pytest.raises(InvalidKeyError, match="even"):
            read_public(replace(public, n=public.n + 1))

    @pytest.mark.parametrize("base", [0, 1, "n - 1", "n", "n + 5"])
    def test_bad_bases(self, public: PublicParameters, base: object) -> None:
        offsets = {"n - 1": -1, "n": 0, "n + 5": 5}
        value = base if isinstance(base, int) else public.n + offsets[str(base)]
        for index in range(len(public.bases)):
            bases = tuple(value if i == index else old for i, old in enumerate(public.bases))
            with pytest.raises(InvalidKeyError):
                read_public(replace(public, bases=bases))

    def test_base_that_is_no_unit(self, secrets: PrivateParameters) -> None:
        public = secrets.public
        bases = (*public.bases[:-1], secrets.p)
        with pytest.raises(InvalidKeyError, match="no unit"):
            read_public(replace(public, bases=bases))

    @pytest.mark.parametrize("exponent_bits", [0, 1025, 2**32 - 1])
    def test_exponent_bits(self, public: PublicParameters, exponent_bits: int) -> None:
        with pytest.raises(InvalidKeyError, match="random exponents"):
            read_public(replace(public, exponent_bits=exponent_bits))

    def test_short_exponents_need_insecure(self, make_key) -> None:
        for scheme in SCHEMES:
            public = make_key(scheme, 2048).public_key.parameters
            with pytest.raises(InvalidKeyError, match="at least 256"):
                PublicKey.from_bytes(dump_public(replace(public, exponent_bits=64)))

    @pytest.mark.parametrize("plaintext_bits", [0, 255, 600, 2**32 - 1])
    def test_plaintext_bits(self, public: PublicParameters, plaintext_bits: int) -> None:
        with pytest.raises(InvalidKeyError, match="plaintexts"):
            read_public(replace(public, plaintext_bits=plaintext_bits))

    def test_prime_or_square_modulus(self, public: PublicParameters) -> None:
        for n in (int(gmpy2.next_prime(2**511)), int(gmpy2.next_prime(2**255)) ** 2):
            with pytest.raises(InvalidKeyError, match="perfect power"):
                read_public(replace(public, n=n, bases=tuple(3 for _ in public.bases)))

    def test_ou_base_h_must_be_a_power_of_g(self, make_key) -> None:
        public = make_key("ou", 512).public_key.parameters
        g, h = public.bases
        with pytest.raises(InvalidKeyError, match=r"h is not g\*\*n"):
            read_public(replace(public, bases=(g, h * h % public.n)))


class TestPrivateBytes:
    def test_sound(self, secrets: PrivateParameters) -> None:
        key = read_private(secrets)
        assert key.decrypt(key.encrypt([5])) == [5]

    def test_small_key_needs_insecure(self, secrets: PrivateParameters) -> None:
        with pytest.raises(KeySizeError, match="wanted at least 2048"):
            PrivateKey.from_bytes(dump_private(secrets))

    def test_swapped_factors(self, secrets: PrivateParameters) -> None:
        swapped = replace(secrets, p=secrets.q, q=secrets.p)
        with pytest.raises(InvalidKeyError):
            read_private(swapped)

    def test_factors_of_another_key(self, secrets: PrivateParameters) -> None:
        other = scheme_by_name(secrets.public.scheme).generate(512, "djn")
        with pytest.raises(InvalidKeyError, match="is not the modulus"):
            read_private(replace(secrets, p=other.p, q=other.q))

    @pytest.mark.parametrize("field", ["order_p", "order_q"])
    @pytest.mark.parametrize("change", [lambda x: 0, lambda x: 1, lambda x: x + 1, lambda x: 2 * x, lambda x: x // 2])
    def test_wrong_orders(self, secrets: PrivateParameters, field: str, change) -> None:
        wrong = change(getattr(secrets, field))
        prime = secrets.p if field == "order_p" else secrets.q
        h = secrets.public.bases[-1]
        if 0 < wrong < prime and (prime - 1) % wrong == 0 and pow(h, wrong, prime) == 1:
            assert read_private(replace(secrets, **{field: wrong})).scheme == secrets.public.scheme
            return
        with pytest.raises(InvalidKeyError, match="orders"):
            read_private(replace(secrets, **{field: wrong}))

    @pytest.mark.parametrize("field", ["p", "q"])
    @pytest.mark.parametrize("value", [0, 1, 2, 9, 2**64])
    def test_wrong_factors(self, secrets: PrivateParameters, field: str, value: int) -> None:
        with pytest.raises(InvalidKeyError):
            read_private(replace(secrets, **{field: value}))

    def test_equal_factors(self, secrets: PrivateParameters) -> None:
        with pytest.raises(InvalidKeyError, match="p = q"):
            read_private(replace(secrets, q=secrets.p))

    def test_messages_do_not_contain_secrets(self, secrets: PrivateParameters) -> None:
        for broken in (replace(secrets, q=secrets.p), replace(secrets, order_p=secrets.order_p - 1)):
            with pytest.raises(InvalidKeyError) as caught:
                read_private(broken)
            for secret in (secrets.p, secrets.q, secrets.order_p, secrets.order_q):
                assert str(secret) not in str(caught.value)

    def test_a_public_key_is_no_private_key(self, public: PublicParameters) -> None:
        with pytest.raises(FormatError, match="found a public key"):
            PrivateKey.from_bytes(dump_public(public), insecure=True)
