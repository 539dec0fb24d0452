"""Which sentence the other parties get when this one fails, and what never travels."""

import errno

import pytest

from vfxgb import errors
from vfxgb.errors import CheckpointError, ConsentError, PeerError, TableError, VfxgbError
from vfxgb.transport.channel import memory_channels
from vfxgb.transport.last_words import last_words
from vfxgb.transport.messages import Abort, Catalogue, Message

RUN = bytes(16)
SECRET = "column salary of /home/shop/customers.csv holds 12345"


class Never(Message, frozen=True, forbid_unknown_fields=True):
    TAG = "never"


def told(error):
    """What the bank hears of an error that ends the shop."""
    bank, shop = memory_channels("bank", "shop", Catalogue((Never,)), RUN)
    shop.abort(error)
    with pytest.raises((PeerError, ConsentError)) as caught:
        bank.recv(Never)
    return caught.value


def error_classes():
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, VfxgbError)]
    return [kind for kind in found if kind not in (ConsentError, errors.InvalidCiphertextError)]


@pytest.mark.parametrize("kind", [*error_classes(), OSError, KeyError, AssertionError, MemoryError, KeyboardInterrupt])
def test_no_error_travels_with_its_message_or_class(kind):
    said = str(told(kind(SECRET)))
    assert "bank waiting for 'never': shop stopped the run: " in said
    sentence = said.split("stopped the run: ")[1]
    assert sentence.startswith(("shop ", "the disk of shop "))
    for private in ("salary", "/home", "12345", kind.__name__):
        assert private not in said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConsentError("shop does not agree to 401 trees"), "shop does not agree to 401 trees"),
        (TableError(SECRET), "shop cannot use its table for this run; its log says why"),
        (OSError(errno.ENOSPC, "No space left", "/home/shop/run.json"), "the disk of shop is full; resume the run"),
        (OSError(errno.EACCES, "Permission denied", "/home"), "shop cannot read or write one of its files"),
        (KeyboardInterrupt(), "shop was stopped by its operator; resume the run when it is there again"),
        (CheckpointError("max_depth was 5").for_peer(), "max_depth was 5"),
        (CheckpointError(SECRET).for_peer("shop has lost its checkpoint"), "shop has lost its checkpoint"),
    ],
)
def test_the_sentence_says_what_happened(error, said):
    assert said in str(told(error))
    assert said in last_words(error, "shop")
    assert "salary" not in str(told(error))


def test_a_peer_cannot_write_to_the_terminal():
    bank, shop = memory_channels("bank", "shop", Catalogue((Never,)), RUN)
    shop.send(Abort(reason="gone\x1b[2J\nvfxgb: trained", kind="KeyError"))
    with pytest.raises(PeerError) as caught:
        bank.recv(Never)
    assert str(caught.value).isprintable()
    assert "gone\\x1b[2J\\nvfxgb" in str(caught.value)
