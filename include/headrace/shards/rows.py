"""From decoded objects to the rows a shard holds."""

from __future__ import annotations

import pyarrow as pa

from headrace.shards.parquet import ParquetStyle
from headrace.shards.samples import Payload, payload_rows, shard_schema, with_identity
from headrace.sources.decode import Decoded
from headrace.sources.inventory import SourceObject
from headrace.spec.dataset import Dataset
from headrace.spec.formats import RawBytes


def rows_schema(dataset: Dataset, samples: pa.Schema) -> pa.Schema:
    """The shards' columns: identity, for archives the member, the samples' own."""
    return shard_schema(samples, archive=dataset.source.is_archive)


def style_of(dataset: Dataset) -> ParquetStyle:
    """Tables and text are compressed; raw bytes only when declared."""
    form = dataset.source.format
    return ParquetStyle(compress=form.compress if isinstance(form, RawBytes) else True)


class SampleRows:
    """Puts identity before samples. Raw samples gather until they fill a row group, so that many small ones cost little each.

    Call `add` for each object in order, then `finish`; collect the tables from both.
    """

    def __init__(self, dataset: Dataset, samples: pa.Schema) -> None:
        self._dataset = dataset
        self._schema = rows_schema(dataset, samples)
        self._gathered: list[Payload] = []
        self._gathered_bytes = 0

    def add(self, source: SourceObject, decoded: Decoded) -> list[pa.Table]:
        """The rows that became whole with this object."""
        ready: list[pa.Table] = []
        for member in decoded.payloads:
            if len(member.data) >= self._dataset.row_group_bytes:
                ready += self.finish()
            self._gathered.append(Payload(source=source, member=member.name, data=member.data))
            self._gathered_bytes += len(member.data)
            if self._gathered_bytes >= self._dataset.row_group_bytes:
                ready += self.finish()
        for name, table in decoded.tables:
            ready.append(with_identity(source, table, self._dataset.key, member=name))
        return ready

    def finish(self) -> list[pa.Table]:
        """What is gathered."""
        if not self._gathered:
            return []
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        return [payload_rows(gathered, self._schema)]
