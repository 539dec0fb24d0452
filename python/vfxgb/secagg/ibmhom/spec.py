"""What `ibmhom` is."""

from vfxgb.secagg.base import AggregatorSpec, Dealt, threshold_of
from vfxgb.secagg.ibmhom.messages import EncryptedVector, EncryptTask, PartialDecryptions, SumToOpen
from vfxgb.secagg.ibmhom.params import IbmhomParams
from vfxgb.secagg.ibmhom.server import IbmhomServer
from vfxgb.secagg.ibmhom.threshold import deal
from vfxgb.secagg.ibmhom.user import IbmhomUser


def deal_shares(params: IbmhomParams, users: tuple[int, ...]) -> Dealt:
    """The key centre: a threshold key, one share for each user. It forgets the factors."""
    threshold = threshold_of(params.threshold, len(users))
    key, shares = deal(params.key_bits, len(users), threshold, params.insecure)
    held = {user: share.to_bytes() for user, share in zip(users, shares, strict=True)}
    return Dealt(public=key.to_bytes(), users=held)


SPEC = AggregatorSpec(
    name="ibmhom",
    summary="threshold Paillier, opened by 60 % of the users, who cannot tell a sum from one vector (for comparison)",
    params=IbmhomParams,
    server=IbmhomServer,
    user=IbmhomUser,
    messages=(EncryptTask, EncryptedVector, SumToOpen, PartialDecryptions),
    security="semi-honest",
    deal=deal_shares,
    attacks=(
        "a server that sends a single user's ciphertexts to be opened gets them: users cannot tell them from a sum",
        "users are told no lists of users: a server that asks for two sums that differ by one user gets the difference",
        "as many colluding users as the threshold open every vector; so does a dealer that did not forget the factors",
    ),
    quick_params={"key_bits": 128, "insecure": True},
)
