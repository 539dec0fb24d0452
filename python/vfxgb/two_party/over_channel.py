"""An argmax over a channel of typed messages: pieces ahead, all flights, the opening."""

from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes
from vfxgb.two_party.correlations import Correlations
from vfxgb.two_party.messages import ArgmaxFlight, ArgmaxPieces, ArgmaxWinners
from vfxgb.two_party.plan import Demand
from vfxgb.two_party.tournament import Argmax


def make_pieces(channel: Channel, correlations: Correlations, demand: Demand) -> None:
    """Make pieces with the party at the other end, which calls this at the same time for as many."""
    channel.send(ArgmaxPieces(pack_bytes(correlations.request(demand))))
    correlations.accept(channel.recv(ArgmaxPieces).request)


def play(channel: Channel, argmax: Argmax) -> None:
    """Play all flights of an argmax, of which the other party plays its own side. Raises what Argmax.receive does."""
    while not argmax.finished:
        opening = argmax.opening
        if argmax.sends:
            data = pack_bytes(argmax.send())
            channel.send(ArgmaxWinners(argmax.plan.nodes, data) if opening else ArgmaxFlight(data))
        elif opening:
            argmax.receive(channel.recv(ArgmaxWinners).data)
        else:
            argmax.receive(channel.recv(ArgmaxFlight).data)
