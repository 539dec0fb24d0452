"""The sections of a party's configuration: each is a struct of its keys, with bounds, default and meaning of each."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from vfxgb.described import documented
from vfxgb.engine.settings import EngineSettings

Positive = Annotated[int, Meta(ge=1)]
COUNTED = "Without it, they are counted without a limit."


@documented()
class TlsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How this party proves who it is."""

    certificate: Annotated[Path, Meta(description="This party's certificate, a PEM file.")]
    key: Annotated[Path, Meta(description="Its private key, a PEM file that only its owner may read.")]


@documented()
class PeerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another party."""

    certificate: Annotated[
        tuple[Path, ...],
        Meta(
            description="The peer's certificate, a PEM file, which is the pin; or a list of two while the peer changes "
            "from one to the other.",
            extra={"wanted": "a path, or [a path, a path]"},
        ),
    ]
    address: Annotated[str, Meta(description="Where the peer listens ('host:port'), if this party dials it.")] = ""


@documented()
class DataSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """This party's tables and what their columns are."""

    train: Annotated[Path | None, Meta(description="The table to train on, a file or a folder of Parquet files.")] = (
        None
    )
    valid: Annotated[Path | None, Meta(description="The active party's table for metrics and early stopping.")] = None
    predict: Annotated[
        Path | None, Meta(description="The passive party's table for predictions. Without it, `train` is used.")
    ] = None
    id: Annotated[str, Meta(description="The column that names the rows.")] = "id"
    label: Annotated[str, Meta(description="The column to learn; the active party's.")] = ""
    weight: Annotated[str, Meta(description="The column of row weights; the active party's.")] = ""
    features: Annotated[
        tuple[str, ...] | None,
        Meta(description="The columns in use. Without it, all that are neither id, label nor weight."),
    ] = None
    categorical: Annotated[
        tuple[str, ...],
        Meta(
            description="Columns of categories: text, or numbers that only name something. A category that training "
            "had not counts as missing. The model keeps the categories with this party's share, and shows them to "
            "nobody."
        ),
    ] = ()
    dates: Annotated[
        tuple[str, ...],
        Meta(
            description="Columns of dates, such as 2024-05-31 or 2024-05-31T18:00:00, which become days since "
            "1970-01-01, at training and at prediction alike."
        ),
    ] = ()
    normalise: Annotated[
        tuple[str, ...],
        Meta(description="The steps that make the ids of all parties alike (vfxgb.align.normalise)."),
    ] = ()
    missing: Annotated[float, Meta(description="A value that counts as missing, beside an empty cell.")] = math.nan


@documented()
class ProtocolSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How gradients and sums are protected."""

    name: Annotated[str, Meta(description="The protocol; the active party chooses it.")] = "sealed"
    params: Annotated[dict[str, Any], Meta(description="The protocol's parameters, which are sent to all.")] = {}
    local: Annotated[
        dict[str, Any], Meta(description="The protocol's parameters that are each party's own and never sent.")
    ] = {}


@documented()
class ConsentSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a passive party or a user agrees to; anything beyond is refused by name."""

    protocols: Annotated[
        tuple[str, ...] | None,
        Meta(description="The protocols accepted. Without it, all of vfxgb's own that no known attack breaks."),
    ] = None
    insecure: Annotated[bool, Meta(description="Broken protocols are accepted too, if they are listed.")] = False
    min_key_bits: Annotated[int, Meta(description="The least size of an encryption key.")] = 2048
    features: Annotated[
        tuple[str, ...] | None, Meta(description="The columns offered. Without it, all that are in use.")
    ] = None
    purposes: Annotated[
        tuple[str, ...] | None,
        Meta(description="The purposes accepted, compared as text. Without it, any purpose is."),
    ] = None
    max_trees: Annotated[
        int | None,
        Meta(description="The most trees of a run; a round that is begun again counts again. Without it, any number."),
    ] = None
    total_trees: Annotated[
        int | None, Meta(description=f"The most trees that are begun for a peer, over all runs. {COUNTED}")
    ] = None
    max_depth: Annotated[int | None, Meta(description="The greatest depth of a tree. Without it, any depth.")] = None
    min_bucket_rows: Annotated[int, Meta(description="The fewest rows of a bucket whose sums are shown.")] = 1
    told_sample: Annotated[
        bool, Meta(description="This party agrees to hear which rows GOSS chose, which says much about labels.")
    ] = False
    split_rules: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="The rules of splits (split_rule) accepted; 'centred' shows the weights of candidates, from "
            "which counts of bins follow roughly. Without it, all."
        ),
    ] = None
    min_common_rows: Annotated[int, Meta(description="The fewest rows in common to train on.")] = 1
    min_claimed_ids: Annotated[int, Meta(description="The fewest ids that a peer brings to an alignment.")] = 1
    max_claimed_ids: Annotated[
        int | None,
        Meta(
            description="The most ids that a peer may bring to an alignment. Without it, 16 times those of the own "
            "table, and at least 1,000,000."
        ),
    ] = None
    total_alignments: Annotated[
        int | None, Meta(description=f"The most alignments with a peer, over all runs. {COUNTED}")
    ] = None
    lookup: Annotated[
        bool,
        Meta(description="This party looks up ids that a peer names, for `predict --lookup` and `predict --serve`."),
    ] = False
    min_lookup_ids: Annotated[int, Meta(description="The fewest ids that are looked up at once.")] = 1
    total_lookup_ids: Annotated[
        int | None, Meta(description=f"The most ids that are looked up for a peer, over all models. {COUNTED}")
    ] = None
    prediction: Annotated[
        Literal["any", "hidden"],
        Meta(
            description="This party takes part in any prediction, or only in hidden ones, in which it does not learn "
            "which of its splits a row reaches."
        ),
    ] = "any"
    total_comparisons: Annotated[
        int | None,
        Meta(
            description="The most rows times splits that are answered in predictions for a peer, over all models; in "
            f"hidden ones, one for each row, tree and level with splits of this party. {COUNTED}"
        ),
    ] = None
    max_predicted_rows: Annotated[
        int | None, Meta(description="The most rows predicted by a model, over all requests. Without it, any number.")
    ] = None
    total_predicted_rows: Annotated[
        int | None, Meta(description=f"The most rows predicted for a peer, over all models. {COUNTED}")
    ] = None
    total_opened_sums: Annotated[
        int | None, Meta(description=f"The most gradient sums that a peer may open, over all runs. {COUNTED}")
    ] = None
    max_won_columns: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="Under 'sealed', the largest share of this party's candidate splits whose rows are told, over "
            "all runs with the same rows and bins; 1 sets no limit. Splits that win beyond it are withheld, and the "
            "run goes on.",
        ),
    ] = 0.5
    max_wins: Annotated[
        Positive | None,
        Meta(
            description="Under 'sealed', the most winning splits whose rows are told to a peer, over all runs; further "
            "ones are withheld, and the run goes on. Without it, any number."
        ),
    ] = None
    max_runs: Annotated[
        Positive | None,
        Meta(description="Under 'sealed', the most runs in which rows are told to a peer. Without it, any number."),
    ] = None
    max_epsilon: Annotated[
        float,
        Meta(
            ge=0,
            description="The most that a run may release about one row of this party under differential privacy; inf "
            "means no limit.",
        ),
    ] = 8.0
    max_total_epsilon: Annotated[
        float,
        Meta(
            ge=0,
            description="The same for all runs of a peer together. A release that is used again costs nothing.",
        ),
    ] = 32.0
    hide_among: Annotated[
        Positive | None,
        Meta(
            description="For a user: sums that can be compared are over the same users, or over sets that differ by at "
            "least so many. Without it, ten or a tenth of all users, whichever is more; 1 compares no sets."
        ),
    ] = None
    compare: Annotated[
        Literal["tree", "run"],
        Meta(description="For a user: sums of the same tree are compared, or all sums of a run."),
    ] = "tree"
    max_quantile_bits: Annotated[
        int,
        Meta(
            ge=1,
            description="For a user: the search for cut points may tell so many of the 32 bits of a value.",
        ),
    ] = 22
    max_calls: Annotated[
        Positive | None,
        Meta(
            description="For a user: the most sums that it helps to open in a run. Without it, twice what the training "
            "can need."
        ),
    ] = None


@documented()
class PredictSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the active party asks for predictions, of files and over HTTP."""

    hidden: Annotated[
        bool,
        Meta(
            description="The passive parties do not learn which of their splits a row reaches. The scores are the "
            "same; it takes more time and bytes. `vfxgb predict --hidden` sets it, too."
        ),
    ] = False
    transfers: Annotated[
        Literal["soft", "silent"],
        Meta(
            description="What hidden predictions are made of: soft transfers, which rest on AES, or silent ones, which "
            "take fewer bytes for many rows and rest on learning parity with noise, too."
        ),
    ] = "soft"


@documented()
class ResumeSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run survives its processes."""

    key_file: Annotated[
        Path | None,
        Meta(
            description="A file of 32 random bytes, readable by its owner only, that seals the secrets of a checkpoint."
        ),
    ] = None
    passphrase_env: Annotated[
        str,
        Meta(
            description="The name of an environment variable with a passphrase that seals them instead. Without "
            "either, keys are made again."
        ),
    ] = ""
    resume_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=1e9,
            description="The active party keeps dialling a party that is gone for so long; 0 gives up at once.",
        ),
    ] = 600.0


@documented()
class MetricsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a passive party shows to monitoring: counts, seconds, budgets; nothing of its table."""

    listen: Annotated[
        str,
        Meta(
            description="The 'host:port' of GET /metrics, in Prometheus' text format, while the party serves. Whoever "
            "can reach it may read it: 127.0.0.1 unless a network of your own protects it. Without it, there is none."
        ),
    ] = ""


@documented()
class EngineSection(EngineSettings, frozen=True, forbid_unknown_fields=True):
    """The engine in a file, where a scheduler is named by its address."""

    engine_address: Annotated[
        str | None, Meta(description="The address of Dask's scheduler, such as 'tcp://host:8786'.")
    ] = None
