"""Where things lie in a lake. Every key is made here and nowhere else.

```
<dataset>/shards/<sha256>.parquet               immutable, content-addressed
<dataset>/index/<sha256>.parquet                sample index, sorted by sample ID
<dataset>/lookup/<hex digit>.parquet            index over all partitions, by the first digit of the sample ID; made by hand
<dataset>/manifests/<partition>/<digest>.json   immutable description of one partition
<dataset>/releases/<number>.json                immutable ordered list of manifests
<dataset>/LATEST                                pointer, compare-and-swap; tags stand beside it
<dataset>/inventories/<digest>.parquet          the source objects a manifest was made from
<dataset>/groups/<digest>.json                  the shards a group of objects became, for any run that sees the same objects
<dataset>/parts/<sha256>.parquet                index rows of one group, merged into the index at publication
<dataset>/plans/<partition>/<digest>/...        what a run is going to do, and what its tasks did
<dataset>/quarantine/<partition>/<name>.json    why an object was refused; `<name>.bytes` beside it is the object
<dataset>/code/<fingerprint>.json               the code a transform's shards were made with
<dataset>/held/<partition>/<digest>.json        why a candidate was held, and what became of it
<dataset>/verdicts/<partition>/<digest>.json    what the gate said about a candidate, and its report beside it
<dataset>/runs/<partition>/<run>.json           what a run took; no part of any digest
<dataset>/runs/<partition>/<run>/<task>.json    what one try of a task took, until the report holds it
<dataset>/states/<sha256>.parquet               log rows a later snapshot may need: a cache, made again when it is gone
<dataset>/states/<partition>.json               which of them stand behind one version, and what they are a function of
<dataset>/audits/<partition>/<digest>.json      what the leakage audit found in a candidate
<dataset>/approvals/<partition>/<digest>.json   a person's decision to release a held candidate
<dataset>/monitor/<partition>/<digest>.json     what was said about a day of live data, and its report beside it
<dataset>/gc/<collection>.json                  what a collection under way may remove; goes when it ends
<dataset>/incidents/<stream>.json               what is wrong now and was lately, compare-and-swap
<dataset>/verified/verified.json                when each partition was last read again, and what came of it, compare-and-swap
_checkpoints/<run>/parts/<sha256>               parts of training states, content-addressed
_checkpoints/<run>/saved/<number>.json          immutable list of the parts of one state
_checkpoints/<run>/LATEST                       pointer, compare-and-swap
```
"""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import FinalError

FOLDERS: Final = frozenset(
    {
        "approvals",
        "audits",
        "code",
        "gc",
        "groups",
        "held",
        "incidents",
        "index",
        "inventories",
        "lookup",
        "manifests",
        "monitor",
        "parts",
        "plans",
        "quarantine",
        "releases",
        "runs",
        "shards",
        "states",
        "verdicts",
        "verified",
    }
)
"""Names in a dataset's folder that a tag cannot have."""
PARTITION: Final = re.compile(r"all|\d{4}-\d{2}-\d{2}(\.[a-z]+\.\d{8}T\d{6}Z)?|\d{4}-\d{2}")
_RELEASE_DIGITS: Final = 8


class PartitionRefused(FinalError, ValueError):
    """A text that is not a partition key."""


def check_partition(partition: str) -> str:
    """The partition key itself, if it is one: `2013-01-05`, `2013-01` (a rollup), `all`, or a snapshot version."""
    if PARTITION.fullmatch(partition) is None:
        raise PartitionRefused(
            "partition key", found=repr(partition), expected="YYYY-MM-DD, YYYY-MM or all", remedy="Correct the key."
        )
    return partition


def shard(dataset: str, sha256: str) -> str:
    return f"{dataset}/shards/{sha256}.parquet"


def shards(dataset: str) -> str:
    return f"{dataset}/shards/"


def index(dataset: str, sha256: str) -> str:
    return f"{dataset}/index/{sha256}.parquet"


def lookup(dataset: str, digit: str) -> str:
    """The part of the index over all partitions that holds the sample IDs beginning with this hex digit."""
    return f"{lookups(dataset)}{digit}.parquet"


def lookups(dataset: str) -> str:
    return f"{dataset}/lookup/"


def manifest(dataset: str, partition: str, digest: str) -> str:
    return f"{manifests(dataset, partition)}{digest}.json"


def manifests(dataset: str, partition: str) -> str:
    return f"{dataset}/manifests/{check_partition(partition)}/"


def release(dataset: str, number: int) -> str:
    return f"{releases(dataset)}{number:0{_RELEASE_DIGITS}d}.json"


def releases(dataset: str) -> str:
    return f"{dataset}/releases/"


def pointer(dataset: str, tag: str = "LATEST") -> str:
    return f"{dataset}/{tag}"


def inventory(dataset: str, digest: str) -> str:
    return f"{dataset}/inventories/{digest}.parquet"


def group(dataset: str, digest: str) -> str:
    return f"{dataset}/groups/{digest}.json"


def part(dataset: str, sha256: str) -> str:
    return f"{dataset}/parts/{sha256}.parquet"


def code(dataset: str, fingerprint: str) -> str:
    return f"{dataset}/code/{fingerprint}.json"


def plans(dataset: str) -> str:
    return f"{dataset}/plans/"


def plan(dataset: str, partition: str, digest: str) -> str:
    return f"{plans(dataset)}{check_partition(partition)}/{digest}/plan.json"


def plan_group(dataset: str, partition: str, plan_digest: str, number: int) -> str:
    return f"{plans(dataset)}{check_partition(partition)}/{plan_digest}/group-{number:05d}.json"


def join_plan(dataset: str, partition: str, digest: str) -> str:
    return f"{plans(dataset)}{check_partition(partition)}/{digest}/join.json"


def join_bucket(dataset: str, partition: str, digest: str, bucket: int) -> str:
    return f"{plans(dataset)}{check_partition(partition)}/{digest}/bucket-{bucket:05d}.parquet"


def quarantine(dataset: str, partition: str) -> str:
    return f"{dataset}/quarantine/{check_partition(partition)}/"


def verdict(dataset: str, partition: str, manifest_digest: str) -> str:
    return f"{dataset}/verdicts/{check_partition(partition)}/{manifest_digest}.json"


def report(dataset: str, partition: str, manifest_digest: str) -> str:
    return f"{dataset}/verdicts/{check_partition(partition)}/{manifest_digest}.html"


def approval(dataset: str, partition: str, manifest_digest: str) -> str:
    return f"{dataset}/approvals/{check_partition(partition)}/{manifest_digest}.json"


def monitor_verdict(dataset: str, partition: str, profile_digest: str) -> str:
    return f"{dataset}/monitor/{check_partition(partition)}/{profile_digest}.json"


def monitor_report(dataset: str, partition: str, profile_digest: str) -> str:
    return f"{dataset}/monitor/{check_partition(partition)}/{profile_digest}.html"


def collection(dataset: str, name: str) -> str:
    return f"{collections(dataset)}{name}.json"


def collections(dataset: str) -> str:
    return f"{dataset}/gc/"


def monitor_verdicts(dataset: str) -> str:
    return f"{dataset}/monitor/"


def incidents(dataset: str, stream: str) -> str:
    return f"{dataset}/incidents/{stream}.json"


def verified(dataset: str) -> str:
    return f"{dataset}/verified/verified.json"


def held(dataset: str, partition: str, manifest_digest: str) -> str:
    return f"{held_room(dataset, partition)}{manifest_digest}.json"


def held_room(dataset: str, partition: str | None = None) -> str:
    return f"{dataset}/held/" if partition is None else f"{dataset}/held/{check_partition(partition)}/"


def checkpoint_part(run: str, sha256: str) -> str:
    return f"{checkpoint_parts(run)}{sha256}"


def checkpoint_parts(run: str) -> str:
    return f"_checkpoints/{run}/parts/"


def checkpoint(run: str, number: int) -> str:
    return f"{checkpoints(run)}{number:0{_RELEASE_DIGITS}d}.json"


def checkpoints(run: str) -> str:
    return f"_checkpoints/{run}/saved/"


def checkpoint_pointer(run: str) -> str:
    return f"_checkpoints/{run}/LATEST"


def states(dataset: str) -> str:
    return f"{dataset}/states/"


def state(dataset: str, partition: str) -> str:
    return f"{states(dataset)}{check_partition(partition)}.json"


def state_rows(dataset: str, sha256: str) -> str:
    return f"{states(dataset)}{sha256}.parquet"


def run_reports(dataset: str, partition: str | None = None) -> str:
    return f"{dataset}/runs/" if partition is None else f"{dataset}/runs/{check_partition(partition)}/"


def run_report(dataset: str, partition: str, run: str) -> str:
    return f"{run_reports(dataset, partition)}{run}.json"


def run_records(dataset: str, partition: str, run: str) -> str:
    return f"{run_reports(dataset, partition)}{run}/"


def leakage(dataset: str, partition: str, manifest_digest: str) -> str:
    return f"{dataset}/audits/{check_partition(partition)}/{manifest_digest}.json"


def verdicts(dataset: str, partition: str | None = None) -> str:
    return f"{dataset}/verdicts/" if partition is None else f"{dataset}/verdicts/{check_partition(partition)}/"


def quarantines(dataset: str) -> str:
    return f"{dataset}/quarantine/"


def all_manifests(dataset: str) -> str:
    return f"{dataset}/manifests/"
