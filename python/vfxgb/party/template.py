"""The commented configuration that `vfxgb init` writes: every key with its default, those to fill in first."""

TOP = """\
# {party}: configuration of one party of a vfxgb run. Paths are relative to this file. Every value can be overridden
# by the environment: VFXGB_<SECTION>__<KEY>, such as VFXGB_NETWORK__STEP_SECONDS=60 (VFXGB__PURPOSE at the top).
# `vfxgb check {file}` looks at all of it before a run.

party = "{party}"
role = "{role}"              # active: has the labels. passive: has further columns. server, user: rows at many users
folder = "vfxgb-{party}"     # runs, models, checkpoints, log; readable by its owner only
"""
LISTEN = """\
listen = "0.0.0.0:7878"      # the one port this party opens
"""
PURPOSE = """\
purpose = "credit scoring"   # what the model is for; the passive parties compare it with what they agreed to
"""
THREADS = """\
# threads = 2                # all cores if absent
"""
SESSIONS = """\
# max_sessions = 8           # sessions at a time
# max_unfinished_runs = 50   # runs without a model kept for a peer; `vfxgb clean` removes them
"""
LOGS = """\
# log_bytes = 10000000       # a larger log.jsonl becomes log.jsonl.1, ...
# log_files = 5              # of which so many are kept
"""
OWN_TLS = """
[tls]                        # `vfxgb certs` makes these files
certificate = "certs/{party}.pem"
key = "certs/{party}.key"    # must not be readable by others
"""
PEER = """
[peers.{peer}]               # one section per party that is met
certificate = "certs/{peer}.pem"   # two while it changes: ["certs/{peer}.pem", "certs/{peer}-new.pem"]
"""
ADDRESS = """\
address = "{peer}.example.com:7878"
"""
ACTIVE_DATA = """
[data]                       # CSV, CSV.gz, Parquet, or a folder of Parquet files
train = "train.csv"
# valid = "valid.csv"        # for metrics and early stopping
id = "id"
label = "label"
# weight = "weight"
# features = ["age", "income"]   # all columns but id, label and weight if absent
normalise = []               # how ids are brought to one spelling, the same list at all parties: "strip", "lower",
                             # "upper", "nfkc", "digits", "unprefix:TEXT", "zfill:N"
# missing = -999             # a value that counts as missing, beside an empty cell
"""
PASSIVE_DATA = """
[data]                       # CSV, CSV.gz, Parquet, or a folder of Parquet files
train = "train.csv"
# predict = "customers.csv"  # table for prediction; the one above if absent
id = "id"
# features = ["visits", "spent"] # all columns but id if absent
normalise = []               # the same list at all parties: "strip", "lower", "upper", "nfkc", "digits",
                             # "unprefix:TEXT", "zfill:N"
# missing = -999             # a value that counts as missing, beside an empty cell
"""
TRAIN = """
[train]                      # XGBoost's names
objective = "binary:logistic"    # or multi:softprob with num_class, ...: vfxgb parameters objective
n_estimators = 50
max_depth = 5
learning_rate = 0.3
# early_stopping_rounds = 10 # needs valid in [data]
# min_bucket_rows = 1        # buckets with fewer rows are merged before their sums are shown
"""
PROTOCOL = """
[protocol]
name = "ot_shares"           # or batch_he, secureboost, ldp, ...: see the README for who learns what
[protocol.params]            # of the protocol, sent to all parties
[protocol.local]             # this party's own, never sent
"""
LOCAL = """
[protocol.local]             # of the protocols, this party's own; what is accepted stands below
"""
CONSENT = """
[consent]                    # what this party agrees to; anything beyond is refused by name and logged
protocols = ["ot_shares", "batch_he"]
# insecure = false           # broken protocols, for research
min_key_bits = 2048
# features = ["visits"]      # columns offered; all in use if absent
purposes = ["credit scoring"]
max_trees = 500              # of a run; a tree that is begun again after a failure counts again
# total_trees = 20000        # for a peer, over all runs
max_depth = 8
min_bucket_rows = 1
# told_sample = false        # to hear which rows GOSS chose, which says much about labels
min_common_rows = 100        # fewer common rows: no run
# min_claimed_ids = 1        # fewer ids of a peer: no alignment, for training or prediction
# max_claimed_ids = 1000000  # more ids of a peer: no alignment; if absent 16 times the own ids, at least 1,000,000
# total_alignments = 100     # with a peer, over all runs
# lookup = false             # true: look up ids that a peer names (predict --lookup and --serve)
# min_lookup_ids = 1         # fewer ids in one question: no answer
# total_lookup_ids = 100000  # for a peer, over all models
# total_comparisons = 10000000   # rows times splits answered in predictions, for a peer, over all models
# max_predicted_rows = 100000    # per model, over all requests
# total_predicted_rows = 1000000 # for a peer, over all models
# total_opened_sums = 1000000    # gradient sums that a peer may open, over all runs
# max_epsilon = 8.0          # that a run may release about one row of this party, under differential privacy
# max_total_epsilon = 32.0   # for a peer, over all runs
"""
USER_CONSENT = """
[consent]                    # what this user agrees to
purposes = ["credit scoring"]
# features = ["age"]         # columns offered; all in use if absent
# max_trees = 500
# hide_among = 10            # sums of a tree are over the same users, or differ by so many; a tenth if that is more
# compare = "tree"           # "run": the same users in all sums of a run, also against a server that makes up trees
# max_quantile_bits = 22     # of 32 that the search for cut points may tell of a value
"""
NETWORK = """
[network]
# connect_seconds = 10       # to open a connection
# reconnect_seconds = 120    # how long a lost connection is tried again before the session is given up
# step_seconds = 3600        # longest wait for one answer
# heartbeat_seconds = 10
# lost_after_seconds = 4     # silence after which a party is reported as lost; nothing ends by it
# max_session_bytes = 536870912  # the most that a session holds of what came and was not used yet
# compression = false        # zstd, if both sides want it
"""
RESUME = """
[resume]                     # keys in checkpoints are sealed by one of these; without, they are made again
# key_file = "resume.key"    # 32 random bytes, readable by their owner only: head -c 32 /dev/urandom
# passphrase_env = "VFXGB_PASSPHRASE"
# resume_seconds = 600       # how long a party that is gone is dialled again
"""
ENGINE = """
[engine]                     # where this party's rows are worked on; in the memory of this process if absent
# memory_limit = "6GB"       # rows in memory-mapped files; or on a Dask cluster: docs/scale.md
# engine_folder = "engine"   # for these files
"""
ALIGN = """
[align]                      # the same at all parties
# method = "auto"            # kkrt, or ecdh for small sets
"""
SERVER_DATA = """
[data]                       # the server has no rows of its own; a table for metrics if there is one
# valid = "valid.csv"
label = "label"
features = ["age", "income"] # the users' columns, in this order
"""
USER_DATA = """
[data]                       # CSV, CSV.gz or Parquet with a header
train = "train.csv"
label = "label"
# weight = "weight"
# features = ["age", "income"]   # all columns but the label and weight if absent
"""
SERVER_USERS = """
[users]
directory = "certs/users.json"   # who they are: `vfxgb certs server --users 10` writes it
aggregator = "masks"         # how sums are protected: masks or bcp
# users_per_round = 100      # all if absent
# gather_seconds = 60        # how long to wait for all users before the run begins
# stage_seconds = 60         # how long for a reply; who is later has dropped out of the call
# grace_seconds = 10         # how long for the others when enough users have answered
# eval_users = false         # metrics on the users' rows, by sums of losses
"""
USER_USERS = """
[users]
directory = "certs/users.json"   # the same as at the server
# identity = "certs/{party}.identity"  # this user's private identity key
aggregator = "masks"         # a run that protects sums in another way is declined
"""

PARTS: dict[str, tuple[str, ...]] = {
    "active": (
        *(TOP, PURPOSE, THREADS, LOGS, OWN_TLS, PEER, ADDRESS, ACTIVE_DATA, TRAIN, PROTOCOL),
        *(NETWORK, RESUME, ENGINE, ALIGN),
    ),
    "passive": (
        *(TOP, LISTEN, THREADS, SESSIONS, LOGS, OWN_TLS, PEER, PASSIVE_DATA, LOCAL, CONSENT),
        *(NETWORK, ENGINE, ALIGN),
    ),
    "server": (TOP, LISTEN, PURPOSE, THREADS, LOGS, OWN_TLS, SERVER_DATA, TRAIN, NETWORK, SERVER_USERS),
    "user": (TOP, THREADS, LOGS, OWN_TLS, PEER, ADDRESS, USER_DATA, USER_CONSENT, NETWORK, USER_USERS),
}


def template(party: str, role: str, peer: str, file: str) -> str:
    """A configuration to begin with."""
    return "".join(part.format(party=party, role=role, peer=peer, file=file) for part in PARTS[role])
