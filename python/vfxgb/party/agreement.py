"""Whether a passive party agrees to a request, before anything of it is computed: consent and budget, all at once.

Whatever is refused is told in one answer (consent.Refusals). What shows only later, such as how many rows are common,
is compared with consent again when it does.
"""

from vfxgb.errors import ProtocolParameterError, UnknownNameError
from vfxgb.party.budget import Budget
from vfxgb.party.consent import Consent, Refusals, passive_epsilon
from vfxgb.party.messages import Hello, PredictRequest, TrainRequest
from vfxgb.party.serving_party import ServingParty


def agree_to_training(party: ServingParty, peer: str, words: Hello, request: TrainRequest | None) -> None:
    """Raise ConsentError with everything in a request to train or to check that the party does not agree to.

    A peer whose budget is too small is refused now; a resumed run has paid for most of it.
    """
    consent, held, budget = party.settings.consent, party.table("train"), party.budget(peer)
    refusals = Refusals(party.name)
    refusals.hear(consent.purpose, words.purpose)
    n_features = 0
    with refusals.also():
        n_features = len(consent.features(held.table.names))
    if request is not None:
        refusals.hear(_agree_to_run, consent, request)
        if consent.accepts(request):
            refusals.hear(budget.epsilon, passive_epsilon(request.protocol, request.protocol_params, n_features))
    if request is not None and not request.resume:
        with refusals.also():
            budget.may(trees=request.n_trees)
        with refusals.also():
            budget.may(alignments=1)
        if request.n_ids > 0:
            refusals.hear(consent.alignment, request.n_ids, len(held.ids), True)
    refusals.tell()


def _agree_to_run(consent: Consent, request: TrainRequest) -> None:
    """Raise ConsentError for what is not agreed to, and the error of a request that makes no sense."""
    try:
        consent.training(request)
    except (ProtocolParameterError, UnknownNameError) as error:
        # It is about what the peer wrote, and names nothing of this party.
        raise error.for_peer() from None


def agree_to_prediction(party: ServingParty, budget: Budget, words: Hello, request: PredictRequest, own: int) -> None:
    """Raise ConsentError with everything in a request to predict that the party does not agree to.

    `own`: how many ids the party has. How many of the rows are common shows later; a limit that is used up shows now.
    """
    consent, refusals = party.settings.consent, Refusals(party.name)
    refusals.hear(consent.purpose, words.purpose)
    refusals.hear(consent.prediction, request.hidden)
    refusals.hear(party.settings.queries.allow, words.run, 1)
    with refusals.also():
        budget.may(predicted_rows=1)
    if request.matching == "psi":
        with refusals.also():
            budget.may(alignments=1)
        if request.n_rows > 0:
            refusals.hear(consent.alignment, request.n_rows, own, False)
    else:
        with refusals.also():
            consent.lookups()
            budget.may(lookup_ids=max(1, request.n_rows))
            if request.n_rows > 0:
                consent.lookup(request.n_rows, own)
    refusals.tell()
