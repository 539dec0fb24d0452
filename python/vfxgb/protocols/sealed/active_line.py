"""The active party's line to one passive party: encrypted columns, pieces of argmaxes, and hidden routing."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext
from vfxgb.errors import MessageError
from vfxgb.lattice import ColumnHolder, HolderSettings, LatticeBlock, LatticeOffer, LatticeZeros
from vfxgb.protocols.receive import receive
from vfxgb.protocols.sealed.ahead import Ahead
from vfxgb.protocols.sealed.messages import SealedGreeting, SealedOffer, SealedReply, SealedReverse
from vfxgb.protocols.sealed.params import SealedParams, precision_of, transfer_bits_of
from vfxgb.protocols.sealed.pieces import ArgmaxSettings
from vfxgb.protocols.sealed.transfers import ARGMAX_DOMAIN, ActiveBase, BothWays
from vfxgb.routing import RoutingReceiver
from vfxgb.rows.encrypted_columns import EncryptedColumns
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes
from vfxgb.two_party import ActiveArgmax, Correlations, Demand, flight_bytes_of
from vfxgb.two_party.plan import DEFAULT_FLIGHT_BYTES


@dataclass
class ActiveLine:
    """What the active party has with one passive party, from the set-up on.

    `ahead`: what travels behind flights. `shares`: its shares of the level's sums, uint64[slots, columns]. `argmax`:
    the comparisons of the level once they have begun. `used`: pieces that were used before this round. `encrypted`: the
    encrypted columns, where the rows are; None until the party's offer is there.
    """

    party: str
    channel: Channel
    holder: ColumnHolder
    correlations: Correlations
    routing: RoutingReceiver
    ahead: Ahead
    shares: NDArray[np.uint64]
    argmax: ActiveArgmax | None = None
    used: Demand = Demand()  # noqa: RUF009 - a named tuple
    encrypted: EncryptedColumns | None = None

    @property
    def columns(self) -> EncryptedColumns:
        """The encrypted columns, after the set-up."""
        assert self.encrypted is not None  # noqa: S101 - set_up_lines has put them here
        return self.encrypted

    def close(self) -> None:
        """End the thread that makes masks, and forget the columns."""
        self.holder.close()
        if self.encrypted is not None:
            self.encrypted.close()


def argmax_settings(context: ActiveContext) -> ArgmaxSettings:
    """What the comparisons are planned with, for the line if that is known."""
    params: SealedParams = context.params
    line, flight_bytes = context.line, params.flight_bytes
    if flight_bytes is None:
        known = line.mbit is not None and line.delay_ms is not None
        flight_bytes = flight_bytes_of(line.mbit or 0, 2 * (line.delay_ms or 0)) if known else DEFAULT_FLIGHT_BYTES
    return ArgmaxSettings(score_bits(context), transfer_bits_of(params, line.mbit), flight_bytes)


def score_bits(context: ActiveContext) -> int:
    """The bits of a score."""
    bits = context.train.score_bits
    assert bits is not None  # noqa: S101 - RunPlan.for_rows put them in
    return bits


def samples_columns(context: ActiveContext) -> bool:
    """Whether a tree or node may use some columns only."""
    train = context.train
    return min(train.colsample_bytree, train.colsample_bylevel, train.colsample_bynode) < 1.0


def set_up_lines(context: ActiveContext, settings: ArgmaxSettings) -> dict[str, ActiveLine]:
    """Set up with all passive parties. Raises TransferError, LatticeError, CapacityError, MessageError, PeerError."""
    transfers = _base_transfers(context, settings)
    lines: dict[str, ActiveLine] = {}
    try:
        _open_columns(context, settings, transfers, lines)
    except BaseException:
        for line in lines.values():
            line.close()
        raise
    return lines


def _base_transfers(context: ActiveContext, settings: ArgmaxSettings) -> dict[str, BothWays]:
    """Base transfers, and keys of the passive parties among each other, which pass through here."""
    params: SealedParams = context.params
    channels = context.channels
    greetings = {
        party: receive(context, channel, SealedGreeting, f"setting up with {party}")
        for party, channel in channels.items()
    }
    publics = [greeting.public for greeting in greetings.values()]
    bases = {}
    for place, (party, channel) in enumerate(channels.items()):
        base = bases[party] = ActiveBase(
            party, greetings[party].greeting, params.group, settings.transfer_bits, context.threads
        )
        channel.send(
            SealedOffer(
                offer=pack_bytes(base.offer),
                transfer_bits=settings.transfer_bits,
                flight_bytes=settings.flight_bytes,
                samples_columns=samples_columns(context),
                publics=publics,
                place=place,
            )
        )
    replies = {
        party: receive(context, channel, SealedReply, f"setting up with {party}") for party, channel in channels.items()
    }
    made = [replies[party].ciphertexts for party in channels]
    for place, (party, ciphertexts) in enumerate(zip(channels, made, strict=True)):
        if len(ciphertexts) != len(made) - 1 - place:
            raise MessageError(
                f"setting up with {party}: found keys for {len(ciphertexts)} other passive parties, wanted "
                f"{len(made) - 1 - place}"
            )
    transfers = {}
    for place, (party, channel) in enumerate(channels.items()):
        request, transfers[party] = bases[party].finish(replies[party].reply)
        earlier = [made[other][place - other - 1] for other in range(place)]
        channel.send(SealedReverse(pack_bytes(request), earlier))
    return transfers


def _open_columns(
    context: ActiveContext,
    settings: ArgmaxSettings,
    transfers: Mapping[str, BothWays],
    lines: dict[str, ActiveLine],
) -> None:
    """Take the encrypted columns of all passive parties; `lines` gets a line for each."""
    params: SealedParams = context.params
    for party, channel in context.channels.items():
        both = transfers[party]
        how = HolderSettings(
            precision_bits=precision_of(settings.value_bits, context.n_train),
            ring=params.ring,
            setup_dir=params.setup_dir,
            in_shards=True,
            threads=context.threads,
        )
        holder = ColumnHolder(party, context.n_train, how, channel.own)
        correlations = Correlations(True, both.sender, both.receiver, ARGMAX_DOMAIN)
        routing = RoutingReceiver(both.receiver, context.threads)
        ahead = Ahead(channel, correlations, routing, context.rows.n_rows)
        shares = np.zeros((0, 0), dtype=np.uint64)
        lines[party] = ActiveLine(party, channel, holder, correlations, routing, ahead, shares)
        channel.send(holder.open())
    for party, line in lines.items():
        what, channel, holder = f"setting up with {party}", line.channel, line.holder
        seed = holder.accept(receive(context, channel, LatticeOffer, what))
        if seed is not None:
            channel.send(seed)
    for party, line in lines.items():
        what, channel, holder = f"setting up with {party}", line.channel, line.holder
        holder.add_zeros(receive(context, channel, LatticeZeros, what))
        columns = line.encrypted = context.rows.encrypted_columns(holder.setup)
        for block in holder.kept_blocks():
            columns.fill(block)
        done, rows = holder.rows_done, context.n_train
        while done < rows:
            block = receive(context, channel, LatticeBlock, what)
            holder.add(block)
            columns.fill(block)
            done = block.first + block.rows
            context.progress(f"encrypted columns of {party}", done, rows)
