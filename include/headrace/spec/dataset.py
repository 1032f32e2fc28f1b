"""A dataset: which source objects, what is in them, how they become shards."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

from headrace.spec.canonical import not_content
from headrace.spec.errors import check
from headrace.spec.formats import ARCHIVES, UNPACK, Csv, Format, JsonLines, Parquet, RawBytes, declared_columns
from headrace.spec.names import check_name

MB: Final = 1_000_000
HARD_CAP_BYTES: Final = 4 * 1024**3


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a partition's objects lie.

    Attributes:
        prefix: key prefix below the source URI, a `strftime` pattern of the partition's date: `flights/%Y/%m/%d/`.
            Listing one partition therefore costs that partition. Without a pattern the partition is `all`.
        format: what the objects look like inside.
        suffix: only keys that end so hold samples; the others are skipped and counted.
        unpack: layers to take off, outermost first: `("gz",)`, `("zst",)`, `("tar",)`, `("zip",)`, `("gz", "tar")`. Each member
            of an archive is decoded by itself. Nothing is unpacked that is not declared, whatever a key ends in.
        partition_by: `key`: the prefix tells the day. `modified`: the store's LastModified does, as a local date in the
            dataset's zone; the whole prefix is listed for each day.
        max_unpacked_bytes: an object that is larger, or unpacks to more, is refused: memory is bounded by this, not by the data.
    """

    prefix: str
    format: Format
    suffix: str = ""
    unpack: tuple[str, ...] = ()
    partition_by: Literal["key", "modified"] = "key"
    max_unpacked_bytes: int = 256 * MB

    def __post_init__(self) -> None:
        check(isinstance(self.prefix, str) and self.prefix != "", "Source", "prefix", self.prefix, "a key prefix")
        check(not self.prefix.startswith("/"), "Source", "prefix", self.prefix, "a prefix without a leading /")
        known = isinstance(self.format, (Csv, JsonLines, Parquet, RawBytes))
        check(known, "Source", "format", self.format, "Csv(...), JsonLines(...), Parquet(...) or RawBytes(...)")
        check(isinstance(self.suffix, str), "Source", "suffix", self.suffix, "a text, such as .csv")
        self._check_unpack()
        check(self.partition_by in {"key", "modified"}, "Source", "partition_by", self.partition_by, "key or modified")
        limit = self.max_unpacked_bytes
        check(isinstance(limit, int) and MB <= limit <= HARD_CAP_BYTES, "Source", "max_unpacked_bytes", limit, "1 MB to 4 GiB")
        if "%" in self.prefix:
            check(self.partition_by == "key", "Source", "prefix", self.prefix, "no pattern when partition_by is modified")
            parts = [part in self.prefix for part in ("%Y", "%m", "%d")]
            check(all(parts), "Source", "prefix", self.prefix, "%Y, %m and %d, so that each day has its own prefix")

    @property
    def is_archive(self) -> bool:
        """Whether an object holds members."""
        return any(layer in ARCHIVES for layer in self.unpack)

    def _check_unpack(self) -> None:
        layers = self.unpack
        check(
            isinstance(layers, tuple) and set(layers) <= set(UNPACK), "Source", "unpack", layers, f"layers of {', '.join(UNPACK)}"
        )
        archives = [layer for layer in layers if layer in ARCHIVES]
        check(len(archives) <= 1, "Source", "unpack", layers, "at most one archive: archives within archives are not opened")
        unified = isinstance(self.format, Parquet) and self.format.columns is None
        check(
            not (unified and layers), "Source", "unpack", layers, "none for Parquet without columns: their footers are read first"
        )


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset of shards.

    Attributes:
        name: becomes the folder in the lake, the DAG `<name>.compact` and the asset.
        source: the objects.
        key: columns that name a sample for ever; empty: source key and row number do.
        timezone: whose calendar days the partitions are.
        shard_bytes: target size of a written shard, 1 MB to 1 GB.
        row_group_bytes: target size of a row group; one random sample costs reading one row group.
        may_be_empty: whether a day without any object is a fact to publish; otherwise its run waits, tries again, and fails.
        max_quarantine_share: the run fails when more of the listed objects than this are refused, 0 to 1.
        start, end: first and last partition that exists (both inclusive); no end: it goes on.
        catchup: whether the schedule also runs the days between `start` and now that have no run.
        owner: who is asked when it breaks.
        rollup: `month`: when all days of a month are there they are also written as one partition of `<name>_monthly`, for days too
            small to fill a shard. None: they are not.
        freshness: how long after the day's end its data should be there.
    """

    name: str
    source: Source
    timezone: str
    start: date = not_content()
    key: tuple[str, ...] = ()
    shard_bytes: int = 100 * MB
    row_group_bytes: int = 4 * MB
    max_quarantine_share: float = 0.0
    may_be_empty: bool = not_content(default=False)
    end: date | None = not_content(default=None)
    catchup: bool = not_content(default=False)
    owner: str = not_content(default="data-platform")
    rollup: Literal["month"] | None = not_content(default=None)
    freshness: timedelta = not_content(default=timedelta(hours=6))

    def __post_init__(self) -> None:
        who = f"Dataset {self.name}"
        check_name(who, "name", self.name)
        check(isinstance(self.source, Source), who, "source", self.source, "a Source(...)")
        check_timezone(who, self.timezone)
        check(MB <= self.shard_bytes <= 1000 * MB, who, "shard_bytes", self.shard_bytes, "1 MB to 1 GB")
        check(
            MB // 10 <= self.row_group_bytes <= self.shard_bytes,
            who,
            "row_group_bytes",
            self.row_group_bytes,
            "100 kB up to shard_bytes",
        )
        check(0 <= self.max_quarantine_share <= 1, who, "max_quarantine_share", self.max_quarantine_share, "0 to 1")
        check(isinstance(self.start, date), who, "start", self.start, "a date")
        check(self.end is None or self.end >= self.start, who, "end", self.end, f"None or {self.start} or later")
        check(self.rollup in {None, "month"}, who, "rollup", self.rollup, "month or None")
        check(self.owner != "", who, "owner", self.owner, "a non-empty text")
        self._check_key(who)

    def _check_key(self, who: str) -> None:
        check(isinstance(self.key, tuple), who, "key", self.key, "a tuple of column names")
        if self.key != ():
            known = [column.name for column in declared_columns(self.source.format)]
            check(set(self.key) <= set(known), who, "key", self.key, f"declared columns: {', '.join(known) or 'none'}")


def check_timezone(who: str, timezone: str) -> None:
    """An IANA zone that this machine's zone data knows."""
    known = isinstance(timezone, str) and timezone in zoneinfo.available_timezones()
    check(known, who, "timezone", timezone, "an IANA zone, such as America/New_York or UTC")
